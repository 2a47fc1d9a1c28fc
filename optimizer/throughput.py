"""Throughput: the busy seconds that a plan takes on this machine, and so the rate that it keeps up with.

They come from measured times (`Calibration`), whichever model the plan was made with: from what each step of
the data path was measured to take (`optimizer/path_costs.py`) where it was, else from the few numbers that
plans are costed by.
"""

from collections import Counter
from dataclasses import dataclass, replace

from optimizer.aggregates import WIDTH, least_invertible
from optimizer.cost import Statistics, answer_rate, group_cost_per_event
from optimizer.durations import UNITS_MS
from optimizer.group_trees import GroupTree
from optimizer.kernels import BY_NAME
from optimizer.measured_kernels import MeasuredKernels
from optimizer.path_costs import PathCosts
from optimizer.path_work import answer_work, shared_work, tree_work
from optimizer.plan import Plan, Tree

MOST_EVENTS = 1e12  # a second: what no machine reads
CLOSE = 1e-9


@dataclass(frozen=True)
class Busy:
    """Busy seconds a second at the measured rate."""

    shared: float  # once for all trees
    trees: dict[str, float]  # by tree of either kind, what it takes by itself

    @property
    def total(self) -> float:
        return self.shared + sum(self.trees.values())


def busy(plan: Plan, statistics: Statistics) -> Busy:
    path = statistics.calibration.path
    if path is None:
        shared = statistics.rate * statistics.calibration.seconds_per_event
        trees = {tree.id: _by_units(tree, plan, statistics) for tree in plan.trees}
    else:
        shared = path.of(shared_work(plan, statistics))
        trees = {tree.id: _by_steps(tree, plan, statistics, path) for tree in plan.trees}
    grouped = {tree.id: statistics.rate * _group_tree_seconds(tree, statistics) for tree in plan.group_trees}
    return Busy(shared, trees | grouped)


def load(plan: Plan, statistics: Statistics) -> float:
    """The fraction of the cores' time that the plan takes at the measured rate; above 1 it falls behind."""
    return busy(plan, statistics).total / statistics.calibration.cores


def estimated_throughput(plan: Plan, statistics: Statistics) -> float:
    """The highest rate, in events per second, that the plan can keep up with."""
    if statistics.calibration.path is not None:
        return _rate_of_full_load(plan, statistics)
    idle = load(plan, replace(statistics, rate=0.0))
    return max(0.0, (1 - idle) / (load(plan, replace(statistics, rate=1.0)) - idle))


def catching_up_rate(plan: Plan, statistics: Statistics) -> float:
    """Events per second that it takes of a backlog in which a second brought the measured rate."""
    return statistics.rate / load(plan, statistics)


def answer_seconds(tree: Tree, statistics: Statistics) -> dict[str, float]:
    """Busy seconds a second of each query's own answers."""
    path = statistics.calibration.path
    if path is not None:
        return {query.id: path.of(answer_work(query, tree, statistics)) for query in tree.queries}
    asked = Counter(query.window for query in tree.queries)  # one answer for several with the same window
    per_answer = statistics.calibration.unit_costs.result * statistics.groups_in(tree.key)
    return {
        query.id: per_answer * UNITS_MS["s"] / query.window.slide / asked[query.window]
        for query in tree.queries
    }


def kernel_seconds(tree: Tree, statistics: Statistics) -> float:
    """What a tree's kernel takes a second, over all groups."""
    return tree.edge_rate * statistics.groups_in(tree.key) * _seconds_per_edge(tree, statistics)


def _by_units(tree: Tree, plan: Plan, statistics: Statistics) -> float:
    unit = statistics.calibration.unit_costs
    groups = statistics.groups_in(tree.key)
    answers = answer_rate({query.window for query in tree.queries})
    seconds = groups * (unit.row * tree.edge_rate + unit.result * answers) + kernel_seconds(tree, statistics)
    if tree.fed_by is None:
        return seconds + unit.fold * statistics.events_in(tree.key)
    if tree.through is None:
        feeding = plan.tree(tree.fed_by)
        seconds += unit.fold * feeding.edge_rate * statistics.groups_in(feeding.key)
    return seconds


def _by_steps(tree: Tree, plan: Plan, statistics: Statistics, path: PathCosts) -> float:
    return path.of(tree_work(tree, plan, statistics)) + kernel_seconds(tree, statistics)


def _group_tree_seconds(tree: GroupTree, statistics: Statistics) -> float:
    """Busy seconds of a group tree for each event of the source: without events it does nothing."""
    unit = statistics.calibration.unit_costs
    return statistics.share_of(tree.key) * group_cost_per_event(tree.window, tree.key, unit)


def _seconds_per_edge(tree: Tree, statistics: Statistics) -> float:
    """What a tree's kernel takes for one group."""
    costs = statistics.calibration.kernels
    if costs is not None and tree.kernel and tree.through is None:
        algebra = least_invertible({query.aggregate for query in tree.queries})
        groups = statistics.groups_in(tree.key)
        measured = MeasuredKernels([BY_NAME[tree.kernel]], costs, algebra, groups)
        if measured.kernels:
            answered = {query.window for query in tree.queries}
            seconds = measured.cheapest(answered, tree.edge_rate)[1]
            return seconds * WIDTH.get(tree.key.family, 1)
    return statistics.calibration.seconds_per_step * tree.omega


def _rate_of_full_load(plan: Plan, statistics: Statistics) -> float:
    """Between two rates that it lies between, where load would be full if it grew evenly, then halfway.

    Load grows evenly but for where every slice comes to have every group, and trees to have common partials.
    """

    def to_spare(rate: float) -> float:
        return 1 - load(plan, replace(statistics, rate=rate))

    low, high = 0.0, max(1.0, statistics.rate)
    at_low, at_high = to_spare(low), to_spare(high)
    if at_low <= 0:
        return 0.0
    while at_high > 0 and high < MOST_EVENTS:
        low, at_low, high = high, at_high, 4 * high
        at_high = to_spare(high)
    while high - low > CLOSE * high:
        for rate in (low + (high - low) * at_low / (at_low - at_high), (low + high) / 2):
            spare = to_spare(rate)
            if abs(spare) < CLOSE:
                return rate
            if low < rate < high:
                low, at_low, high, at_high = (
                    (rate, spare, high, at_high) if spare > 0 else (low, at_low, rate, spare)
                )
    return low
