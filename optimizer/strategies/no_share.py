"""No share: every query has a tree of its own; the baseline that sharing is measured against."""

from collections.abc import Sequence

from optimizer.cost import Statistics
from optimizer.queries import Query


def no_share(queries: Sequence[Query], statistics: Statistics) -> list[list[Query]]:
    """One group for each query, whatever it costs."""
    return [[query] for query in queries]
