"""Measured costs of trees: nothing of a batch's time is lost or doubled."""

import pytest

from dashboard.live.batches import Batch, TreeWork
from dashboard.planning.work import estimated_work, measured_work, tree_throughput
from optimizer import Statistics, optimize
from optimizer.plan import Plan
from optimizer.queries import Query
from optimizer.throughput import busy
from optimizer.windows import Window

KNOWN = Statistics(rate=2_000)


def plan_of_two() -> Plan:
    queries = [
        Query("a@1m", "a", "max", "temp", Window(60_000, 10_000)),
        Query("b@1m", "b", "p95", "temp", Window(60_000, 10_000), ("device",)),
    ]
    plan = optimize(queries, KNOWN, source="s", version=4)
    assert len(plan.trees) == 2
    return plan


def batch(number: int, plan: int = 4, **trees: TreeWork) -> Batch:
    return Batch(
        number=number, clock=1_000_000 + number * 1_000, plan=plan, watermark=None, max_event_time=None,
        events=2_000, malformed=0, late=0, future=0, past=0, map_seconds=0.06, shard_seconds=0.04,
        kernel_seconds=0.01, partials=10, kernel_steps=10, state_bytes=None, trees=trees,
    )  # fmt: skip


def test_estimates_of_trees_add_up_to_the_plans() -> None:
    plan = plan_of_two()
    found = estimated_work(plan, KNOWN)
    assert sum(tree.total for tree in found.values()) == pytest.approx(busy(plan, KNOWN).total)
    assert all(tree.answers >= 0 and tree.rest >= 0 for tree in found.values())


def test_measured_costs_add_up_to_what_batches_took() -> None:
    plan = plan_of_two()
    first, second = (tree.id for tree in plan.trees)
    work = {first: TreeWork(seconds=0.002), second: TreeWork(seconds=0.012, groups=7, state_bytes=99)}
    batches = [batch(number, **work) for number in range(11)]
    found = measured_work(plan, batches, estimated_work(plan, KNOWN))
    assert sum(tree.cost for tree in found.values()) == pytest.approx(0.1)  # of 1 s batches that took 0.1 s
    assert sum(tree.share for tree in found.values()) == pytest.approx(1)
    assert (found[second].groups, found[second].state_bytes) == (7, 99)
    assert found[second].cost > found[first].cost


def test_batches_of_another_plan_tell_nothing_of_this_one() -> None:
    plan = plan_of_two()
    assert measured_work(plan, [batch(n, plan=3) for n in range(9)], estimated_work(plan, KNOWN)) == {}
    assert measured_work(plan, [], estimated_work(plan, KNOWN)) == {}


def test_a_tree_alone_could_take_more_than_all_together() -> None:
    plan = plan_of_two()
    first, second = (tree.id for tree in plan.trees)
    batches = [batch(n, **{first: TreeWork(seconds=0.01), second: TreeWork(seconds=0.03)}) for n in range(60)]
    estimates = estimated_work(plan, KNOWN)
    points = tree_throughput(first, plan, batches, estimates, cores=2)
    whole = 2_000 / 0.1 * 2
    assert len(points) == 4  # spans of 15 s, the newest left out
    assert all(capacity > whole for _, capacity in points)
    parts = [tree_throughput(tree, plan, batches, estimates, 2)[0][1] for tree in (first, second)]
    assert 1 / sum(1 / part for part in parts) == pytest.approx(whole)
