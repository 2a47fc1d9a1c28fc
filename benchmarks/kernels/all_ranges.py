"""Every range at once (SHEIN chapter 3, experiment 2; chapter 4, experiment 2).

After every slide the windows of 1, 2, … n slices are answered.
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

LONGEST = tuple(2**power for power in range(11))
LONGEST_IN_A_HURRY = tuple(2**power for power in range(9))
ANSWERS, ANSWERS_IN_A_HURRY = 4 * 10**6, 2 * 10**5
INPUTS_OF_MAX = ("uniform", "sensor-like")

OF_PAPERS = ("panes", "flatfat", "b_int", "flatfit")
OURS = ("accumulators", "van_herk")
SUM = (
    *(Contestant(kernel, Sum()) for kernel in OF_PAPERS),
    Contestant("slickdeque_inv", Sum()),
    *(Contestant(kernel, Sum(), of_papers=False) for kernel in OURS),
    Contestant("slickdeque_inv", Count(), of_papers=False, remark=PLAIN),
    Contestant("prefix_difference", Count(), of_papers=False, remark=PLAIN),
)
MAX = (
    *(Contestant(kernel, Max()) for kernel in OF_PAPERS),
    Contestant("slickdeque_noninv", Max()),
    *(Contestant(kernel, Max(), of_papers=False) for kernel in (*OURS, "sparse_table")),
)

FLATFIT = {"Sum": (None, None), "Max": (10.0, 17.0)}  # over FlatFAT, mean and most; published for Max alone
SLICKDEQUE = {"Sum": (1.45, 1.60), "Max": (3.66, 4.45)}  # over the next best


def run(quick: bool, progress: Callable[[str], None]) -> Section:
    sweeps = [_measure("Sum", "uniform", SUM, quick, progress)]
    sweeps += [_measure("Max", name, MAX, quick, progress) for name in INPUTS_OF_MAX]
    compared = [(sweep, comparison) for sweep in sweeps for comparison in _comparisons(sweep)]
    note = (
        "SlickDeque is compared with the fastest of Panes, FlatFAT, B-Int and FlatFIT at each n. Plain "
        "sums lose what is rounded off, as print does over whole numbers; the product's running sums carry "
        "it along."
    )
    return Section(
        sentences=[comparison.sentence(sweep) for sweep, comparison in compared],
        tables=[
            comparison_table("Every range: ratios", compared, note),
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
    progress(f"every range, {aggregate}, {input_name}")
    answers = ANSWERS_IN_A_HURRY if quick else ANSWERS
    return throughput.sweep(
        title=f"Every range, {aggregate}, {input_name}",
        size_name="n",
        contestants=contestants,
        sizes=LONGEST_IN_A_HURRY if quick else LONGEST,
        make_input=INPUTS[input_name],
        slides=lambda longest: max(2 * longest, answers // longest),
        prepare=lambda contestant, values, longest: contestant.every_range(values, longest),
    )


def _comparisons(sweep: Sweep) -> list[Comparison]:
    aggregate = sweep.contestants[0].algebra.name.title()
    slickdeque = next(label for label in sweep.labels(of_papers=True) if "SlickDeque" in label)
    accumulators = next(c.label for c in sweep.contestants if c.kernel == "accumulators")
    others = sweep.labels(of_papers=True, without=[slickdeque])
    plain = [slickdeque + PLAIN] if slickdeque + PLAIN in sweep.runs else []
    return [
        Comparison("FlatFIT over FlatFAT", "FlatFIT", ["FlatFAT"], *FLATFIT[aggregate]),
        Comparison("SlickDeque over the next best", slickdeque, others, *SLICKDEQUE[aggregate]),
        *(
            Comparison(f"{label} over the next best", label, others, *SLICKDEQUE[aggregate])
            for label in plain
        ),
        Comparison("accumulators over FlatFIT", accumulators, ["FlatFIT"]),
        Comparison("accumulators over SlickDeque", accumulators, [slickdeque]),
    ]
