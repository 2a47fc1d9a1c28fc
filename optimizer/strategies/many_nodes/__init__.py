"""Many nodes: strategies that gather queries into trees and trees onto nodes (SHEIN ch. 6, Table 7).

Group only (g) keeps every query a tree of its own, weave only (w) has one tree of a family on each node, and
weave and group (wg) is free to do either. Nodes are compared by what their trees cost and what they can do.
"""

from optimizer.strategies.many_nodes.inserted import w_inserted, wg_inserted
from optimizer.strategies.many_nodes.random_node import g_random, w_random, wg_random
from optimizer.strategies.many_nodes.round_robin import g_round_robin, w_round_robin, wg_round_robin
from optimizer.strategies.many_nodes.to_lowest import g_to_lowest, w_to_lowest, wg_to_lowest
from optimizer.strategies.many_nodes.to_nodes import w_to_nodes, wg_to_nodes

__all__ = [
    "g_random",
    "g_round_robin",
    "g_to_lowest",
    "w_inserted",
    "w_random",
    "w_round_robin",
    "w_to_lowest",
    "w_to_nodes",
    "wg_inserted",
    "wg_random",
    "wg_round_robin",
    "wg_to_lowest",
    "wg_to_nodes",
]
