"""Least value."""

from streaming.aggregates.base import Aggregate, where_any

minimum = Aggregate("min", "min", lambda events, values, x: where_any(values, x))
