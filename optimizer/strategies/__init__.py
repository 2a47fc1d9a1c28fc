"""Strategies: ways to gather queries into trees. All answer the same queries; they differ in cost."""

from collections.abc import Callable, Sequence

from optimizer.cost import Statistics
from optimizer.queries import Query
from optimizer.strategies.no_share import no_share
from optimizer.strategies.weave_share import weave_share

Strategy = Callable[[Sequence[Query], Statistics], list[list[Query]]]

STRATEGIES: dict[str, Strategy] = {
    "no_share": no_share,
    "weave_share": weave_share,
}


def strategy_named(name: str) -> Strategy:
    if name not in STRATEGIES:
        raise ValueError(f"No strategy “{name}”: use one of {', '.join(STRATEGIES)}.")
    return STRATEGIES[name]
