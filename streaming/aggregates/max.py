"""Greatest value."""

from streaming.aggregates.base import Aggregate, where_any

maximum = Aggregate("max", "max", lambda events, values, x: where_any(values, x))
