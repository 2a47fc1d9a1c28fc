"""Aggregates. One file each; the table below is all there are."""

from streaming.aggregates.base import IDENTITY, Aggregate, Family
from streaming.aggregates.count import count, count_values
from streaming.aggregates.max import maximum
from streaming.aggregates.mean import mean
from streaming.aggregates.min import minimum
from streaming.aggregates.sum import total

AGGREGATES: dict[str, Aggregate] = {
    "count": count,
    "sum": total,
    "mean": mean,
    "min": minimum,
    "max": maximum,
}


def aggregate_of(name: str, field: str | None) -> Aggregate:
    """`count` of a field counts its values; `count` of nothing counts events."""
    return count_values if name == "count" and field else AGGREGATES[name]


__all__ = ["AGGREGATES", "IDENTITY", "Aggregate", "Family", "aggregate_of"]
