"""Count: how many events, or how many values of a field that are not null."""

from streaming.aggregates.base import Aggregate

count = Aggregate("count", "additive", lambda events, values, x: events)
count_values = Aggregate("count", "additive", lambda events, values, x: values)
