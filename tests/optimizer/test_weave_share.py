from collections.abc import Iterable, Sequence
from itertools import combinations, count

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.optimizer.workloads import Setting, as_queries, windows_of
from optimizer import weaver
from optimizer.cost import Calibration, FamilyCosts, Statistics, edges_of
from optimizer.kernels import BY_NAME, KERNELS, Kernel
from optimizer.omegas import LEAST_KEPT, PER_RANGE, PER_WINDOW, Omegas
from optimizer.strategies.weave_share import weave_share
from optimizer.weaver import weave
from optimizer.windows import Window
from optimizer.workload import Workload
from tests.optimizer.cases import SLIDES, query

Trees = set[frozenset[Window]]

SHARING = [kernel for kernel in KERNELS if kernel.many]
window_sets = st.frozensets(
    st.builds(
        lambda slide, more: Window((slide + more) * 1000, slide * 1000),
        st.sampled_from(SLIDES),
        st.sampled_from([0, 1, 5, 10, 20, 30, 60]),
    ),
    min_size=1,
    max_size=9,
)
rates = st.sampled_from([0.0, 0.5, 3.0, 40.0, 1000.0])


def family_costs(windows: Iterable[Window], kernel: str | None, statistics: Statistics) -> FamilyCosts:
    aggregate = next(name for name in ("sum", "max", "count") if not kernel or BY_NAME[kernel].allows(name))
    return FamilyCosts(as_queries(windows, aggregate), statistics)


def literal_weave(
    windows: Sequence[Window], costs: FamilyCosts, at_least: int = 1, at_most: int | None = None
) -> Trees:
    """The algorithm as SAVINGS 2.4 lists it: all pairs of trees, the best merge, until none saves.

    Savings that differ by rounding alone are taken as equal, and the first pair in order of age goes first.
    """
    trees = {number: frozenset({window}) for number, window in enumerate(windows)}
    totals = {number: costs.tree(tree).total for number, tree in trees.items()}
    digits = 1e-13 * sum(totals.values()) or 1.0  # where all is free, nothing can be saved
    as_one: dict[tuple[int, int], float] = {}
    for merged in count(len(trees)):
        if len(trees) <= at_least:
            break
        savings = {}
        for one, other in combinations(sorted(trees), 2):
            if (one, other) not in as_one:
                as_one[one, other] = costs.tree(trees[one] | trees[other]).total
            saving = totals[one] + totals[other] - as_one[one, other]
            savings[one, other] = round(saving / digits)
        pair = max(savings, key=savings.__getitem__)
        if savings[pair] <= 0 and (at_most is None or len(trees) <= at_most):
            break
        trees[merged] = trees.pop(pair[0]) | trees.pop(pair[1])
        totals[merged] = as_one[pair]
    return set(trees.values())


@pytest.mark.parametrize("kernel", SHARING, ids=lambda kernel: kernel.name)
@settings(max_examples=30)
@given(windows=window_sets, rate=rates)
@example(windows=frozenset({Window(1_000, 1_000), Window(2_000, 2_000)}), rate=0.0)
def test_weaving_merges_as_the_literal_algorithm_does(
    kernel: Kernel, windows: frozenset[Window], rate: float
) -> None:
    ordered = sorted(windows)
    costs = family_costs(ordered, kernel.name, Statistics(rate=rate, kernel=kernel.name))
    assert set(weave([[window] for window in ordered], costs)) == literal_weave(ordered, costs)


@given(window_sets, rates, st.integers(1, 5))
def test_weaving_to_a_number_of_trees_goes_on_at_a_loss(
    windows: frozenset[Window], rate: float, trees: int
) -> None:
    ordered = sorted(windows)
    costs = family_costs(ordered, None, Statistics(rate=rate))
    woven = weave([[window] for window in ordered], costs, at_least=trees, at_most=trees)
    assert len(woven) == min(trees, len(ordered))
    assert set(woven) == literal_weave(ordered, costs, trees, trees)


@given(window_sets, rates, st.integers(1, 5))
def test_weaving_can_stop_at_a_number_of_trees(windows: frozenset[Window], rate: float, trees: int) -> None:
    ordered = sorted(windows)
    costs = family_costs(ordered, "panes", Statistics(rate=rate, kernel="panes"))
    woven = weave([[window] for window in ordered], costs, at_least=trees)
    assert set(woven) == literal_weave(ordered, costs, trees)


@settings(max_examples=30)
@given(window_sets, rates)
def test_rows_that_cost_something_change_the_plan_as_they_do_in_the_literal_algorithm(
    windows: frozenset[Window], rate: float
) -> None:
    calibration = Calibration(seconds_per_row=4e-8, seconds_per_result=1e-6)
    ordered = sorted(windows)
    for kernel in (None, "panes"):
        statistics = Statistics(rate=rate, kernel=kernel, model="calibrated", calibration=calibration)
        costs = family_costs(ordered, kernel, statistics)
        assert set(weave([[window] for window in ordered], costs)) == literal_weave(ordered, costs)


@pytest.mark.parametrize(
    ("kernel", "aggregate"), [(None, "sum"), (None, "max"), ("panes", "sum"), ("flatfat", "sum")]
)
@pytest.mark.parametrize(
    "setting",
    [
        Setting(40, 100, rate=1, skew=1, largest_overlap=50),
        Setting(40, 60, rate=10, largest_overlap=9, fragments=True),
        Setting(40, 120, rate=3, largest_overlap=20, slides="factors"),
    ],
)
def test_forty_queries_are_woven_as_the_literal_algorithm_does(
    kernel: str | None, aggregate: str, setting: Setting
) -> None:
    windows = sorted(set(windows_of(setting, seed=5)))
    costs = FamilyCosts(as_queries(windows, aggregate), Statistics(rate=setting.rate, kernel=kernel))
    assert set(weave([[window] for window in windows], costs)) == literal_weave(windows, costs)


def test_a_window_that_ends_half_a_slide_on_has_the_edges_of_a_slide_half_as_long() -> None:
    windows = [Window(2000, 2000), Window(4000, 4000), Window(6000, 4000), Window(8000, 2000)]
    costs = FamilyCosts(as_queries(windows), Statistics(rate=0.001, kernel="panes"))
    assert set(weave([[window] for window in windows], costs)) == literal_weave(windows, costs)
    assert frozenset({windows[0], windows[2], windows[3]}) in weave([[window] for window in windows], costs)


def test_sets_too_large_for_a_table_of_pairs_start_with_equal_edges_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(weaver, "MOST_STARTS", 4)
    windows = [Window(turns * slide * 1000, slide * 1000) for slide in (7, 11, 13) for turns in (1, 2, 3)]
    costs = FamilyCosts(as_queries(windows, "max"), Statistics(rate=1e-9))
    assert set(weave([[window] for window in windows], costs)) == {
        frozenset(windows[:3]),
        frozenset(windows[3:6]),
        frozenset(windows[6:]),
    }


def test_windows_whose_kernel_cannot_share_stay_apart() -> None:
    windows = [Window(60_000, 10_000), Window(30_000, 10_000)]
    costs = FamilyCosts(as_queries(windows), Statistics(rate=1000, kernel="two_stacks"))
    assert weave([[window] for window in windows], costs) == [{window} for window in windows]


def test_identical_slides_start_together_where_that_is_asked_for_and_their_fragments_agree() -> None:
    queries = (query("a", 31, 10), query("b", 41, 10), query("c", 20, 20), query("d", 32, 10))
    apart = weave_share(Workload(queries, Statistics(rate=0.0)))
    together = weave_share(Workload(queries, Statistics(rate=0.0), same_slides_together=True))
    assert len(apart) == 4
    a, b, c, d = (query.window for query in queries)
    assert {group.windows for group in together} == {frozenset({a, b}), frozenset({c}), frozenset({d})}


@pytest.mark.parametrize("name", [*PER_WINDOW, *PER_RANGE])
@given(one=window_sets, other=window_sets)
def test_the_omega_of_two_trees_as_one_is_that_of_their_windows(
    name: str, one: frozenset[Window], other: frozenset[Window]
) -> None:
    kernel, other = BY_NAME[name], other - one
    omegas = Omegas([kernel], [one, other], room=3)
    omegas.add_start(0, one, 1.0)
    omegas.add_start(1, other, 1.0)
    edges = edges_of(one | other)
    expected = edges * kernel.omega(one | other, edges)
    assert omegas.work(np.array([0]), np.array([1]), np.array([edges]))[0] == pytest.approx(expected)
    omegas.add_merged(2, 0, 1, one | other, edges)
    assert omegas.work(np.array([2]), np.array([2]), np.array([edges]))[0] >= expected - 1e-9


@pytest.mark.parametrize("kernel", SHARING, ids=lambda kernel: kernel.name)
@given(windows=window_sets, added=window_sets, edges=st.floats(0.01, 5), more=st.floats(1, 3))
def test_more_windows_and_more_edges_never_take_less_work(
    kernel: Kernel, windows: frozenset[Window], added: frozenset[Window], edges: float, more: float
) -> None:
    least = edges * kernel.omega(windows, edges) * LEAST_KEPT.get(kernel.name, 1.0)
    assert more * edges * kernel.omega(windows | added, more * edges) >= least - 1e-9
