"""Incremental planning: a running plan follows an edit in milliseconds, and the other trees stay as they are.

A new query goes to the tree where it adds least, or gets one of its own where that is cheaper. A query that
goes leaves its tree to the others, woven anew only where they would now be cheaper apart. What optimizing
everything would gain takes longer to find out, so it is worked out when it is asked for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from optimizer.cost import Statistics
from optimizer.group_costs import group_costs
from optimizer.group_planning import told_apart, with_group_trees
from optimizer.plan import Plan
from optimizer.plan_edit import OtherPartials, PlanEdit, as_groups
from optimizer.planning import optimize, planned
from optimizer.queries import AnyQuery, Query
from optimizer.workload import Workload

MOST_CLASSES = 150  # of edges, up to which optimizing everything takes a few seconds at most
THRESHOLD = 0.05  # share of the cost that optimizing everything must gain before running trees are disturbed


@dataclass(frozen=True)
class Adapted:
    """A plan that has followed an edit, and what optimizing everything would gain over it."""

    plan: Plan
    changed_trees: tuple[str, ...]  # ids of trees that are new, changed or gone
    note: str  # why everything was optimized after all; empty where only the edit was followed
    running: Plan
    statistics: Statistics
    threshold: float
    seed: int

    @cached_property
    def full_plan(self) -> Plan:
        """The plan of all queries optimized together, with the ids of the running one."""
        if self.note:
            return self.plan
        return _optimized(self.running, self.plan.all_queries, self.statistics, self.plan.version, self.seed)

    @cached_property
    def gain_of_full(self) -> float:
        """The share of the cost that optimizing everything would save."""
        cost_now = sum(cost.total for cost in group_costs(as_groups(self.plan.trees), self.statistics))
        cost_now += sum(tree.cost for tree in self.plan.group_trees)
        return max(0.0, 1 - self.full_plan.total_cost / cost_now) if cost_now else 0.0

    def settled(self) -> Plan:
        """The plan to run: the one that leaves other trees alone, unless the gain passes the threshold.

        Among very many different edges the gain takes longer to find out than people wait for an edit.
        """
        classes = {edge for query in self.plan.queries for edge in query.window.edge_classes}
        if len(classes) > MOST_CLASSES or self.gain_of_full <= self.threshold:
            return self.plan
        return self.full_plan


def adapt(
    plan: Plan,
    queries: Sequence[AnyQuery],
    statistics: Statistics,
    *,
    version: int | None = None,
    threshold: float = THRESHOLD,
    seed: int = 0,
) -> Adapted:
    """The running plan with exactly these queries: those that are new, gone or changed are placed anew.

    Where an edit would change the partials that trees pass on to each other, everything is optimized, and
    `note` says so.
    """
    if len({query.id for query in queries}) < len(queries):
        raise ValueError("Two queries have the same id: give each query its own.")
    timed, grouped = told_apart(queries)
    wanted = {query.id: query for query in timed}
    version = plan.version + 1 if version is None else version
    try:
        edited, note = _edited(plan, wanted, statistics, version), ""
        new_plan = with_group_trees(edited, grouped, statistics, plan)
    except OtherPartials:
        new_plan = _optimized(plan, queries, statistics, version, seed)
        note = "Trees that are made of each other would keep other partials: everything was optimized anew."
    return Adapted(new_plan, _changed_trees(plan, new_plan), note, plan, statistics, threshold, seed)


def rearranged(old: Plan, running: Plan, queries: Sequence[AnyQuery], statistics: Statistics) -> Plan:
    """The running plan's successor: these queries in the trees of an older plan, on its nodes.

    Queries that the older plan did not have go where they add least. Trees that the running plan has, too,
    keep their ids; the others get new ones, as an id that has gone is not given out again.
    """
    followed = adapt(old, queries, statistics).plan
    timed, grouped = told_apart(queries)
    workload = Workload(tuple(sorted(timed, key=lambda query: query.id)), statistics, old.nodes)
    plan = planned(
        as_groups(followed.trees),
        workload,
        source=running.source,
        version=running.version + 1,
        strategy=old.strategy,
        previous=running,
    )
    return with_group_trees(plan, grouped, statistics, running)


def _edited(plan: Plan, wanted: Mapping[str, Query], statistics: Statistics, version: int) -> Plan:
    edit = PlanEdit(plan, statistics)
    new = set(wanted)
    for query in plan.queries:
        now = wanted.get(query.id)
        if now == query:
            new.remove(query.id)
        elif now is not None and replace(query, name=now.name) == now:
            new.remove(query.id)
            edit.rename(now)
        else:
            edit.remove(query)
    for query_id in sorted(new):
        edit.add(wanted[query_id])
    return edit.plan(version)


def _optimized(
    running: Plan, queries: Sequence[AnyQuery], statistics: Statistics, version: int, seed: int
) -> Plan:
    return optimize(
        queries,
        statistics,
        source=running.source,
        version=version,
        strategy=running.strategy,
        nodes=running.nodes,
        seed=seed,
        previous=running,
    )


def _changed_trees(before: Plan, after: Plan) -> tuple[str, ...]:
    old, new = ({tree.id: tree for tree in plan.all_trees} for plan in (before, after))
    changed = (tree_id for tree_id in old.keys() | new.keys() if old.get(tree_id) != new.get(tree_id))
    return tuple(sorted(changed, key=int))
