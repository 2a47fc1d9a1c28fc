"""How far the greatest value is from the least: shares both with max and min."""

from streaming.aggregates.base import Aggregate, where_any
from streaming.aggregates.max import Max, maximum
from streaming.aggregates.min import Min, minimum


def _distance(values, greatest, least):
    return where_any(values, greatest[0] - least[0])


def _both(values, times):
    return (*maximum.lift_column(values, times), *minimum.lift_column(values, times))


spread = Aggregate(
    "range",
    (Max(), Min()),
    lambda value: (*maximum.lift(value), *minimum.lift(value)),
    _distance,
    lift_column=_both,
)
