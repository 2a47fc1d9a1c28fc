"""Which shards answer a tree: those of the node that the plan places it on.

A source has as many shards as the job has cores, whatever plans say; its plan's nodes share them in the
proportion of what each can do. Where a plan has one node, every tree is spread over all shards.
"""

from optimizer.plan import Plan

Share = tuple[float, float]
WHOLE: Share = (0.0, 1.0)


def share_of(plan: Plan, node: int) -> Share:
    """The part of the shards that belongs to a node.

    >>> share_of(Plan("s", 1, "", (), nodes=(1.0, 3.0)), 1)
    (0.25, 1.0)
    """
    before, total = sum(plan.nodes[:node]), sum(plan.nodes)
    return before / total, (before + plan.nodes[node]) / total


def shards_in(share: Share, shards: int) -> range:
    """Which shards these are, at least one.

    >>> shards_in((0.0, 0.5), 4), shards_in((0.5, 1.0), 3), shards_in((0.9, 1.0), 2)
    (range(0, 2), range(1, 3), range(1, 2))
    """
    low, high = (int(part * shards + 1e-9) for part in share)
    low = min(low, shards - 1)
    return range(low, max(high, low + 1))
