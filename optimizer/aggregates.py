"""Aggregates as the optimizer sees them: which partials they are read off, and what their algebra allows.

Two queries can share partials where one carrier holds what both need: a mean is read off a count and a sum,
a standard deviation off count, mean and M2 (which give the sum as well), a range off both extremes.
"""

from dataclasses import dataclass

INVERTIBLE = "invertible"  # an old value can be taken off again
SELECTIVE = "selective"  # the answer is one of its operands


@dataclass(frozen=True)
class Aggregate:
    """`carrier` names the partials it is read off; `needs_value` says whether it reads a field."""

    name: str
    carrier: str
    algebra: str
    idempotent: bool = False  # combining a value with itself changes nothing, so windows may overlap
    needs_value: bool = True


AGGREGATES = {
    aggregate.name: aggregate
    for aggregate in (
        Aggregate("count", "additive", INVERTIBLE, needs_value=False),
        Aggregate("sum", "additive", INVERTIBLE),
        Aggregate("mean", "additive", INVERTIBLE),
        Aggregate("variance", "moments", INVERTIBLE),
        Aggregate("stddev", "moments", INVERTIBLE),
        Aggregate("min", "min", SELECTIVE, idempotent=True),
        Aggregate("max", "max", SELECTIVE, idempotent=True),
        Aggregate("range", "extremes", SELECTIVE, idempotent=True),
    )
}

# What a richer carrier holds besides its own.
HOLDS = {"moments": {"additive"}, "extremes": {"min", "max"}}
# Partials that are kept side by side and each take the kernel's operations.
WIDTH = {"extremes": 2}


def joint_carrier(carriers: set[str]) -> str | None:
    """The one among these that holds all of them; None where none does.

    >>> joint_carrier({"additive", "moments"}), joint_carrier({"min", "max"}), joint_carrier({"max"})
    ('moments', None, 'max')
    """
    return next((one for one in sorted(carriers) if carriers - {one} <= HOLDS.get(one, set())), None)


def least_carrier(carriers: set[str]) -> str | None:
    """The least carrier there is that holds all of these, though none of them may; None where none does.

    >>> least_carrier({"additive"}), least_carrier({"min", "max"}), least_carrier({"additive", "max"})
    ('additive', 'extremes', None)
    """
    holders = (rich for rich, held in HOLDS.items() if carriers <= held | {rich})
    return joint_carrier(carriers) or next(holders, None)
