"""Texts in their order, joined to one: its beginning up to a limit."""

from typing import NamedTuple

from streaming.aggregates.base import Aggregate
from streaming.aggregates.bounded import Bounded
from streaming.aggregates.gathering import Items


class Concat(NamedTuple):
    """The joined text, or None: an empty text is a value too, and has its separator."""

    name = "concat"
    dtype = object
    identity = None
    commutative = False
    inverse = "none"
    selective = False
    idempotent = False
    running_identity = ()

    separator: str = ","
    limit: int = 10_000  # characters

    def combine(self, older, newer):
        if older is None or newer is None:
            return newer if older is None else older
        return Bounded.of(older.items + self.separator + newer.items, self.limit, older.cut or newer.cut)


def concat(separator: str = ",", limit: int = 10_000) -> Aggregate:
    if limit < 1:
        raise ValueError("concat keeps at least one character.")

    def lift(value: str) -> Bounded:
        return Bounded.of(value, limit, False)

    return Aggregate(
        "concat",
        (Concat(separator, limit),),
        lambda value: (lift(value),),
        lambda values, bounded: bounded if values else None,
        takes="texts",
        # A text takes one character at least, its separator, or else nothing can be cut.
        gatherings=(Items(Concat(separator, limit), lift, limit + 2),),
    )
