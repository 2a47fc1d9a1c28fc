"""Steps of the data path as the optimizer counts them beforehand, and as the job's meters tell them."""

from pathlib import Path

import pytest

from benchmarks.engine.in_process import Backlog, run
from benchmarks.engine.mixed_workloads import PER_BATCH, backlog, drawn
from optimizer.path_work import plan_work, shared_work, tree_work
from streaming.lanes import Signature
from streaming.path_costs import measured_path

FEW_DEVICES = 200  # every one of them speaks in every slice


@pytest.fixture(scope="module")
def messages() -> Backlog:
    return backlog(FEW_DEVICES, batches=2)


FEW = [number for number in range(30) if drawn(number).devices == FEW_DEVICES][:8]


@pytest.mark.parametrize("number", FEW)
def test_partials_are_foreseen(messages: Backlog, number: int) -> None:
    workload = drawn(number)
    plan, statistics = workload.plan(), workload.statistics
    took = run(plan, messages)[-1]
    columns = {tree.id: len(Signature.of(tree.queries).parts) + 2 for tree in plan.trees if tree.queries}
    foreseen = statistics.batch_seconds * sum(
        tree_work(plan.tree(tree), plan, statistics)["packed"] / count for tree, count in columns.items()
    )
    assert took.events == PER_BATCH
    assert took.partials == pytest.approx(foreseen, rel=0.01)


@pytest.mark.parametrize("number", FEW)
def test_the_work_of_a_plan_is_that_of_its_trees_and_what_they_share(number: int) -> None:
    workload = drawn(number)
    plan, statistics = workload.plan(), workload.statistics
    parts = [shared_work(plan, statistics), *(tree_work(tree, plan, statistics) for tree in plan.trees)]
    for step, count in plan_work(plan, statistics).items():
        assert count == pytest.approx(sum(part.get(step, 0.0) for part in parts)), step


def test_nothing_fitted_is_no_path(tmp_path: Path) -> None:
    assert measured_path(tmp_path / "missing.json") is None


def test_a_file_that_no_benchmark_wrote_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "path_costs.json"
    file.write_text('{"guessed": 1}')
    with pytest.raises(ValueError, match="holds no path costs: Path costs are an object with seconds for"):
        measured_path(file)


def test_what_was_fitted_is_read() -> None:
    path = measured_path()
    assert path is not None
    assert path.read > 0
