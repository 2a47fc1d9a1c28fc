"""The difference between two plans: in sentences, query by query, and as a picture of who moves where."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from dashboard.planning.figures import PlanLoad
from dashboard.queries.windows_text import spaced
from optimizer.explain import listed, plural
from optimizer.group_trees import GroupTree
from optimizer.kernels import BY_NAME
from optimizer.plan import Plan, Tree
from optimizer.queries import AnyQuery, Query
from optimizer.strategies import STRATEGIES

MOST_SENTENCES = 12
NEW, GONE = "new", "gone"  # where queries come from and go to that are in one of the plans alone
AnyTree = Tree | GroupTree


def differences(before: Plan, after: Plan) -> list[str]:
    """What a person would say has changed; empty where nothing has."""
    sentences = [*_choice(before, after), *_came_and_went(before, after), *_moves(before, after)]
    sentences += _trees(before, after)
    if len(sentences) > MOST_SENTENCES:
        left = len(sentences) - MOST_SENTENCES + 1
        sentences = [*sentences[: MOST_SENTENCES - 1], f"And {left} more changes."]
    return sentences


def _choice(before: Plan, after: Plan) -> Iterable[str]:
    if before.version and before.strategy != after.strategy:
        yield f"{_strategy(after)} chooses the trees, before {_strategy(before)}."
    if len(before.nodes) != len(after.nodes):
        count = len(after.nodes)
        yield f"The trees run on {count} {plural('node', 'nodes', count)}, before on {len(before.nodes)}."


def _strategy(plan: Plan) -> str:
    known = STRATEGIES.get(plan.strategy)
    return known.label if known else plan.strategy


def _came_and_went(before: Plan, after: Plan) -> Iterable[str]:
    old, new = _by_id(before), _by_id(after)
    for tree, queries in _grouped((new[id_], place_of(after, id_)) for id_ in new.keys() - old.keys()):
        yield f"{_names(queries)} {plural('is', 'are', len(queries))} new, in tree {tree}."
    for tree, queries in _grouped((old[id_], place_of(before, id_)) for id_ in old.keys() - new.keys()):
        yield f"{_names(queries)} left tree {tree}."


def _moves(before: Plan, after: Plan) -> Iterable[str]:
    old, new = _by_id(before), _by_id(after)
    moved: defaultdict[tuple[str, str], list[AnyQuery]] = defaultdict(list)
    for id_ in old.keys() & new.keys():
        places = place_of(before, id_), place_of(after, id_)
        if places[0] != places[1]:
            moved[places].append(new[id_])
    for (left, entered), queries in sorted(moved.items(), key=lambda item: _order(item[0])):
        yield f"{_names(queries)} moved from tree {left} to tree {entered}."


def _trees(before: Plan, after: Plan) -> Iterable[str]:
    old = {tree.id: tree for tree in before.all_trees}
    new = {tree.id: tree for tree in after.all_trees}
    for tree_id in sorted(new.keys() - old.keys(), key=int):
        yield f"Tree {tree_id} is new: {_described(new[tree_id], after)}."
    gone = sorted(old.keys() - new.keys(), key=int)
    if gone:
        yield f"{plural('Tree', 'Trees', len(gone))} {listed(gone)} {plural('has', 'have', len(gone))} gone."
    for tree_id in sorted(old.keys() & new.keys(), key=int):
        yield from _changes_of_tree(old[tree_id], new[tree_id])


def _changes_of_tree(old: AnyTree, new: AnyTree) -> Iterable[str]:
    if old.node != new.node:
        yield f"Tree {new.id} runs on node {new.node + 1}, before on node {old.node + 1}."
    if isinstance(old, Tree) and isinstance(new, Tree) and old.kernel != new.kernel:
        yield f"Tree {new.id} answers by {kernel_label(new)}, before by {kernel_label(old)}."


def _described(tree: AnyTree, plan: Plan) -> str:
    count = len(tree.queries)
    parts = [f"{count} {plural('window', 'windows', count)}"] if count else ["it feeds other trees"]
    if kernel := kernel_label(tree):
        parts.append(kernel)
    if len(plan.nodes) > 1:
        parts.append(f"node {tree.node + 1}")
    return ", ".join(parts)


def kernel_label(tree: AnyTree) -> str:
    """Empty where a tree has none."""
    return BY_NAME[tree.kernel].label if isinstance(tree, Tree) and tree.kernel else ""


def place_of(plan: Plan, query_id: str) -> str:
    """The id of a query's tree."""
    found = plan.group_tree_of(query_id)
    return found.id if found else plan.tree_of(query_id).id


def _by_id(plan: Plan) -> dict[str, AnyQuery]:
    return {query.id: query for query in plan.all_queries}


def _grouped(placed: Iterable[tuple[AnyQuery, str]]) -> list[tuple[str, list[AnyQuery]]]:
    trees: defaultdict[str, list[AnyQuery]] = defaultdict(list)
    for query, tree in placed:
        trees[tree].append(query)
    return sorted(trees.items(), key=lambda item: int(item[0]))


def _order(places: tuple[str, str]) -> tuple[int, int]:
    return int(places[0]), int(places[1])


def _names(queries: Sequence[AnyQuery]) -> str:
    """`“Latency” (1 m, 5 m) and “Requests” (1 m)`"""
    windows: defaultdict[str, list[str]] = defaultdict(list)
    for query in sorted(queries, key=_by_name_and_length):
        windows[query.name].append(window_length(query))
    return listed([f"“{name}” ({', '.join(Counter(lengths))})" for name, lengths in windows.items()])


def _by_name_and_length(query: AnyQuery) -> tuple[str, int]:
    return query.name, query.window.range if isinstance(query, Query) else 0


def window_length(query: AnyQuery) -> str:
    return spaced(query.window.range) if isinstance(query, Query) else query.window.words


def window_words(query: AnyQuery) -> str:
    if isinstance(query, Query):
        return f"{spaced(query.window.range)} every {spaced(query.window.slide)}"
    return query.window.words


@dataclass(frozen=True)
class Effect:
    """What a plan means for one query that runs already."""

    query: AnyQuery
    window: str
    before: str  # id of its tree
    after: str
    shares_with: int
    load_before: float  # its part of the plan's
    load_after: float
    words: str

    @property
    def moves(self) -> bool:
        return self.before != self.after


def effects(running: PlanLoad, then: PlanLoad) -> list[Effect]:
    """On each window of both plans; those that move first."""
    before, after = running.plan, then.plan
    old, new = running.window_loads(), then.window_loads()
    trees = {tree.id: tree for tree in after.all_trees}
    earlier = {tree.id: tree for tree in before.all_trees}
    found = []
    for query in after.all_queries:
        if query.id not in old:
            continue
        left, entered = place_of(before, query.id), place_of(after, query.id)
        found.append(
            Effect(
                query,
                window_words(query),
                left,
                entered,
                len(trees[entered].queries) - 1,
                old[query.id],
                new[query.id],
                _effect(earlier[left], trees[entered]),
            )
        )
    return sorted(found, key=lambda one: (not one.moves, int(one.after), one.query.name, one.window))


def _effect(left: AnyTree, entered: AnyTree) -> str:
    """What happens to a query's results: architecture.md says why none is lost."""
    if left.id != entered.id:
        return "Moves: windows that are open now are answered from both trees, none is missed."
    if kernel_label(left) != kernel_label(entered):
        return f"Stays; answered by {kernel_label(entered)} from then on."
    if isinstance(left, Tree) and isinstance(entered, Tree) and left.edge_classes != entered.edge_classes:
        return "Stays; its slices are cut at other edges from then on."
    return "Stays as it is."


@dataclass(frozen=True)
class Band:
    """Queries that are together in one tree before and after; positions are of the picture."""

    left: float
    right: float
    height: float
    is_move: bool
    title: str

    @property
    def path(self) -> str:
        x0, x1, mid = LEFT + BAR, RIGHT, (LEFT + BAR + RIGHT) / 2
        low_left, low_right = self.left + self.height, self.right + self.height
        return (
            f"M{x0} {self.left:.1f}C{mid} {self.left:.1f} {mid} {self.right:.1f} {x1} {self.right:.1f}"
            f"V{low_right:.1f}C{mid} {low_right:.1f} {mid} {low_left:.1f} {x0} {low_left:.1f}Z"
        )


@dataclass(frozen=True)
class Post:
    """A tree at one side of the picture."""

    label: str
    top: float
    height: float
    is_changed: bool

    @property
    def middle(self) -> float:
        return self.top + self.height / 2 + 4


@dataclass(frozen=True)
class ChangePicture:
    """Trees before at the left, after at the right, and how many queries go from where to where."""

    before: list[Post]
    after: list[Post]
    bands: list[Band]
    height: float


WIDTH, LEFT, RIGHT, BAR = 560, 150, 401, 9
GAP, LEAST, TOP = 10, 14, 24


def change_picture(before: Plan, after: Plan) -> ChangePicture:
    flows: Counter[tuple[str, str]] = Counter()
    ids = {query.id for query in (*before.all_queries, *after.all_queries)}
    old, new = _by_id(before), _by_id(after)
    for id_ in ids:
        flows[place_of(before, id_) if id_ in old else NEW, place_of(after, id_) if id_ in new else GONE] += 1
    lefts, rights = _side(flows, 0), _side(flows, 1)
    tall = max(len(lefts), len(rights))
    unit = max(1.5, (max(160, 26 * tall) - GAP * tall) / max(1, sum(flows.values())))
    left_posts, right_posts = _posts(lefts, flows, 0, unit), _posts(rights, flows, 1, unit)
    bands: list[Band] = []
    used: defaultdict[tuple[int, str], float] = defaultdict(float)  # of each post's height
    for (left, right), count in sorted(
        flows.items(), key=lambda item: (_rank(item[0][0]), _rank(item[0][1]))
    ):
        height = count * unit
        a, b = left_posts[left].top + used[0, left], right_posts[right].top + used[1, right]
        used[0, left] += height
        used[1, right] += height
        title = f"{count} {plural('window', 'windows', count)}: {_side_label(left)} to {_side_label(right)}"
        bands.append(Band(a, b, height, left != right, title))
    posts = [*left_posts.values(), *right_posts.values()]
    height = max((post.top + post.height for post in posts), default=0) + 6
    return ChangePicture(list(left_posts.values()), list(right_posts.values()), bands, height)


def _side(flows: Collection[tuple[str, str]], side: int) -> list[str]:
    return sorted({flow[side] for flow in flows}, key=_rank)


def _rank(tree: str) -> int:
    return int(tree) if tree.isdigit() else 1_000_000_000


def _posts(trees: Sequence[str], flows: Counter[tuple[str, str]], side: int, unit: float) -> dict[str, Post]:
    posts, top = {}, float(TOP)
    for tree in trees:
        own = {flow: count for flow, count in flows.items() if flow[side] == tree}
        height = sum(own.values()) * unit
        changed = any(left != right for left, right in own)
        posts[tree] = Post(_side_label(tree), top, height, changed)
        top += max(LEAST, height) + GAP
    return posts


def _side_label(tree: str) -> str:
    return {NEW: "New", GONE: "Gone"}.get(tree, f"Tree {tree}")
