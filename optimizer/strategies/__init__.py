"""Strategies: ways to gather queries into trees. All answer the same queries; they differ in cost."""

from collections.abc import Callable
from dataclasses import dataclass

from optimizer.strategies.no_share import no_share
from optimizer.strategies.weave_share import weave_share
from optimizer.workload import Group, Workload


@dataclass(frozen=True)
class Strategy:
    """A way to place queries, with the words that tables and pages use for it."""

    name: str
    label: str
    kind: str  # "one node", "many nodes", "exact", "factor windows", "group-bys", "ours"
    place: Callable[[Workload], list[Group]]


STRATEGIES = {
    strategy.name: strategy
    for strategy in (
        Strategy("no_share", "No share", "one node", no_share),
        Strategy("weave_share", "WeaveShare", "one node", weave_share),
    )
}


def strategy_named(name: str) -> Strategy:
    if name not in STRATEGIES:
        raise ValueError(f"No strategy “{name}”: use one of {', '.join(STRATEGIES)}.")
    return STRATEGIES[name]
