"""Values that differ, by their first appearance: the oldest up to a limit."""

from typing import Any, NamedTuple

from streaming.aggregates.base import Aggregate
from streaming.aggregates.bounded import NOTHING, Bounded
from streaming.aggregates.gathering import DistinctItems
from streaming.aggregates.one_nan import comparable, plain


class CollectDistinct(NamedTuple):
    """Values, by their first appearance."""

    name = "collect_distinct"
    dtype = object
    identity = NOTHING
    commutative = False
    inverse = "none"
    selective = False
    idempotent = True
    running_identity = ()

    limit: int = 1000

    def combine(self, older, newer):
        apart = tuple(dict.fromkeys(older.items + newer.items))
        return Bounded.of(apart, self.limit, older.cut or newer.cut)


def collect_distinct(limit: int = 1000) -> Aggregate:
    if limit < 1:
        raise ValueError("collect_distinct keeps at least one value.")

    def item(value: Any) -> Bounded:
        return Bounded((comparable(value),), False)

    return Aggregate(
        "collect_distinct",
        (CollectDistinct(limit),),
        lambda value: (item(value),),
        lambda values, bounded: Bounded(tuple(map(plain, bounded.items)), bounded.cut) if values else None,
        takes="anything",
        gatherings=(DistinctItems(CollectDistinct(limit), item, limit + 1),),
    )
