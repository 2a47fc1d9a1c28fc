"""Tables about aggregates: what each is like and which kernels it may run on; which are approximate."""

from collections.abc import Sequence

from kernel_drawings.markdown import link_to, markdown_table
from streaming.aggregates import AGGREGATES
from streaming.aggregates.algebra import Algebra, lacks
from streaming.kernels import KERNELS, traits_of

INVERSES = ("none", "rounded", "exact")  # the weakest first
HEADS = ("aggregate", "of", "states", "commutative", "inverse", "selective", "idempotent", "kernels besides")


def aggregates_table() -> str:
    rows = []
    for name, aggregate in AGGREGATES.items():
        parts = aggregate.parts or AGGREGATES["any"].parts  # events are counted beside every state
        states = ", ".join(f"`{part.name}`" for part in parts)
        kernels = ", ".join(link_to(kernel) for kernel in _kernels_besides(parts)) or "–"
        rows.append([f"`{name}`", aggregate.takes, states, *_properties(parts), kernels])
    return markdown_table(HEADS, rows)


def _properties(parts: Sequence[Algebra]) -> list[str]:
    """What holds for all states."""
    inverse = min((part.inverse for part in parts), key=INVERSES.index)
    return [
        _yes(all(part.commutative for part in parts)),
        "–" if inverse == "none" else inverse,
        _yes(all(part.selective for part in parts)),
        _yes(all(part.idempotent for part in parts)),
    ]


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "–"


def _kernels_besides(parts: Sequence[Algebra]) -> list[str]:
    """Those that may run it but not every aggregate."""
    needs = {name: traits_of(name).needs for name in KERNELS}
    return [name for name, need in needs.items() if need and not any(lacks(part, need) for part in parts)]


def approximate_table() -> str:
    errors: dict[str, list[str]] = {}
    for name, aggregate in AGGREGATES.items():
        if not aggregate.exact:
            errors.setdefault(aggregate.error, []).append(f"`{name}`")
    return markdown_table(
        ["approximate", "how far off"], [[", ".join(names), error] for error, names in errors.items()]
    )
