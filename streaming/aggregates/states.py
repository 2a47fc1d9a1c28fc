"""The states that lanes keep: every part of every aggregate, by name."""

from collections.abc import Iterable

from streaming.aggregates import AGGREGATES
from streaming.aggregates.base import Part


class _Parts(dict[str, Part]):
    """By name; states of an aggregate that is given something, as top_k(5) is, have its name."""

    def __missing__(self, name: str) -> Part:
        return AGGREGATES[name].states[0]


PARTS = _Parts((part.name, part) for aggregate in AGGREGATES.values() for part in aggregate.states)


def parts_of(aggregates: Iterable[str]) -> tuple[str, ...]:
    """The names of the parts that these aggregates are read off together."""
    return tuple(sorted({part.name for name in aggregates for part in AGGREGATES[name].states}))
