"""Why a tree has its kernel, in words: what others would take, and why some cannot serve."""

from dataclasses import replace

from optimizer import Statistics, optimize
from optimizer.kernel_choice import rivals, why_this_kernel
from optimizer.plan import Tree
from optimizer.queries import Query
from optimizer.windows import Window


def tree_of(aggregate: str, *minutes: int) -> Tree:
    queries = [
        Query(f"q@{m}", "q", aggregate, "temp", Window(m * 60_000, 10_000), ("device",)) for m in minutes
    ]
    (tree,) = optimize(queries, Statistics(), strategy="all_shared").trees
    return tree


def test_the_tree_runs_on_the_first_of_its_rivals() -> None:
    for aggregate in ("mean", "max", "p95"):
        tree = tree_of(aggregate, 1, 5, 15)
        assert rivals(tree, Statistics())[0].kernel.name == tree.kernel
        costs = [rival.cost for rival in rivals(tree, Statistics())]
        assert costs == sorted(costs)


def test_others_are_named_with_what_they_would_take() -> None:
    told = why_this_kernel(tree_of("mean", 1, 5), Statistics())
    assert told.startswith("SlickDeque (Inv) takes ")
    assert "operations an edge, the least of 2; FlatFIT" in told
    assert told.endswith("Not SlickDeque (Non-Inv): mean is not selective.")


def test_a_kernel_without_rivals_says_so() -> None:
    told = why_this_kernel(tree_of("p95", 1, 5), Statistics())
    assert "FlatFIT" in told
    assert "no other can answer these queries" in told
    assert "not invertible" in told


def test_a_kernel_that_would_not_be_taken_now_says_what_would() -> None:
    tree = replace(tree_of("mean", 1, 5), kernel="flatfit")
    assert "; SlickDeque (Inv) would take" in why_this_kernel(tree, Statistics())
    other = replace(tree, kernel="panes")
    assert "another would be taken" in why_this_kernel(other, Statistics())


def test_a_tree_that_answers_nothing_has_no_reason() -> None:
    tree = tree_of("max", 1)
    assert why_this_kernel(replace(tree, queries=(), family=tree.key, kernel=""), Statistics()) == ""
