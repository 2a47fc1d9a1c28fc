"""Aggregates as the optimizer sees them: which partials they are read off, and what their partials allow.

Two queries can share partials where one carrier holds what both need: a mean is read off a count and a sum,
a standard deviation off count, mean and M2 (which give the sum as well), a range off both extremes.
"""

from collections.abc import Collection
from dataclasses import dataclass

EXACT, ROUNDED, NONE = "exact", "rounded", "none"  # how well an old partial can be taken off again
INVERSES = (EXACT, ROUNDED, NONE)


@dataclass(frozen=True)
class Aggregate:
    """`carrier` names the partials it is read off; `needs_value` says whether it reads a field.

    One that is made of parts, such as a range of max and min, has the properties that all its parts have.
    """

    name: str
    carrier: str
    invertible: str = NONE
    selective: bool = False  # what two partials make is one of them
    idempotent: bool = False  # combining a partial with itself changes nothing, so windows may overlap
    commutative: bool = True
    needs_value: bool = True


def _extreme(name: str, carrier: str, *, commutative: bool = True) -> Aggregate:
    return Aggregate(name, carrier, selective=True, idempotent=True, commutative=commutative)


def _of_its_own(name: str, *, idempotent: bool = False, commutative: bool = True) -> Aggregate:
    return Aggregate(name, name, idempotent=idempotent, commutative=commutative)


class _Table(dict[str, Aggregate]):
    """By name. What an aggregate is given, as in percentile(0.99), changes nothing for the optimizer."""

    def __missing__(self, name: str) -> Aggregate:
        if plain(name) == name:
            raise KeyError(name)
        return self[plain(name)]


def plain(name: str) -> str:
    """The aggregate without what it is given.

    >>> plain("percentile(0.99)"), plain("max")
    ('percentile', 'max')
    """
    return name.partition("(")[0]


def given(name: str) -> str:
    """What the aggregate is given; empty where that is nothing.

    >>> given("percentile(0.99)"), given("max")
    ('0.99', '')
    """
    return name.partition("(")[2].removesuffix(")")


def with_parameter(name: str, parameter: float | None) -> str:
    """The aggregate with what it is given: how queries of a plan name it.

    >>> with_parameter("percentile", 0.99), with_parameter("max", None)
    ('percentile(0.99)', 'max')
    """
    return name if parameter is None else f"{name}({parameter!r})"


@dataclass(frozen=True)
class Parameter:
    """What an aggregate may be given beside its field."""

    key: str  # as JSON calls it
    kind: type[int] | type[float]
    least: float
    most: float
    default: float
    words: str

    def fits(self, value: float) -> bool:
        is_number = isinstance(value, (int, self.kind)) and not isinstance(value, bool)
        return is_number and self.least <= value <= self.most


PARAMETERS = {
    "percentile": Parameter("fraction", float, 0, 1, 0.95, "a number from 0 to 1, such as 0.99"),
    "top_k": Parameter("k", int, 1, 1000, 10, "a whole number from 1 to 1,000, such as 5"),
}

AGGREGATES = _Table(
    (aggregate.name, aggregate)
    for aggregate in (
        Aggregate("count", "additive", EXACT, needs_value=False),
        Aggregate("sum", "additive", ROUNDED),
        Aggregate("mean", "additive", ROUNDED),
        Aggregate("exact_sum", "exact_sum", EXACT),
        Aggregate("product", "product", ROUNDED),
        Aggregate("geometric_mean", "geometric_mean", ROUNDED),
        Aggregate("sum_of_squares", "sum_of_squares", ROUNDED),
        # Not invertible: an outlier that is taken off leaves its rounding in M2 for good.
        Aggregate("variance", "moments"),
        Aggregate("variance_population", "moments"),
        Aggregate("stddev", "moments"),
        Aggregate("stddev_population", "moments"),
        Aggregate("any", "any", EXACT),  # trues are counted
        Aggregate("all", "all", EXACT),
        _extreme("min", "min"),
        _extreme("max", "max"),
        _extreme("range", "extremes"),
        _extreme("text_min", "text_min"),
        _extreme("text_max", "text_max"),
        _extreme("first", "first", commutative=False),
        _extreme("last", "last", commutative=False),
        _extreme("argmin", "argmin", commutative=False),
        _extreme("argmax", "argmax", commutative=False),
        _of_its_own("min_count"),
        _of_its_own("max_count"),
        _of_its_own("top_k"),
        _of_its_own("first_n", commutative=False),
        _of_its_own("last_n", commutative=False),
        _of_its_own("concat", commutative=False),
        _of_its_own("collect", commutative=False),
        _of_its_own("collect_distinct", idempotent=True, commutative=False),
        _of_its_own("distinct_count", idempotent=True),
        _of_its_own("approx_distinct_count", idempotent=True),
        Aggregate("percentile", "percentile"),
        Aggregate("p50", "percentile"),
        Aggregate("p95", "percentile"),
        Aggregate("p99", "percentile"),
    )
)

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


def least_invertible(names: Collection[str]) -> str:
    """Of several aggregates of one tree, the one that is hardest to take off again.

    >>> least_invertible({"count", "mean"}), least_invertible({"sum", "stddev"})
    ('mean', 'stddev')
    """
    return max(sorted(names), key=lambda name: INVERSES.index(AGGREGATES[name].invertible))
