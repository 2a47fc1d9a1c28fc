"""Strategies: ways to gather queries into trees. All answer the same queries; they differ in cost."""

from collections.abc import Callable
from dataclasses import dataclass

from optimizer.strategies.all_shared import all_shared
from optimizer.strategies.best import best
from optimizer.strategies.best_balanced import best_balanced
from optimizer.strategies.best_woven import best_woven
from optimizer.strategies.contiguous import contiguous
from optimizer.strategies.exhaustive import exhaustive
from optimizer.strategies.factor_covered import factor_covered
from optimizer.strategies.factor_partitioned import factor_partitioned
from optimizer.strategies.insert_then_weave import insert_then_weave
from optimizer.strategies.local_search import local_search
from optimizer.strategies.many_nodes.inserted import w_inserted, wg_inserted
from optimizer.strategies.many_nodes.random_node import g_random, w_random, wg_random
from optimizer.strategies.many_nodes.round_robin import g_round_robin, w_round_robin, wg_round_robin
from optimizer.strategies.many_nodes.to_lowest import g_to_lowest, w_to_lowest, wg_to_lowest
from optimizer.strategies.many_nodes.to_nodes import w_to_nodes, wg_to_nodes
from optimizer.strategies.no_share import no_share
from optimizer.strategies.pairing import pairing
from optimizer.strategies.phantoms import phantoms
from optimizer.strategies.random_share import random_share
from optimizer.strategies.triweave import triweave
from optimizer.strategies.weave_share import weave_share
from optimizer.strategies.window_coverage import window_coverage
from optimizer.workload import Group, Workload


@dataclass(frozen=True)
class Strategy:
    """A way to place queries, with the words that tables and pages use for it."""

    name: str
    label: str
    kind: str
    place: Callable[[Workload], list[Group]]


STRATEGIES = {
    strategy.name: strategy
    for strategy in (
        Strategy("no_share", "No share", "one node", no_share),
        Strategy("all_shared", "All shared", "one node", all_shared),
        Strategy("random_share", "Random", "one node", random_share),
        Strategy("local_search", "Local search", "one node", local_search),
        Strategy("insert_then_weave", "Insert-then-weave", "one node", insert_then_weave),
        Strategy("weave_share", "WeaveShare", "one node", weave_share),
        Strategy("triweave", "TriWeave", "one node", triweave),
        Strategy("g_random", "G_RAND", "many nodes", g_random),
        Strategy("g_round_robin", "G_RR", "many nodes", g_round_robin),
        Strategy("g_to_lowest", "G_TL", "many nodes", g_to_lowest),
        Strategy("w_random", "W_RAND", "many nodes", w_random),
        Strategy("w_round_robin", "W_RR", "many nodes", w_round_robin),
        Strategy("w_to_lowest", "W_TL", "many nodes", w_to_lowest),
        Strategy("w_to_nodes", "W_TN", "many nodes", w_to_nodes),
        Strategy("w_inserted", "W_I", "many nodes", w_inserted),
        Strategy("wg_random", "WG_RAND", "many nodes", wg_random),
        Strategy("wg_round_robin", "WG_RR", "many nodes", wg_round_robin),
        Strategy("wg_to_lowest", "WG_TL", "many nodes", wg_to_lowest),
        Strategy("wg_to_nodes", "WG_TN", "many nodes", wg_to_nodes),
        Strategy("wg_inserted", "WG_I", "many nodes", wg_inserted),
        Strategy("exhaustive", "Exhaustive", "exact", exhaustive),
        Strategy("pairing", "Optimal pairs", "exact", pairing),
        Strategy("contiguous", "Optimal contiguous", "exact", contiguous),
        Strategy("window_coverage", "Window coverage", "factor windows", window_coverage),
        Strategy("factor_covered", "Factor windows, covered", "factor windows", factor_covered),
        Strategy("factor_partitioned", "Factor windows, partitioned", "factor windows", factor_partitioned),
        Strategy("phantoms", "Phantoms (GCSL)", "group-bys", phantoms),
        Strategy("best_woven", "Best woven", "ours", best_woven),
        Strategy("best_balanced", "Best balanced", "ours", best_balanced),
        Strategy("best", "Best", "ours", best),
    )
}

# What plans where nobody has chosen: its trees all read the events, so an edit leaves the others as they are.
DEFAULT_STRATEGY = "best_woven"


def strategy_named(name: str) -> Strategy:
    if name not in STRATEGIES:
        raise ValueError(f"No strategy “{name}”: use one of {', '.join(STRATEGIES)}.")
    return STRATEGIES[name]
