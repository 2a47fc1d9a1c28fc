from math import e

import pytest

from optimizer.kernels import BY_NAME, KERNELS, allowed_kernels, cheapest_kernel, kernel_named
from optimizer.plan import Tree
from optimizer.windows import Window
from tests.optimizer.cases import query

ONE_A_SECOND = 1.0


def spanning(*partials: int) -> list[Window]:
    """Windows that span so many partials at one edge a second."""
    return [Window(1000 * count, 1000) for count in partials]


@pytest.mark.parametrize(
    ("kernel", "partials", "operations"),
    [
        ("panes", (5,), 5),
        ("panes", (3, 5), 8),
        ("flatfat", (1,), 0),
        ("flatfat", (2,), 0.5),
        ("flatfat", (9,), 3 + 8 / 8),
        ("flatfat", (9, 2), 3 + 8 / 8 + 0.5),
        ("flatfit", (5,), 3),
        ("flatfit", (3, 5, 8), 9),
        ("slickdeque_inv", (5,), 2),
        ("slickdeque_inv", (3, 5), 4),
        ("slickdeque_noninv", (1,), 2 - 2 + 1 + 1),
        ("slickdeque_noninv", (2,), 2 - 1 + 1 + 1.5),
        ("slickdeque_noninv", (3, 4), 2 - 0.5 + 2 + (1 + 1 / 2 + 1 / 6 + 1 / 24)),
        ("slickdeque_noninv", (1000,), 2 - 0.002 + 1 + (e - 1)),
    ],
)
def test_operations_per_edge_follow_table_11(
    kernel: str, partials: tuple[int, ...], operations: float
) -> None:
    assert BY_NAME[kernel].omega(spanning(*partials), ONE_A_SECOND) == pytest.approx(operations)


def test_ranges_that_two_windows_have_in_common_are_kept_once_by_the_inverting_deque() -> None:
    windows = [Window(10_000, 1_000), Window(10_000, 5_000)]
    assert BY_NAME["slickdeque_inv"].omega(windows, ONE_A_SECOND) == 2


def test_panes_fold_a_window_once_for_each_slide_whatever_else_is_in_the_tree() -> None:
    assert BY_NAME["panes"].omega([Window(60_000, 10_000)], 5.0) == 6


@pytest.mark.parametrize(
    ("aggregate", "names"),
    [
        ("count", ["slickdeque_inv", "flatfit"]),
        ("sum", ["slickdeque_inv", "flatfit"]),
        ("mean", ["slickdeque_inv", "flatfit"]),
        ("min", ["slickdeque_noninv", "flatfit"]),
        ("max", ["slickdeque_noninv", "flatfit"]),
    ],
)
def test_each_aggregate_runs_on_the_deque_it_has_the_property_for(aggregate: str, names: list[str]) -> None:
    assert [kernel.name for kernel in allowed_kernels([aggregate])] == names


@pytest.mark.parametrize(
    ("kernel", "aggregate", "sentence"),
    [
        (
            "slickdeque_inv",
            "max",
            "The kernel “slickdeque_inv” cannot compute max, which is not invertible: "
            "use slickdeque_noninv, flatfit, flatfat, b_int, panes, two_stacks, two_stacks_lite, daba, "
            "daba_lite, van_herk, accumulators, sparse_table, finger_tree.",
        ),
        (
            "slickdeque_noninv",
            "mean",
            "The kernel “slickdeque_noninv” cannot compute mean, which is not selective: "
            "use slickdeque_inv, flatfit, flatfat, b_int, panes, panes_inv, two_stacks, two_stacks_lite, "
            "daba, daba_lite, van_herk, accumulators, finger_tree.",
        ),
        (
            "panes_inv",
            "max",
            "The kernel “panes_inv” cannot compute max, which is not invertible: "
            "use slickdeque_noninv, flatfit, flatfat, b_int, panes, two_stacks, two_stacks_lite, daba, "
            "daba_lite, van_herk, accumulators, sparse_table, finger_tree.",
        ),
        (
            "slickdeque_inv",
            "stddev",
            "The kernel “slickdeque_inv” cannot compute stddev, which is not invertible: "
            "use flatfit, flatfat, b_int, panes, two_stacks, two_stacks_lite, daba, daba_lite, van_herk, "
            "accumulators, finger_tree.",
        ),
        (
            "prefix_difference",
            "sum",
            "The kernel “prefix_difference” cannot compute sum, which is not exactly invertible: "
            "use slickdeque_inv, flatfit, flatfat, b_int, panes, panes_inv, two_stacks, two_stacks_lite, "
            "daba, daba_lite, van_herk, accumulators, finger_tree.",
        ),
        (
            "sparse_table",
            "sum",
            "The kernel “sparse_table” cannot compute sum, which is not idempotent: "
            "use slickdeque_inv, flatfit, flatfat, b_int, panes, panes_inv, two_stacks, two_stacks_lite, "
            "daba, daba_lite, van_herk, accumulators, finger_tree.",
        ),
        (
            "abacus",
            "sum",
            "No kernel “abacus”: use one of slickdeque, slickdeque_inv, slickdeque_noninv, flatfit, flatfat, "
            "b_int, panes, panes_inv, two_stacks, two_stacks_lite, daba, daba_lite, van_herk, accumulators, "
            "sparse_table, prefix_difference, finger_tree.",
        ),
    ],
)
def test_an_illegal_pairing_names_the_aggregate_and_what_it_lacks(
    kernel: str, aggregate: str, sentence: str
) -> None:
    with pytest.raises(ValueError) as refused:
        kernel_named(kernel, [aggregate])
    assert str(refused.value) == sentence


def test_no_tree_can_pair_a_kernel_with_an_aggregate_it_cannot_compute() -> None:
    with pytest.raises(ValueError, match="cannot compute max, which is not invertible"):
        Tree("1", (query("hot", 60, 10, "max"),), "slickdeque_inv", 0.1, 2.0, 1000.2)


def test_the_cheapest_kernel_depends_on_how_many_windows_a_tree_answers() -> None:
    selective = allowed_kernels(["max"])
    assert cheapest_kernel(selective, spanning(30), ONE_A_SECOND)[0].name == "flatfit"
    assert cheapest_kernel(selective, spanning(30, 60, 90), ONE_A_SECOND)[0].name == "slickdeque_noninv"
    assert cheapest_kernel(allowed_kernels(["sum"]), spanning(30), ONE_A_SECOND)[0].name == "slickdeque_inv"


def test_kernel_names_are_unique() -> None:
    assert len(BY_NAME) == len(KERNELS)


@pytest.mark.parametrize(
    ("kernel", "operations"),
    [
        # Of four, eight and eight slices: backwards, forwards and joined, from boundary to boundary.
        ("van_herk", (3 + 2 + 3) / 4 + (7 + 6 + 7) / 8 + (7 + 3 + 1) / 8),
        ("accumulators", 8 - 1),  # every start of the longest window that is open
        ("b_int", 1 - 1 / 8 + 5 / 4 + (1 + 9 / 8) * 5 / 4),  # intervals made, and joined for the answers due
        ("sparse_table", 3 + 2.25),  # three levels of eight partials, and the answers
        ("prefix_difference", 1 + 2.25),
        ("finger_tree", 8 - 32 / 8 + 2 + 1 + 1 / 4),  # mending, four partials, and the whole tree
    ],
)
def test_newer_kernels_work_on_answers_that_are_due(kernel: str, operations: float) -> None:
    windows = [Window(4_000, 1_000), Window(8_000, 1_000), Window(8_000, 4_000)]
    assert BY_NAME[kernel].omega(windows, ONE_A_SECOND) == pytest.approx(operations)


@pytest.mark.parametrize(
    ("kernel", "operations"),
    [("panes_inv", 2), ("two_stacks", 3), ("two_stacks_lite", 3), ("daba", 5), ("daba_lite", 4)],
)
def test_kernels_for_one_window_take_the_same_for_any_and_cannot_share(kernel: str, operations: int) -> None:
    chosen = [BY_NAME[kernel]]
    assert cheapest_kernel(chosen, spanning(500), ONE_A_SECOND) == (BY_NAME[kernel], operations)
    with pytest.raises(ValueError, match="answers one window alone: choose one that shares"):
        cheapest_kernel(chosen, spanning(5, 9), ONE_A_SECOND)


def test_one_name_stands_for_both_slick_deques() -> None:
    assert [kernel.name for kernel in allowed_kernels({"sum"}, "slickdeque")] == ["slickdeque_inv"]
    assert [kernel.name for kernel in allowed_kernels({"max"}, "slickdeque")] == ["slickdeque_noninv"]
