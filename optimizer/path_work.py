"""Path work: how many steps a plan makes of each kind, counted before it runs.

Steps are counted per second of event time. A batch cuts slices that it does not end with, so every tree has
one piece more for every batch; and it tells of windows that are not final yet, one or more for each query.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from optimizer.aggregates import AGGREGATES, WIDTH
from optimizer.cost import Statistics, edges_of
from optimizer.durations import UNITS_MS
from optimizer.path_costs import Counts
from optimizer.plan import Plan, Tree
from optimizer.queries import Query
from optimizer.weaving import FamilyKey


def plan_work(plan: Plan, statistics: Statistics) -> Counts:
    """All that a plan takes, kernels aside."""
    of_trees = (tree_work(tree, plan, statistics) for tree in plan.trees)
    return _together([shared_work(plan, statistics), *of_trees])


def _together(parts: Iterable[Counts]) -> dict[str, float]:
    work: defaultdict[str, float] = defaultdict(float)
    for part in parts:
        for step, count in part.items():
            work[step] += count
    return dict(work)


def shared_work(plan: Plan, statistics: Statistics) -> Counts:
    """What is done once for all trees, and folding, which trees share as far as the job can."""
    rate = statistics.rate
    reading = [tree for tree in plan.trees if tree.fed_by is None]
    group_bys = {tree.key.group_by for tree in reading if tree.key.group_by}
    filters = {where for tree in reading for where in (tree.key.where, *tree.key.fragments) if where}
    folded, fed = _folding(reading, statistics)
    return {
        "read": rate,
        "keyed": rate * len(group_bys),
        "joined": rate * sum(len(group_by) > 1 for group_by in group_bys),
        "filtered": rate * len(filters),
        "folded": folded,
        "fed": fed,
        "begun": 1 / statistics.batch_seconds,
    }


def tree_work(tree: Tree, plan: Plan, statistics: Statistics) -> Counts:
    """What a tree takes by itself, its kernel aside; most of it for each column of its partials."""
    work = _together(answer_work(query, tree, statistics) for query in tree.queries)
    if tree.through is not None:
        return work
    if tree.fed_by is not None:
        feeding = plan.tree(tree.fed_by)
        work["fed"] = _rows([feeding], feeding.key, statistics)
    if tree.queries or any(other.through and other.fed_by == tree.id for other in plan.trees):
        batches = 1 / statistics.batch_seconds
        numbers = _columns(tree) * _rows([tree], tree.key, statistics)
        per_shard = _columns(tree) * _shards(tree.key, statistics)
        work["made"] = batches
        work["packed"] = work["gathered"] = numbers
        work["visited"] = per_shard * batches
        work["closed"] = per_shard * _pieces([tree], statistics)
    return work


def answer_work(query: Query, tree: Tree, statistics: Statistics) -> Counts:
    """The part of its tree's work that is one query's alone."""
    answers = _columns(tree) * _answers(query, statistics)
    return {
        "answered": answers * _shards(tree.key, statistics),
        "told": answers * statistics.groups_of(tree.key.group_by),
    }


def _folding(trees: Collection[Tree], statistics: Statistics) -> tuple[float, float]:
    """Events into partials, and partials into those of other trees.

    As in `streaming/common_slices.py`: trees with one filter and group-by whose slices differ are made of
    common partials, unless these are hardly fewer than the events.
    """
    alike: defaultdict[tuple[str, tuple[str, ...], tuple[str, ...]], list[Tree]] = defaultdict(list)
    for tree in trees:
        alike[tree.key.where, tree.key.group_by, tree.key.fragments].append(tree)
    folded = fed = 0.0
    for same in alike.values():
        events = statistics.events_in(same[0].key)
        common = _pieces(same, statistics) * statistics.groups_in(same[0].key)
        differ = len({tree.edge_classes for tree in same}) > 1
        if differ and not same[0].key.fragments and common < statistics.rate / 2:
            kept = {(tree.key.field, tree.key.family): _values(tree) for tree in same}
            folded += events * sum(kept.values())
            fed += len(same) * _rows(same, same[0].key, statistics)
        else:
            folded += events * sum(map(_values, same))
    return folded, fed


def _values(tree: Tree) -> int:
    """How many values each of its partials has besides a count of its events."""
    queries_need = any(AGGREGATES[query.aggregate].needs_value for query in tree.queries)
    return WIDTH.get(tree.key.family, 1) if queries_need or not tree.queries else 0


def _columns(tree: Tree) -> int:
    """How many columns its partials have: events, those with a value, and what is kept of the values."""
    return 2 + _values(tree)


def _pieces(trees: Sequence[Tree], statistics: Statistics) -> float:
    """Slices a second that serve all these trees, cut where batches end."""
    windows = {window for tree in trees for window in tree.windows}
    return edges_of(windows) + 1 / statistics.batch_seconds


def _rows(trees: Sequence[Tree], key: FamilyKey, statistics: Statistics) -> float:
    """Partials a second: of every group in every piece, but no more than there are events."""
    return min(_pieces(trees, statistics) * statistics.groups_in(key), statistics.events_in(key))


def _answers(query: Query, statistics: Statistics) -> float:
    """Windows a second that are told of: those that end, and in every batch the one in progress."""
    return UNITS_MS["s"] / query.window.slide + 1 / statistics.batch_seconds


def _shards(key: FamilyKey, statistics: Statistics) -> float:
    """How many shards have groups of it, about; the job has one for each core."""
    shards, groups = statistics.calibration.cores, statistics.groups_of(key.group_by)
    return shards * (1 - (1 - 1 / shards) ** groups)
