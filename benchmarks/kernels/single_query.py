"""One query over growing windows (SHEIN chapter 3, experiment 1; chapter 4, experiment 1).

The window holds a power of two of slices and is answered after every slide; Sum once, Max over three inputs.
"""

from collections.abc import Callable

from benchmarks.kernels import throughput
from benchmarks.kernels.direct import PLAIN, Contestant
from benchmarks.kernels.inputs import INPUTS
from benchmarks.kernels.section import Section
from benchmarks.kernels.throughput import Comparison, Sweep, comparison_table, rates_chart, rates_table
from streaming.aggregates.count import Count
from streaming.aggregates.max import Max
from streaming.aggregates.sum import Sum

WINDOWS = tuple(2**power for power in range(21))
WINDOWS_IN_A_HURRY = tuple(2**power for power in range(11))
SLIDES, SLIDES_IN_A_HURRY = 10**6, 10**5  # beside two windows

OF_PAPERS = ("panes", "flatfat", "b_int", "flatfit", "two_stacks", "daba")
OURS = ("two_stacks_lite", "daba_lite", "van_herk", "finger_tree")
SUM = (
    *(Contestant(kernel, Sum()) for kernel in OF_PAPERS),
    Contestant("slickdeque_inv", Sum()),
    *(Contestant(kernel, Sum(), of_papers=False) for kernel in OURS),
    Contestant("slickdeque_inv", Count(), of_papers=False, remark=PLAIN),
)
MAX = (
    *(Contestant(kernel, Max()) for kernel in OF_PAPERS),
    Contestant("slickdeque_noninv", Max()),
    *(Contestant(kernel, Max(), of_papers=False) for kernel in (*OURS, "sparse_table")),
)
INPUTS_OF_MAX = tuple(INPUTS)

FLATFIT = {"Sum": (None, None), "Max": (1.8, 2.6)}  # over FlatFAT, mean and most; published for Max alone
SLICKDEQUE = {"Sum": (1.15, 1.19), "Max": (1.07, 1.10)}  # over the next best


def run(quick: bool, progress: Callable[[str], None]) -> Section:
    sweeps = [_measure("Sum", "uniform", SUM, quick, progress)]
    sweeps += [_measure("Max", name, MAX, quick, progress) for name in INPUTS_OF_MAX]
    compared = [(sweep, comparison) for sweep in sweeps for comparison in _comparisons(sweep)]
    note = (
        "SlickDeque is compared with the fastest of Panes, FlatFAT, B-Int, FlatFIT, TwoStacks and DABA at "
        "each window. Published are means over windows of readings of DEBS 2012."
    )
    return Section(
        sentences=[comparison.sentence(sweep) for sweep, comparison in compared],
        tables=[
            comparison_table("One query: ratios", compared, note),
            *(rates_table(sweep) for sweep in sweeps),
        ],
        charts=[rates_chart(sweep) for sweep in sweeps],
        figures=[figure for sweep, comparison in compared for figure in comparison.figures(sweep)],
    )


def _measure(
    aggregate: str,
    input_name: str,
    contestants: tuple[Contestant, ...],
    quick: bool,
    progress: Callable[[str], None],
) -> Sweep:
    progress(f"one query, {aggregate}, {input_name}")
    least = SLIDES_IN_A_HURRY if quick else SLIDES
    return throughput.sweep(
        title=f"One query, {aggregate}, {input_name}",
        size_name="window",
        contestants=contestants,
        sizes=WINDOWS_IN_A_HURRY if quick else WINDOWS,
        make_input=INPUTS[input_name],
        slides=lambda window: window + least,
        prepare=lambda contestant, values, window: contestant.one_query(values, window),
    )


def _comparisons(sweep: Sweep) -> list[Comparison]:
    aggregate = sweep.contestants[0].algebra.name.title()
    slickdeque = next(label for label in sweep.labels(of_papers=True) if "SlickDeque" in label)
    others = sweep.labels(of_papers=True, without=[slickdeque])
    plain = [slickdeque + PLAIN] if slickdeque + PLAIN in sweep.runs else []
    return [
        Comparison("FlatFIT over FlatFAT", "FlatFIT", ["FlatFAT"], *FLATFIT[aggregate]),
        Comparison("SlickDeque over the next best", slickdeque, others, *SLICKDEQUE[aggregate]),
        *(
            Comparison(f"{label} over the next best", label, others, *SLICKDEQUE[aggregate])
            for label in plain
        ),
    ]
