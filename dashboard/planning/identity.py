"""Which trees and plans are the same, whatever their numbers."""

import hashlib
import json
from typing import Any

from optimizer.group_trees import GroupTree
from optimizer.plan import Plan, Tree


def tree_identity(tree: Tree | GroupTree) -> str:
    """The same in every plan where it answers the same queries with the same kernel from the same.

    Its number, its node and the names of its queries may change; any other change makes it another tree.
    """
    told = tree.to_json()
    queries = [{**query, "name": None} for query in told["queries"]]
    return _digest(
        {
            "queries": sorted(queries, key=lambda query: str(query["id"])),
            "kernel": told.get("kernel"),
            "is_fed": told.get("fed_by") is not None,
            **{name: told.get(name) for name in ("through", "added_windows", "family")},
        }
    )


def plan_identity(plan: Plan) -> str:
    """The same where the same trees run together on nodes."""
    nodes: list[list[str]] = [[] for _ in plan.nodes]
    for tree in plan.all_trees:
        nodes[tree.node].append(tree_identity(tree))
    return _digest(sorted(sorted(trees) for trees in nodes))


def _digest(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=8).hexdigest()
