"""The k greatest values, as often as they come."""

from collections.abc import Sequence
from typing import NamedTuple

from optimizer.aggregates import with_parameter
from streaming.aggregates.base import Aggregate
from streaming.aggregates.gathering import Bulk


class TopK(NamedTuple):
    """Values, the greatest first."""

    name = "top_k"
    dtype = object
    identity = ()
    commutative = True
    inverse = "none"
    selective = False
    idempotent = False
    running_identity = ()

    k: int = 10

    def combine(self, older, newer):
        return tuple(sorted(older + newer, reverse=True)[: self.k])  # two sorted runs: sorting is one merge


def _greatest(values: Sequence[float], k: int) -> tuple[float, ...]:
    return tuple(sorted((value for value in values if value == value), reverse=True)[:k])


def top_k(k: int = 10) -> Aggregate:
    if k < 1:
        raise ValueError("top_k keeps at least one value.")
    return Aggregate(
        "top_k",
        (TopK(k),),
        lambda value: ((value,) if value == value else (),),
        lambda values, items: items or None,
        state_names=() if k == TopK().k else (with_parameter("top_k", k),),
        gatherings=(Bulk(TopK(k), lambda values: _greatest(values, k)),),
    )
