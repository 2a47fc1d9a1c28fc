"""Sum of the values."""

from streaming.aggregates.base import Aggregate, where_any

total = Aggregate("sum", "additive", lambda events, values, x: where_any(values, x))
