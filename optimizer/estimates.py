"""Estimates: the load and the highest rate that a plan, a tree or a query means for this machine.

They come from measured times (`Calibration`), whichever model the plan was made with. Loads of queries add
up to their plan's: each has its own answers to itself; the rest of its tree, and of the trees that one is
made of, is split evenly among the queries served, and what all trees share among all queries.
"""

from dataclasses import dataclass, replace

from optimizer.cost import Statistics
from optimizer.incremental import adapt
from optimizer.plan import Plan, Tree
from optimizer.planning import optimize
from optimizer.queries import AnyQuery, Query
from optimizer.throughput import answer_seconds, busy, estimated_throughput, load


@dataclass(frozen=True)
class Estimate:
    """`load` is a fraction of all cores' time; `highest_rate` is in events per second."""

    load: float
    highest_rate: float  # that the machine keeps up with when it computes nothing else


@dataclass(frozen=True)
class Addition:
    """What one more query means for a running plan."""

    tree: str
    is_new: bool  # the tree was not in the plan before
    cost: float  # in the unit of the model
    load: float  # added to the plan's
    highest_rate: float  # of the plan with it


def plan_estimate(plan: Plan, statistics: Statistics) -> Estimate:
    return Estimate(load(plan, statistics), estimated_throughput(plan, statistics))


def tree_estimates(plan: Plan, statistics: Statistics) -> dict[str, Estimate]:
    """Estimates by tree; the load of each is what its own work takes, without reading the events."""
    trees = {tree.id: tree for tree in plan.trees}
    cores, own = statistics.calibration.cores, busy(plan, statistics).trees
    timed = {
        tree.id: Estimate(
            own[tree.id] / cores,
            estimated_throughput(
                replace(plan, trees=tuple(_made_of(tree, trees)), group_trees=()), statistics
            ),
        )
        for tree in plan.trees
    }
    grouped = {
        tree.id: Estimate(
            own[tree.id] / cores,
            estimated_throughput(replace(plan, trees=(), group_trees=(tree,)), statistics),
        )
        for tree in plan.group_trees
    }
    return timed | grouped


def query_estimates(plan: Plan, statistics: Statistics) -> dict[str, Estimate]:
    """Estimates by query; their loads add up to the plan's."""
    taken = busy(plan, statistics)
    count = len(plan.all_queries)
    shares = {query.id: taken.shared / count for query in plan.all_queries}
    served = _served_queries(plan)
    for tree in plan.trees:
        own = answer_seconds(tree, statistics)
        rest = taken.trees[tree.id] - sum(own.values())
        for query in served[tree.id]:
            shares[query.id] += own.get(query.id, 0.0) + rest / len(served[tree.id])
    for group_tree in plan.group_trees:
        for sharing in group_tree.queries:
            shares[sharing.id] += taken.trees[group_tree.id] / len(group_tree.queries)
    return {
        query.id: Estimate(
            shares[query.id] / statistics.calibration.cores, _highest_rate_alone(query, statistics)
        )
        for query in plan.all_queries
    }


def one_more(plan: Plan, query: AnyQuery, statistics: Statistics) -> Addition:
    """What a new query adds where incremental planning places it; other trees stay as they are."""
    after = adapt(plan, [*plan.all_queries, query], statistics).plan
    tree = after.group_tree_of(query.id) or after.tree_of(query.id)
    return Addition(
        tree=tree.id,
        is_new=all(tree.id != known.id for known in plan.all_trees),
        cost=after.total_cost - plan.total_cost,
        load=load(after, statistics) - load(plan, statistics),
        highest_rate=estimated_throughput(after, statistics),
    )


def _made_of(tree: Tree, trees: dict[str, Tree]) -> list[Tree]:
    """The tree and those that it is made of."""
    chain = [tree]
    while chain[-1].fed_by is not None:
        chain.append(trees[chain[-1].fed_by])
    return chain


def _served_queries(plan: Plan) -> dict[str, list[Query]]:
    """By tree, the queries that it answers and those of all trees that are made of it."""
    trees = {tree.id: tree for tree in plan.trees}
    served: dict[str, list[Query]] = {tree.id: [] for tree in plan.trees}
    for tree in plan.trees:
        for above in _made_of(tree, trees):
            served[above.id] += tree.queries
    return served


def _highest_rate_alone(query: AnyQuery, statistics: Statistics) -> float:
    return estimated_throughput(optimize([query], statistics, strategy="no_share"), statistics)
