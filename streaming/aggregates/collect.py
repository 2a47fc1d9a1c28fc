"""All values in their order: the oldest up to a limit."""

from typing import NamedTuple

from streaming.aggregates.base import Aggregate
from streaming.aggregates.bounded import NOTHING, Bounded
from streaming.aggregates.gathering import Items


class Collect(NamedTuple):
    """Values, the oldest first."""

    name = "collect"
    dtype = object
    identity = NOTHING
    commutative = False
    inverse = "none"
    selective = False
    idempotent = False
    running_identity = ()

    limit: int = 1000

    def combine(self, older, newer):
        return Bounded.of(older.items + newer.items, self.limit, older.cut or newer.cut)


def collect(limit: int = 1000) -> Aggregate:
    if limit < 1:
        raise ValueError("collect keeps at least one value.")
    return Aggregate(
        "collect",
        (Collect(limit),),
        lambda value: (Bounded((value,), False),),
        lambda values, bounded: bounded if values else None,
        takes="anything",
        # One more than the limit says that there were more.
        gatherings=(Items(Collect(limit), lambda value: Bounded((value,), False), limit + 1),),
    )
