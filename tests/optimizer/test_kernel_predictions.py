"""Ω beside the operations that the job's kernels are counted to take."""

from itertools import product
from random import Random

import pytest

from optimizer.aggregates import AGGREGATES
from optimizer.kernels import BY_NAME, RUNNABLE
from optimizer.windows import Window
from streaming.aggregates import AGGREGATES as COMPUTED
from streaming.aggregates.count import Count
from streaming.aggregates.max import Max
from streaming.aggregates.sum import Sum
from streaming.kernels import KERNELS, element, traits_of

SLIDES = 400  # that are counted, after the longest window has been filled twice
ALGEBRAS = {"max": Max(), "sum": Sum(), "count": Count()}  # type: ignore[call-arg]

Windows = list[tuple[int, int]]  # range and slide, in slices
EVERY_SLIDE: dict[str, Windows] = {
    "1": [(1, 1)],
    "8": [(8, 1)],
    "60": [(60, 1)],
    "7 and 30": [(7, 1), (30, 1)],
    "all to 32": [(length, 1) for length in range(1, 33)],
}
SOME_SLIDES: dict[str, Windows] = {
    "60 every 5": [(60, 5)],
    "7 every 7 and 30": [(7, 7), (30, 1)],
    "12 every 4, 60 every 6 and 5": [(12, 4), (60, 6), (5, 1)],
    "100 every 10 and 50 every 3": [(100, 10), (50, 3)],
}
CASES = {**EVERY_SLIDE, **SOME_SLIDES}

ALONE = "print counts a window of one slice as any other; it is the slice itself and takes nothing"
DUE = "print counts every window at every slide, whether it is due or not"
# Where print's own formula is off, by kernel and case. Plans of the papers' model are made with it as it is.
OFF = {
    # Eq. 7.7 counts an operation for each answer and the deque's length Σ 1/i!; the kernel compares no more
    # than twice a slide, and an answer is looked up.
    **{("slickdeque_noninv", case): "eq. 7.7: answers are looked up, not computed" for case in CASES},
    ("flatfit", "all to 32"): "with every range asked for it takes about one operation an answer, not three",
    **{("flatfit", case): DUE for case in SOME_SLIDES},
    ("flatfat", "60"): "eq. 7.4 has a leaf for each slice and no answer beside the root; ours 64 leaves",
    ("flatfat", "all to 32"): "eq. 7.4 mends the tree once for each query; ours once for all",
    **{("flatfat", case): DUE for case in SOME_SLIDES},
    **{(kernel, "1"): ALONE for kernel in ("flatfit", "two_stacks", "two_stacks_lite", "daba", "daba_lite")},
}
PAIRS = [
    (kernel, case)
    for kernel, case in product(RUNNABLE, CASES)
    if kernel in KERNELS and (BY_NAME[kernel].many or len(CASES[case]) == 1)
]


def counted(kernel: str, windows: Windows) -> float:
    """Operations a slide of random numbers."""
    name = next(name for name in ALGEBRAS if BY_NAME[kernel].allows(name))
    running = element(kernel, ALGEBRAS[name], [length for length, _ in windows])
    draws = Random(7)
    before, filled = 0, 2 * max(length for length, _ in windows)
    for number in range(filled + SLIDES):
        if number == filled:
            before = running.operations
        lows = [number - length + 1 if (number + 1) % slide == 0 else None for length, slide in windows]
        running.push((1.0 if name == "count" else draws.random(),), lows)
    return (running.operations - before) / SLIDES


def predicted(kernel: str, windows: Windows) -> float:
    spans = [Window(1000 * length, 1000 * slide) for length, slide in windows]
    return BY_NAME[kernel].omega(spans, 1.0)


@pytest.mark.parametrize(("kernel", "case"), [pair for pair in PAIRS if pair not in OFF])
def test_a_kernel_takes_as_many_operations_as_predicted(kernel: str, case: str) -> None:
    taken = counted(kernel, CASES[case])
    assert abs(predicted(kernel, CASES[case]) - taken) <= max(1.0, 0.25 * taken)


@pytest.mark.parametrize(("kernel", "case"), [pair for pair in PAIRS if pair in OFF])
def test_where_print_is_off_it_is_known_to_be(kernel: str, case: str) -> None:
    taken = counted(kernel, CASES[case])
    within = abs(predicted(kernel, CASES[case]) - taken) <= max(1.0, 0.25 * taken)
    assert not within or case in SOME_SLIDES  # some of those print hits by chance


@pytest.mark.parametrize("windows", [[(8, 1)], [(60, 1)], [(7, 1), (30, 1)], [(60, 5)], [(100, 7), (31, 1)]])
def test_base_intervals_are_predicted_closely(windows: Windows) -> None:
    assert predicted("b_int", windows) == pytest.approx(counted("b_int", windows), rel=0.15)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_are_what_the_job_says_they_are(kernel: str) -> None:
    known, traits = BY_NAME[kernel], traits_of(kernel)
    assert (known.label, known.needs, known.many) == (traits.label, traits.needs, traits.many)


@pytest.mark.parametrize("name", COMPUTED)
def test_aggregates_have_the_properties_that_the_job_computes_them_with(name: str) -> None:
    known, parts = AGGREGATES[name], COMPUTED[name].parts or (ALGEBRAS["count"],)
    inverses = {part.inverse for part in parts}
    assert known.invertible == next(worst for worst in ("none", "rounded", "exact") if worst in inverses)
    assert known.selective == all(part.selective for part in parts)
    assert known.idempotent == all(part.idempotent for part in parts)
    assert known.commutative == all(part.commutative for part in parts)


def test_every_aggregate_that_the_job_computes_is_known() -> None:
    assert set(COMPUTED) == set(AGGREGATES)
