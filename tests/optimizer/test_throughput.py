"""Throughput from the steps of the data path: what is counted, what is fitted, what follows."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer import Statistics, optimize
from optimizer.cost import Calibration
from optimizer.estimates import query_estimates, tree_estimates
from optimizer.path_costs import MAP_STEPS, SHARD_STEPS, Metered, PathCosts, fitted
from optimizer.path_work import shared_work, tree_work
from optimizer.planning import planned
from optimizer.queries import Query
from optimizer.throughput import busy, catching_up_rate, estimated_throughput, load
from optimizer.windows import Window
from optimizer.workload import Group, Workload
from tests.optimizer.cases import query, query_sets

STEPS = (*MAP_STEPS, *SHARD_STEPS)
seconds = st.floats(1e-9, 1e-5)
path_costs = st.builds(PathCosts, **dict.fromkeys(STEPS, seconds))
measured = st.builds(
    Statistics,
    rate=st.sampled_from([3.0, 1000.0, 1e5]),
    groups=st.sampled_from([{}, {("device",): 5000, ("site",): 7}]),
    passing=st.sampled_from([{}, {"status = 'ok'": 0.25}]),
    calibration=st.builds(Calibration, path=path_costs, cores=st.integers(1, 8)),
    batch_seconds=st.sampled_from([0.2, 1.0, 5.0]),
)


def known(**seconds_of_steps: float) -> Statistics:
    """A thousand events a second of fifty devices, in batches of two seconds, on two shards."""
    calibration = Calibration(path=PathCosts(**seconds_of_steps), cores=2, seconds_per_step=0.0)
    groups = {("device",): 50, ("site",): 4, ("device", "site"): 50}
    return Statistics(1000.0, groups, {"ok": 0.5}, calibration=calibration, batch_seconds=2.0)


def test_every_step_has_its_seconds() -> None:
    assert set(STEPS) == set(asdict(PathCosts()))


@given(path_costs, st.integers(0, 1000))
def test_fitting_finds_the_costs_that_meters_were_made_of(costs: PathCosts, seed: int) -> None:
    drawn = np.random.default_rng(seed).exponential(1000.0, size=(60, len(STEPS)))
    metered = []
    for row in drawn.tolist():
        counts = dict(zip(STEPS, row, strict=True))
        taken = [costs.of({step: counts[step] for step in side}) for side in (MAP_STEPS, SHARD_STEPS)]
        metered.append(Metered(counts, *taken))
    found = fitted(metered)
    usual = max(asdict(costs).values())  # what takes next to nothing beside the rest cannot be told as well
    for step, value in asdict(costs).items():
        assert getattr(found, step) == pytest.approx(value, rel=1e-3, abs=1e-4 * usual)


def test_steps_that_cost_nothing_or_never_came_are_fitted_as_nothing() -> None:
    rows = [(1.0, 5.0), (2.0, 1.0), (4.0, 3.0)]
    # More partials, less time: no step takes less than nothing.
    metered = [Metered({"read": read, "packed": rows_}, 2 * read - 0.01 * rows_, 1.0) for read, rows_ in rows]
    found = fitted(metered)
    assert found.packed == found.fed == 0
    assert found.read == pytest.approx(2, rel=0.05)


def test_the_steps_of_a_plan_written_out() -> None:
    hot, wet = query("hot", 60, 10, "max", ("device",)), query("wet", 30, 5, "range", ("device",))
    here = query("here", 20, 20, "count", ("device", "site"), "ok")
    statistics = known()
    plan = optimize([hot, wet, here], statistics, source="s", strategy="no_share")
    shared = shared_work(plan, statistics)
    assert shared == {
        "read": 1000,
        "keyed": 2 * 1000,
        "joined": 1000,
        "filtered": 1000,
        "folded": 3 * 1000,  # a greatest, and a greatest and a least; a count is not of values
        "fed": 2 * (1 / 5 + 1 / 2) * 50,  # both of the partials of slices that end every five seconds
        "begun": 1 / 2,
    }
    # Events, those with a value, and what is kept of the values: nothing, a greatest, or that and a least.
    for asked, columns, groups, slide, share in (
        (hot, 3, 50, 10, 1),
        (wet, 4, 50, 5, 1),
        (here, 2, 50, 20, 0.5),
    ):
        pieces = 1 / slide + 1 / 2
        work = tree_work(plan.tree_of(asked.id), plan, statistics)
        assert pieces * groups < 1000 * share
        assert work == {
            "made": 1 / 2,
            "packed": pytest.approx(columns * pieces * groups),
            "visited": pytest.approx(columns * 2 / 2),  # two shards, every two seconds
            "gathered": pytest.approx(columns * pieces * groups),
            "closed": pytest.approx(columns * 2 * pieces),
            "answered": pytest.approx(columns * 2 * pieces),  # one window, as often as its slices
            "told": pytest.approx(columns * pieces * groups),
        }


def test_partials_are_no_more_than_events() -> None:
    alone = query("alone", 60, 1, "max", ("device",))
    statistics = replace(known(), rate=20.0)
    plan = optimize([alone], statistics, source="s")
    assert tree_work(plan.trees[0], plan, statistics)["packed"] == 3 * 20.0


def test_a_single_group_is_in_one_shard() -> None:
    plan = optimize([query("all", 60, 1, "max")], known(), source="s")
    assert tree_work(plan.trees[0], plan, known())["closed"] == pytest.approx(3 * (1 + 1 / 2))


def test_trees_that_are_fed_take_partials_in_place_of_events() -> None:
    one, other = query("a", 60, 10), query("b", 50, 20)
    feeding = Group((), Group.of([one]).key, added_windows=(Window(10_000, 10_000),))
    groups = [feeding, Group((one,), feeding.key, feed=0), Group((other,), feeding.key, feed=0)]
    statistics = known()
    workload = Workload((one, other), statistics)
    plan = planned(groups, workload, source="s", version=1, strategy="triweave", previous=None)
    rows = 1 / 10 + 1 / 2
    assert shared_work(plan, statistics)["folded"] == 1000
    for tree in plan.trees:
        work = tree_work(tree, plan, statistics)
        assert work.get("fed", 0.0) == pytest.approx(rows if tree.queries else 0.0)
        assert ("packed" in work) == bool(tree.queries)  # what only feeds others stays where it is


def test_seconds_of_steps_make_load_and_rates() -> None:
    plan = optimize([query("a", 60, 10)], known(), source="s")
    reading = known(read=1e-4, folded=1e-4)
    assert load(plan, reading) == pytest.approx(1000 * 2e-4 / 2)
    assert estimated_throughput(plan, reading) == pytest.approx(2 / 2e-4)
    answering = known(read=1e-4, begun=0.5)
    assert load(plan, answering) == pytest.approx((1000 * 1e-4 + 0.5 / 2) / 2)
    assert estimated_throughput(plan, answering) == pytest.approx((2 - 0.25) / 1e-4)
    assert catching_up_rate(plan, answering) == pytest.approx(1000 * 2 / (1000 * 1e-4 + 0.25))
    assert estimated_throughput(plan, known(read=1e-4, begun=5.0)) == 0


@given(query_sets(), measured)
def test_queries_over_other_groups_never_make_a_plan_faster(
    queries: list[Query], statistics: Statistics
) -> None:
    more = [*queries, query("more", 60, 10, "max", ("site",)), query("other", 50, 20, "sum", ("site",))]
    for strategy in ("no_share", "weave_share", "triweave"):
        fewer_plan = optimize(queries, statistics, source="s", strategy=strategy)
        plan = optimize(more, statistics, source="s", strategy=strategy)
        assert load(plan, statistics) > load(fewer_plan, statistics)
        assert catching_up_rate(plan, statistics) < catching_up_rate(fewer_plan, statistics)


@given(query_sets(), measured)
def test_loads_add_up_and_are_full_at_the_highest_rate(queries: list[Query], statistics: Statistics) -> None:
    plan = optimize(queries, statistics, source="s")
    of_trees = sum(estimate.load for estimate in tree_estimates(plan, statistics).values())
    shared = busy(plan, statistics).shared / statistics.calibration.cores
    assert shared + of_trees == pytest.approx(load(plan, statistics))
    if queries:
        of_queries = sum(estimate.load for estimate in query_estimates(plan, statistics).values())
        assert of_queries == pytest.approx(load(plan, statistics))
    # Not quite one where common partials come to be worth it at just that rate, and load makes a step.
    highest = estimated_throughput(plan, statistics)
    assert load(plan, replace(statistics, rate=highest * (1 + 1e-7))) >= 1 - 1e-6
    if highest:
        assert load(plan, replace(statistics, rate=highest * (1 - 1e-7))) <= 1 + 1e-6


@given(measured)
def test_what_was_fitted_comes_back_from_json(statistics: Statistics) -> None:
    assert Statistics.from_json(json.loads(json.dumps(statistics.to_json()))) == statistics


@pytest.mark.parametrize("value", [-1e-9, float("nan"), float("inf")])
def test_seconds_that_cannot_be_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="The seconds of the step “told” must be a number not below zero"):
        PathCosts(told=value)


@pytest.mark.parametrize("value", [None, [], {"guessed": 1.0}])
def test_what_are_no_path_costs_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="Path costs are an object with seconds for"):
        PathCosts.from_json(value)


def test_a_batch_without_length_is_refused() -> None:
    with pytest.raises(ValueError, match="A batch must bring some seconds of event time, not 0"):
        Statistics(batch_seconds=0)
