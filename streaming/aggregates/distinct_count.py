"""How many different values, exactly. It keeps all of them: approx_distinct_count does with two kilobytes."""

from typing import Any, NamedTuple

from streaming.aggregates.base import Aggregate
from streaming.aggregates.gathering import Bulk
from streaming.aggregates.one_nan import comparable

NOTHING: frozenset[Any] = frozenset()


class DistinctValues(NamedTuple):
    """The set of values."""

    name = "distinct_values"
    dtype = object
    identity = NOTHING
    commutative = True
    inverse = "none"
    selective = False
    idempotent = True
    running_identity = ()

    def combine(self, older, newer):
        return older | newer


distinct_count = Aggregate(
    "distinct_count",
    (DistinctValues(),),
    lambda value: (frozenset((comparable(value),)),),
    lambda values, distinct: len(distinct),  # of no values as well: a count is 0 then, as in SQL
    takes="anything",
    gatherings=(Bulk(DistinctValues(), lambda values: frozenset(map(comparable, values))),),
)
