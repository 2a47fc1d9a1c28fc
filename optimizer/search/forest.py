"""Forest: which trees are made of the events, and which of the slices or answers of another tree.

Once the trees are chosen, each takes its cheapest feed by itself: the events, the slices of a tree whose
edges, groups and filters include its own, or the answers of a window that covers its only one. So the search
is over the trees alone: windows leave a tree or trees merge, and trees without queries are added that join
what two trees need (their windows: a common composite slide; group-bys: a phantom; filters: fragments).
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

from optimizer.aggregates import AGGREGATES, HOLDS
from optimizer.cost import FamilyCosts, Statistics, answers_cost, feeding_cost
from optimizer.coverage import covering_multiplier, is_covered_by, is_partitioned_by
from optimizer.edges import edge_rate
from optimizer.edges.classes import EdgeClass, contains
from optimizer.filters import either, fields_of, implies
from optimizer.queries import Query
from optimizer.search.partition import NOTHING, atoms_of, classes_of
from optimizer.weaving import FamilyKey
from optimizer.windows import Window
from optimizer.workload import Group

Windows = frozenset[Window]

EVALUATIONS = 800  # forests that a search may weigh, fewer the more trees there are
SAMPLES = 24  # instants of a class that are looked for one by one before all are counted
PAIRS = 1_000_000  # of trees, over all of them
MANY_TREES = 24  # beyond so many, only neighbours in order of their edges are joined


@dataclass(frozen=True)
class Node:
    """A tree of the forest: what it answers, and the windows that it cuts slices for besides."""

    key: FamilyKey
    answers: Windows
    added: Windows = frozenset()
    asked: bool = True  # by queries; otherwise it is there for the trees it feeds

    @property
    def windows(self) -> Windows:
        return self.answers | self.added


@dataclass(frozen=True)
class Fed:
    """Where a tree comes from, at what cost."""

    cost: float
    feed: Node | None = None
    through: Window | None = None


@dataclass(frozen=True)
class _Known:
    """What was worked out for a tree, once."""

    node: Node
    number: int
    fineness: tuple[object, ...]
    own: float  # what it takes besides its input
    from_events: Fed
    from_others: dict[int, Fed | None] = field(default_factory=dict)  # by number; None: it cannot be


_UNKNOWN = Fed(0.0)


@dataclass(frozen=True)
class Forest:
    """Trees with their feeds, and what all of them cost."""

    feeds: dict[Node, Fed]
    total: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", sum(fed.cost for fed in self.feeds.values()))

    @property
    def nodes(self) -> list[Node]:
        return list(self.feeds)


class Grove:
    """Weighs the forests of queries that could share partials, whatever their group-bys and filters."""

    def __init__(self, queries: Sequence[Query], statistics: Statistics) -> None:
        self._queries = queries
        self._statistics = statistics
        self._aggregates = {query.aggregate for query in queries}
        self._may_overlap = all(AGGREGATES[name].idempotent for name in self._aggregates)
        self._fold = statistics.unit_costs.fold
        self._known: dict[Node, _Known] = {}
        self._costs: dict[FamilyKey, FamilyCosts] = {}
        self._edge_rates: dict[Windows, float] = {}
        self._inclusions: dict[tuple[Windows, Windows], bool] = {}
        self.weighed = 0

    def fed(self, nodes: Collection[Node]) -> Forest:
        """The forest of these trees, each with its cheapest feed. Feeds come from finer trees only."""
        self.weighed += 1
        ordered = sorted((self._knowledge(node) for node in set(nodes)), key=lambda known: known.fineness)
        feeds: dict[Node, Fed] = {}
        feeding: list[_Known] = []
        for known in ordered:
            cheapest = known.from_events
            for other in feeding:
                option = known.from_others.get(other.number, _UNKNOWN)
                if option is _UNKNOWN:
                    option = known.from_others[other.number] = self._option(known.node, other.node)
                # A tree that is made of answers has no slices to give.
                if (
                    option
                    and option.cost < cheapest.cost
                    and (option.through or feeds[other.node].through is None)
                ):
                    cheapest = option
            feeds[known.node] = cheapest
            feeding.append(known)
        return Forest(_without_idle(feeds))

    def _knowledge(self, node: Node) -> "_Known":
        if node not in self._known:
            partials = self._edge_rate(node.windows) * self._statistics.groups_in(node.key)
            # Among equals slices alone and shorter windows come first: they can feed the others.
            numbers = sorted((window.range, window.slide, window.offset) for window in node.windows)
            fineness = -partials, node.asked, node.key, numbers
            events = self._fold * self._statistics.events_in(node.key)
            own = self._own(node)
            self._known[node] = _Known(node, len(self._known), fineness, own, Fed(events + own))
        return self._known[node]

    def improved(self, nodes: Collection[Node]) -> Forest:
        """The best forest that small changes of these trees lead to."""
        forest = self.fed(nodes)
        until = self.weighed + min(EVALUATIONS, PAIRS // len(nodes) ** 2)
        improving = True
        while improving and self.weighed < until:
            improving = False
            for change in self._changes(forest.nodes):
                if self.weighed >= until:
                    break
                changed = self.fed(change)
                if changed.total < forest.total * (1 - NOTHING):
                    forest, improving = changed, True
                    break
        return forest

    def _changes(self, nodes: list[Node]) -> Iterator[list[Node]]:
        yield from self._without_one(nodes)
        yield from self._with_common_slices(nodes)
        yield from self._with_two_joined(nodes)
        yield from self._with_atom_apart(nodes)

    def _without_one(self, nodes: list[Node]) -> Iterator[list[Node]]:
        for node in nodes:
            if not node.asked:
                yield [other for other in nodes if other is not node]

    def _with_common_slices(self, nodes: list[Node]) -> Iterator[list[Node]]:
        """One tree of slices for all of a family: TriWeave's composite slide."""
        for key in dict.fromkeys(node.key for node in nodes):
            windows = frozenset[Window]().union(*(node.windows for node in nodes if node.key == key))
            yield [*nodes, Node(key, frozenset(), windows, asked=False)]

    def _with_two_joined(self, nodes: list[Node]) -> Iterator[list[Node]]:
        for one, other in self._pairs(nodes):
            rest = [node for node in nodes if node is not one and node is not other]
            if one.key == other.key and one.asked and other.asked:
                yield [*rest, Node(one.key, one.answers | other.answers, one.added | other.added)]
            key = _joint_key(one.key, other.key)
            yield [*nodes, Node(key, frozenset(), one.windows | other.windows, asked=False)]

    def _with_atom_apart(self, nodes: list[Node]) -> Iterator[list[Node]]:
        for node in nodes:
            atoms = atoms_of(node.answers)
            if len(atoms) < 2 or not node.asked:
                continue
            for atom in atoms:
                rest = [other for other in nodes if other is not node]
                yield [*rest, replace(node, answers=node.answers - atom), Node(node.key, atom)]

    def _pairs(self, nodes: list[Node]) -> Iterator[tuple[Node, Node]]:
        ordered = sorted(nodes, key=lambda node: self._knowledge(node).fineness)
        if len(ordered) <= MANY_TREES:
            return combinations(ordered, 2)
        return pairwise(ordered)

    def _option(self, node: Node, feed: Node) -> Fed | None:
        """The cheaper of making a tree of another's slices or answers; None where neither can be."""
        options = [*self._by_slices(node, feed), *self._by_answers(node, feed)]
        return min(options, key=lambda option: option.cost, default=None)

    def _by_slices(self, node: Node, feed: Node) -> Iterator[Fed]:
        if _is_within(node.key, feed.key) and self._includes(feed.windows, node.windows):
            partials = self._edge_rate(feed.windows) * self._statistics.groups_in(feed.key)
            yield Fed(self._fold * partials + self._knowledge(node).own, feed)

    def _by_answers(self, node: Node, feed: Node) -> Iterator[Fed]:
        if node.key != feed.key or len(node.windows) != 1:
            return
        (window,) = node.windows
        covers = is_covered_by if self._may_overlap else is_partitioned_by
        tumbles = all(added.range == added.slide for added in feed.added) and len(feed.windows) == 1
        given = feed.windows if tumbles else feed.answers
        covering = [answered for answered in given if answered != window and covers(window, answered)]
        if covering:  # the fewer answers make one of this window's, the cheaper
            through = min(covering, key=lambda given: (covering_multiplier(window, given), given))
            yield Fed(answers_cost(window, through, node.key, self._statistics).total, feed, through)

    def _own(self, node: Node) -> float:
        """What a tree takes besides its input."""
        if not node.answers:
            return feeding_cost(node.windows, node.key, self._statistics, 0.0).total
        if node.key not in self._costs:
            held = {node.key.family, *HOLDS.get(node.key.family, ())}
            read = [query for query in self._queries if AGGREGATES[query.aggregate].carrier in held]
            costs = FamilyCosts(read, self._statistics, key=node.key, input_rate=0.0)
            self._costs[node.key] = costs
        return self._costs[node.key].tree_at(node.answers, self._edge_rate(node.windows)).total

    def _edge_rate(self, windows: Windows) -> float:
        if windows not in self._edge_rates:
            self._edge_rates[windows] = edge_rate(classes_of(windows))
        return self._edge_rates[windows]

    def _includes(self, finer: Windows, coarser: Windows) -> bool:
        """Whether every edge of the coarser windows is one of the finer."""
        if coarser <= finer:
            return True
        if (finer, coarser) not in self._inclusions:
            classes, others = classes_of(finer), classes_of(coarser)
            self._inclusions[finer, coarser] = _are_within(others, classes)
        return self._inclusions[finer, coarser]


def _are_within(inner: Collection[EdgeClass], outer: Collection[EdgeClass]) -> bool:
    """Whether all instants of the inner classes are among those of the outer ones."""
    left = [one for one in inner if not any(contains(other, one) for other in outer)]
    # Counting is exact but slow; a class that is not within the others mostly shows it at its first instants.
    samples = (residue + turn * period for period, residue in left for turn in range(SAMPLES))
    if not all(any(instant % period == residue for period, residue in outer) for instant in samples):
        return False
    return not left or edge_rate([*outer, *left]) == edge_rate(outer)


def _without_idle(feeds: dict[Node, Fed]) -> dict[Node, Fed]:
    """Trees that answer nobody and feed nobody cost and give nothing."""
    while True:
        feeding = {fed.feed for fed in feeds.values()}
        kept = {node: fed for node, fed in feeds.items() if node.asked or node in feeding}
        if len(kept) == len(feeds):
            return kept
        feeds = kept


def _is_within(key: FamilyKey, feed: FamilyKey) -> bool:
    """Whether partials of `feed` can be added up to partials of `key`."""
    held = key.family == feed.family or key.family in HOLDS.get(feed.family, ())
    if not held or key.field != feed.field or not set(key.group_by) <= set(feed.group_by):
        return False
    if key.where == feed.where:
        return set(key.fragments) <= set(feed.fragments)
    if key.fragments:
        return False
    told_apart = key.where in feed.fragments
    # A filter on fields that the feed is grouped by picks groups.
    return told_apart or (not feed.where and bool(key.where) and fields_of(key.where) <= set(feed.group_by))


def _joint_key(one: FamilyKey, other: FamilyKey) -> FamilyKey:
    """The family whose partials give both: grouped by all fields, told apart by the filters that differ."""
    family = other.family if one.family in HOLDS.get(other.family, ()) else one.family
    group_by = tuple(sorted({*one.group_by, *other.group_by}))
    if group_by == tuple(sorted(one.group_by)):
        group_by = one.group_by
    filters = dict.fromkeys(
        where for key in (one, other) for where in (key.fragments or (key.where,)) if where
    )
    if one.where == other.where:
        return FamilyKey(
            one.field, family, group_by, one.where, tuple(sorted({*one.fragments, *other.fragments}))
        )
    weakest = next((where for where in (one.where, other.where) if _implied(where, filters)), None)
    if weakest is None:
        weakest = either(filters)
    fragments = tuple(sorted(where for where in filters if where != weakest))
    return FamilyKey(one.field, family, group_by, weakest, fragments)


def _implied(where: str, filters: Collection[str]) -> bool:
    return all(implies(given, where) for given in filters)


def nodes_of(groups: Sequence[Group]) -> list[Node]:
    """The trees of a strategy's groups, whatever their feeds."""
    nodes = []
    for position, group in enumerate(groups):
        asked = frozenset(query.window for query in group.queries)
        passed_on = {fed.through for fed in groups if fed.feed == position and fed.through}
        answers = asked | {window for window in passed_on if window.range != window.slide}
        nodes.append(Node(group.key, answers, group.windows - answers, bool(asked)))
    return nodes


def groups_of(forest: Forest, queries: Sequence[Query]) -> list[Group]:
    """The forest as groups; each query goes to the tree of its family that answers its window."""
    positions = {node: position for position, node in enumerate(forest.feeds)}
    groups = []
    for node, fed in forest.feeds.items():
        members = tuple(query for query in queries if _answers(node, query))
        asked = {query.window for query in members}
        groups.append(
            Group(
                members,
                node.key,
                feed=None if fed.feed is None else positions[fed.feed],
                through=fed.through,
                added_windows=tuple(sorted(node.windows - asked)),
            )
        )
    return groups


def _answers(node: Node, query: Query) -> bool:
    key = node.key
    carrier = AGGREGATES[query.aggregate].carrier
    return (
        node.asked
        and query.window in node.answers
        and key[2:] == (query.group_by, query.where or "", ())
        and key.field == (query.field or "")
        and (carrier == key.family or carrier in HOLDS.get(key.family, ()))
    )
