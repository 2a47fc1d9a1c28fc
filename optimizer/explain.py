"""Explain: what a plan does for a query, in words and numbers that people can act on."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from heapq import nsmallest
from math import floor, gcd, inf

from optimizer.aggregates import joint_carrier
from optimizer.cost import FamilyCosts, Statistics, tree_cost
from optimizer.edges.classes import EdgeClass, contains
from optimizer.group_costs import group_costs
from optimizer.group_trees import GroupTree
from optimizer.kernels import BY_NAME
from optimizer.plan import Plan, Tree
from optimizer.plan_edit import as_groups
from optimizer.queries import AnyQuery, Query
from optimizer.throughput import load
from optimizer.weaving import FamilyKey

NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
NEAREST = 3  # trees that could be joined and families that could not, of which an explanation speaks
NAMED = 3  # of several queries or trees, before the rest is only counted


@dataclass(frozen=True)
class Joining:
    """What it means for new queries to join one tree; loads are the whole plan's."""

    tree: str
    is_new: bool  # the tree was not in the plan before
    shares_with: int  # other queries in the tree
    load_before: float
    load_after: float
    cost_alone: float  # of the new queries as a tree of their own
    cost_added: float  # of the tree, by the new queries
    saving: float  # 0 to 1, against alone


def joining(before: Plan, after: Plan, query_ids: Collection[str], statistics: Statistics) -> list[Joining]:
    """For each tree that the new queries join, what they share, add and save."""
    known = {tree.id for tree in before.all_trees}
    loads = load(before, statistics), load(after, statistics)
    found = []
    for tree in after.trees:
        new = [query for query in tree.queries if query.id in query_ids]
        others = [query for query in tree.queries if query.id not in query_ids]
        if not new:
            continue
        alone = tree_cost(new, statistics).total
        added = tree.cost - tree_cost(others, statistics).total if others else alone
        saving = max(0.0, 1 - added / alone) if alone else 0.0
        found.append(Joining(tree.id, tree.id not in known, len(others), *loads, alone, added, saving))
    for group_tree in after.group_trees:
        old = sum(query.id not in query_ids for query in group_tree.queries)
        if old < len(group_tree.queries):  # those that share a window take no more than one of them
            cost = group_tree.cost
            added, saving = (0.0, 1.0) if old else (cost, 0.0)
            found.append(Joining(group_tree.id, group_tree.id not in known, old, *loads, cost, added, saving))
    return found


def cost_line(joinings: Sequence[Joining]) -> str:
    """One line for lists and confirmations: `joins tree 3 · +2 % load · 71 % cheaper than alone`."""
    parts = [_places(joinings), _load_change(joinings[0])]
    if any(joining.shares_with for joining in joinings):
        alone = sum(joining.cost_alone for joining in joinings)
        saved = sum(joining.cost_alone * joining.saving for joining in joinings)
        parts.append(f"{_whole_percent(saved / alone if alone else 0.0)} cheaper than alone")
    else:
        parts.append("shares with nothing yet")
    return " · ".join(parts)


def describe(plan: Plan, query_id: str) -> str:
    """One sentence that says where a query runs, with whom and how."""
    group_tree = plan.group_tree_of(query_id)
    if group_tree is not None:
        return f"{_place_of(group_tree, query_id)}, which keeps its windows for each group apart."
    tree = plan.tree_of(query_id)
    slices = f"{tree.edge_rate:.3g} {plural('slice', 'slices', tree.edge_rate)} a second"
    operations = f"{tree.omega:.3g} {plural('operation', 'operations', tree.omega)} each"
    return f"{_place_of(tree, query_id)}, on {slices} with {operations} in {BY_NAME[tree.kernel].label}."


def _place_of(tree: Tree | GroupTree, query_id: str) -> str:
    query = next(query for query in tree.queries if query.id == query_id)
    others = len(tree.queries) - 1
    company = "alone" if not others else f"with {others} other {plural('query', 'queries', others)}"
    return f"“{query.name}” ({_question(query)}) runs in tree {tree.id} {company}"


@dataclass(frozen=True)
class Merge:
    """What it would mean to make one tree of a query's tree and another one."""

    tree: str
    cost_more: float | None  # below zero: it would save; None: the kernel answers one window alone


@dataclass(frozen=True)
class Difference:
    """Trees that a query cannot share with, and what of it they do not agree on."""

    trees: tuple[str, ...]
    parts: tuple[str, ...]  # of field, filter, group-by and aggregate


@dataclass(frozen=True)
class Explanation:
    """Why a query runs where it does. Costs are in the unit of the model."""

    query: AnyQuery
    tree: str
    shares_with: tuple[AnyQuery, ...]
    fed_by: str | None  # the tree whose slices or answers its tree is made of; None: of the events
    fed_beside: tuple[str, ...]  # the other trees that are made of that one
    feeds: tuple[str, ...]  # the trees that are made of its tree
    cost_alone: float
    cost_added: float  # to its tree, which the others would not cause
    merges: tuple[Merge, ...]  # the nearest trees of the same family
    differences: tuple[Difference, ...]  # the nearest other families
    model: str

    @property
    def saving(self) -> float:
        """0 to 1, against alone."""
        return max(0.0, 1 - self.cost_added / self.cost_alone) if self.cost_alone else 0.0

    def lines(self) -> list[str]:
        """A few short lines: where it runs and with whom, what that saves, and why not with others."""
        company = listed([_named(query) for query in self.shares_with])
        alone = cost_text(self.cost_alone, self.model)
        lines = [
            f"{self.query.name}: {_question(self.query)}",
            f"  runs in tree {self.tree} {f'with {company}' if company else 'alone'}",
        ]
        if self.fed_by:
            beside = f", as {_trees(self.fed_beside)} also" if self.fed_beside else ""
            lines.append(f"  is made of what tree {self.fed_by} keeps{beside}")
        if self.feeds:
            lines.append(f"  feeds {_trees(self.feeds)}")
        if company or self.fed_by or self.feeds:
            added = cost_text(self.cost_added, self.model)
            lines.append(f"  adds {added}, {_whole_percent(self.saving)} cheaper than {alone} alone")
        else:
            lines.append(f"  costs {alone}")
        for merge in self.merges:
            if merge.cost_more is None:
                lines.append(f"  not with tree {merge.tree}: its kernel answers one window alone")
                continue
            change = "more" if merge.cost_more >= 0 else "less"
            cost = cost_text(abs(merge.cost_more), self.model)
            lines.append(f"  not with tree {merge.tree}: as one tree the two would cost {cost} {change}")
        for difference in self.differences:
            what = listed([f"another {part}" for part in difference.parts])
            lines.append(f"  not with {_trees(difference.trees)}: {what}")
        return lines


def explanation(plan: Plan, query_id: str, statistics: Statistics) -> Explanation:
    return Explainer(plan, statistics).explanation(query_id)


class Explainer:
    """Explanations of one plan; what queries of one tree have in common is worked out once."""

    def __init__(self, plan: Plan, statistics: Statistics) -> None:
        self._plan = plan
        self._statistics = statistics
        self._trees = {tree.id: tree for tree in plan.trees}
        self._tree_of = {query.id: tree for tree in plan.trees for query in tree.queries}
        self._slides = {tree.id: frozenset(window.slide for window in tree.windows) for tree in plan.trees}
        self._fed: defaultdict[str, list[Tree]] = defaultdict(list)
        self._by_family: defaultdict[FamilyKey, list[Tree]] = defaultdict(list)
        for tree in plan.trees:
            self._by_family[tree.key].append(tree)
            if tree.fed_by is not None:
                self._fed[tree.fed_by].append(tree)
        self._class_users = cache(self._find_class_users)
        self._merges = cache(self._find_merges)
        self._differences = cache(self._find_differences)

    def explanation(self, query_id: str) -> Explanation:
        group_tree = self._plan.group_tree_of(query_id)
        if group_tree is not None:
            return self._of_group_window(group_tree, query_id)
        tree = self._tree_of.get(query_id) or self._plan.tree_of(query_id)
        query = next(query for query in tree.queries if query.id == query_id)
        return Explanation(
            query=query,
            tree=tree.id,
            shares_with=tuple(other for other in tree.queries if other.id != query_id),
            fed_by=tree.fed_by,
            fed_beside=tuple(other.id for other in self._fed.get(tree.fed_by or "", ()) if other is not tree),
            feeds=tuple(other.id for other in self._fed.get(tree.id, ())),
            cost_alone=tree_cost([query], self._statistics).total,
            cost_added=tree.cost - self._cost_without(tree, query),
            merges=self._merges(tree.id),
            differences=self._differences(tree.id),
            model=self._statistics.model,
        )

    def _of_group_window(self, tree: GroupTree, query_id: str) -> Explanation:
        query = next(query for query in tree.queries if query.id == query_id)
        others = tuple(other for other in tree.queries if other.id != query_id)
        return Explanation(
            query=query,
            tree=tree.id,
            shares_with=others,
            fed_by=None,
            fed_beside=(),
            feeds=(),
            cost_alone=tree.cost,
            cost_added=0.0 if others else tree.cost,
            merges=(),
            differences=(),
            model=self._statistics.model,
        )

    def _is_linked(self, tree: Tree) -> bool:
        return tree.fed_by is not None or tree.id in self._fed

    def _cost_without(self, tree: Tree, query: Query) -> float:
        others = tuple(other for other in tree.queries if other.id != query.id)
        if any((other.window, other.aggregate) == (query.window, query.aggregate) for other in others):
            return tree.cost
        if not self._is_linked(tree):
            return self._cost_of_rest(tree, query, others) if others else 0.0
        feeds = tree.id in self._fed
        if not others and not feeds:
            return 0.0
        linked = self._linked_with(tree)
        position = linked.index(tree)
        groups = as_groups(linked)
        kept = (*tree.added_windows, query.window) if feeds else tree.added_windows
        groups[position] = replace(groups[position], queries=others, added_windows=kept)
        return group_costs(groups, self._statistics)[position].total

    def _cost_of_rest(self, tree: Tree, query: Query, others: Sequence[Query]) -> float:
        costs = FamilyCosts(others, self._statistics)
        windows = {other.window for other in others}
        users = self._class_users(tree.id)
        own = query.window.edge_classes if query.window not in windows else frozenset()
        rest = [edges for edges in users if edges not in own or users[edges] > 1]
        if all(
            any(contains(edges, one) for edges in rest) for one in own
        ):  # counting would find no edge less
            return costs.tree_at(windows, tree.edge_rate).total
        return costs.tree(windows).total

    def _find_class_users(self, tree_id: str) -> Counter[EdgeClass]:
        """How many windows of a tree have each edge class."""
        return Counter(edges for window in self._trees[tree_id].windows for edges in window.edge_classes)

    def _linked_with(self, tree: Tree) -> list[Tree]:
        """The trees it is made of, it, and all that is made of any of them."""
        while tree.fed_by is not None:
            tree = self._trees[tree.fed_by]
        linked = [tree]
        for above in linked:  # grows while it is walked
            linked += self._fed.get(above.id, ())
        return linked

    def _find_merges(self, tree_id: str) -> tuple[Merge, ...]:
        tree = self._trees[tree_id]
        if self._is_linked(tree):
            return ()
        mates = [
            other
            for key, trees in self._by_family.items()
            if not _differing_parts(tree.key, key)
            for other in trees
            if other.id != tree.id and not self._is_linked(other)
        ]
        nearest = nsmallest(NEAREST, mates, key=lambda other: self._distance(tree, other))
        merges = (Merge(other.id, self._cost_more(tree, other)) for other in nearest)
        return tuple(sorted(merges, key=lambda merge: inf if merge.cost_more is None else merge.cost_more))

    def _distance(self, tree: Tree, other: Tree) -> tuple[float, float]:
        """How badly the edges of two trees mesh, told without counting them."""
        slides, others = self._slides[tree.id], self._slides[other.id]
        shortest, shortest_other = min(slides), min(others)
        return -len(slides & others), -gcd(shortest, shortest_other) / max(shortest, shortest_other)

    def _cost_more(self, tree: Tree, other: Tree) -> float | None:
        costs = FamilyCosts((*tree.queries, *other.queries), self._statistics)
        if not costs.may_share and tree.windows != other.windows:
            return None
        return costs.tree({*tree.windows, *other.windows}).total - tree.cost - other.cost

    def _find_differences(self, tree_id: str) -> tuple[Difference, ...]:
        tree = self._trees[tree_id]
        linked = {other.id for other in self._linked_with(tree)}
        found = []
        for key, trees in self._by_family.items():
            parts = _differing_parts(tree.key, key)
            apart = tuple(other.id for other in trees if other.id not in linked)
            if parts and apart:
                found.append(Difference(apart, parts))
        return tuple(nsmallest(NEAREST, found, key=lambda difference: len(difference.parts)))


def _differing_parts(key: FamilyKey, other: FamilyKey) -> tuple[str, ...]:
    differs = {
        "field": key.field != other.field,
        "filter": (key.where, key.fragments) != (other.where, other.fragments),
        "group-by": key.group_by != other.group_by,
        # As in weaving, one must hold what the other needs: min and max alone are not kept as a pair.
        "aggregate": joint_carrier({key.family, other.family}) not in {key.family, other.family},
    }
    return tuple(part for part, is_other in differs.items() if is_other)


def cost_text(cost: float, model: str) -> str:
    """A cost with its unit: operations a second of the papers, or busy time of a core.

    >>> [cost_text(cost, "calibrated").replace(NARROW_SPACE, " ") for cost in (0.0125, 2e-8, 0.0)]
    ['1.25 % of a core', 'under 0.001 % of a core', '0 % of a core']
    >>> cost_text(1234.5, "papers")
    '1,234 operations/s'
    """
    if model == "papers":
        return f"{significant(cost)} operations/s"
    percent = "under 0.001" if 0 < cost < 1e-5 else significant(100 * cost)
    return f"{percent}{NARROW_SPACE}% of a core"


def significant(value: float) -> str:
    """Three digits that count; more before the decimal point.

    >>> [significant(value) for value in (1234567.8, 12.3456, 0.5, 0.000123, 4.0)]
    ['1,234,568', '12.3', '0.5', '0.000123', '4']
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _named(query: AnyQuery) -> str:
    return f"{query.name} ({query.window.words})"


def listed(items: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`, `a, b, c and 5 others`; nothing for none."""
    named = list(items[:NAMED])
    if len(items) > NAMED + 1:
        named.append(f"{len(items) - NAMED} others")
    else:
        named = list(items)
    return " and ".join(part for part in (", ".join(named[:-1]), *named[-1:]) if part)


def _question(query: AnyQuery) -> str:
    window = f"over {query.window.words}"
    subject = f"{query.aggregate} of {query.field}" if query.field else query.aggregate
    grouped = f" by {', '.join(query.group_by)}" if query.group_by else ""
    filtered = f" where {query.where}" if query.where else ""
    return f"{subject} {window}{grouped}{filtered}"


def _places(joinings: Sequence[Joining]) -> str:
    started = [joining.tree for joining in joinings if joining.is_new]
    joined = [joining.tree for joining in joinings if not joining.is_new]
    phrases = [("joins", joined), ("starts", started)]
    return " and ".join(f"{verb} {_trees(ids)}" for verb, ids in phrases if ids)


def _trees(ids: Sequence[str]) -> str:
    return f"{plural('tree', 'trees', len(ids))} {listed(ids)}"


def _load_change(joining: Joining) -> str:
    percent = 100 * (joining.load_after - joining.load_before)
    size = f"{abs(percent):.0f}" if abs(percent) >= 0.95 else f"{abs(percent):.1f}"
    if float(size) == 0:
        return f"+0{NARROW_SPACE}% load"
    return f"{MINUS if percent < 0 else '+'}{size}{NARROW_SPACE}% load"


def _whole_percent(share: float) -> str:
    """Rounded down, so that 100 % is said of everything alone; a hair is added against binary fractions."""
    return f"{floor(share * 100 + 1e-9)}{NARROW_SPACE}%"


def plural(one: str, several: str, count: float) -> str:
    return one if count == 1 else several
