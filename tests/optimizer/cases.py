"""Queries to plan, and costs worked out again by plain enumeration."""

from collections.abc import Iterable, Sequence
from math import lcm

from hypothesis import strategies as st

from optimizer.cost import Statistics
from optimizer.plan import Plan, Tree
from optimizer.queries import Query
from optimizer.windows import Window

SLIDES = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20]  # seconds; their composite slide is two minutes


def query(
    name: str,
    seconds: int,
    slide: int,
    aggregate: str = "sum",
    group_by: tuple[str, ...] = (),
    where: str | None = None,
    field: str = "temp",
) -> Query:
    window = Window(seconds * 1000, slide * 1000)
    return Query(f"{name}@{seconds}s/{slide}s", name, aggregate, field, window, group_by, where)


@st.composite
def query_sets(draw: st.DrawFn) -> list[Query]:
    """A few queries, some of which may share a tree and some of which may not."""
    queries = []
    for number in range(draw(st.integers(0, 9))):
        slide = draw(st.sampled_from(SLIDES))
        queries.append(
            query(
                f"q{number}",
                slide + draw(st.integers(0, 60)),
                slide,
                draw(st.sampled_from(["count", "sum", "mean", "min", "max"])),
                draw(st.sampled_from([(), ("device",)])),
                draw(st.sampled_from([None, "status = 'ok'"])),
            )
        )
    return queries


statistics_sets = st.builds(
    Statistics,
    rate=st.sampled_from([0.0, 0.5, 3.0, 40.0, 1000.0]),
    groups=st.sampled_from([{}, {("device",): 1}, {("device",): 5000}]),
)


def edges_per_second(windows: Iterable[Window]) -> float:
    """Edges counted one by one over a whole composite slide, in ticks of a second."""
    seconds = [(window.range // 1000, window.slide // 1000) for window in windows]
    span = lcm(*(slide for _, slide in seconds))
    edges = {
        instant % span
        for length, slide in seconds
        for start in range(0, span, slide)
        for instant in (start, start + length)
    }
    return len(edges) / span


def cost_by_enumeration(group: Sequence[Query], statistics: Statistics) -> float:
    """λ + E·Ω for every group, with Ω written out for the kernels that the job has."""
    windows = {query.window for query in group}
    rate = edges_per_second(windows)
    groups = statistics.groups.get(group[0].group_by, 100) if group[0].group_by else 1
    selective = group[0].aggregate in ("min", "max")
    return statistics.rate + rate * least_omega(windows, rate, selective) * groups


def least_omega(windows: set[Window], rate: float, selective: bool) -> float:
    omegas: list[float] = [3 * len(windows)]
    if selective:
        longest = max(1.0, rate * max(window.range for window in windows) / 1000)
        deque, term = 0.0, 1.0
        for i in range(1, round(longest) + 1):
            term /= i
            deque += term
        omegas.append(2 - 2 / longest + len(windows) + deque)
    else:
        omegas.append(2 * len({window.range for window in windows}))
    return min(omegas)


def plan_cost_by_enumeration(plan: Plan, statistics: Statistics) -> list[float]:
    """What each tree of a plan costs in the papers' model, by what it is made of."""
    trees = {tree.id: tree for tree in plan.trees}
    passed_on = {(tree.fed_by, tree.through) for tree in plan.trees}

    def partials(tree: Tree) -> int:
        fields = tree.key.group_by
        counted = statistics.groups.get(fields, 100 ** len(fields))
        return counted * 2 ** len(tree.key.fragments)

    costs = []
    for tree in plan.trees:
        if tree.through is not None:
            (window,) = tree.windows
            spans = (window.range - tree.through.range) // tree.through.slide + 1
            costs.append(1000 / window.slide * spans * partials(tree))
            continue
        feeding = trees[tree.fed_by] if tree.fed_by else None
        read = statistics.rate if feeding is None else edges_per_second(feeding.windows) * partials(feeding)
        answered = {query.window for query in tree.queries}
        answered |= {w for w in tree.added_windows if (tree.id, w) in passed_on and w.range != w.slide}
        rate = edges_per_second(tree.windows)
        selective = tree.key.family in ("min", "max")
        omega = least_omega(answered, rate, selective) if answered else 0.0
        costs.append(read + rate * omega * partials(tree))
    return costs


def members(trees: Iterable[Tree]) -> set[frozenset[str]]:
    return {frozenset(query.id for query in tree.queries) for tree in trees}
