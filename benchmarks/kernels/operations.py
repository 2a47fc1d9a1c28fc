"""Operations per slide, counted, beside the formulas of SHEIN's Table 4: amortised and worst.

All kernels but one do the same whatever the values are, and a tape counts what they record. SlickDeque
(Non-Inv) is run over inputs, the worst of which falls for a whole window and then rises above all of it.
"""

from collections.abc import Callable, Sequence
from math import log2
from typing import Any, NamedTuple

import numpy as np

from benchmarks.figures import Figure
from benchmarks.kernels.inputs import INPUTS
from benchmarks.kernels.section import Section
from benchmarks.report import Cell, Table
from streaming.aggregates.max import Max
from streaming.compiled import compiled
from streaming.kernels import KERNELS, traits_of
from streaming.kernels.base import answer, answer_every, effort, push
from streaming.kernels.run.tape import new_tape
from streaming.kernels.slickdeque_noninv import Deque

POWERS_OF_TWO = (4, 16, 64, 256, 1024)
BETWEEN = (6, 24, 100, 384, 1000)
LONGEST = (4, 8, 16, 32, 64)
PERIODS = 8  # windows that are counted, after two that are not

SINGLE = tuple(name for name in KERNELS if name != "slickdeque_noninv")
MANY = tuple(name for name in SINGLE if traits_of(name).many)


class Published(NamedTuple):
    """Table 4, for n slices."""

    amortised: str
    worst: str
    every_range: str | None = None


PUBLISHED = {
    "panes": Published("n", "n", "n²"),
    "panes_inv": Published("2", "2"),
    "flatfat": Published("log n", "log n", "n log n"),
    "b_int": Published("log n", "log n", "n log n"),
    "flatfit": Published("3", "n", "3n"),
    "two_stacks": Published("3", "n"),
    "daba": Published("5", "8"),
    "slickdeque_inv": Published("2", "2", "2n"),
    "slickdeque_noninv": Published("<2", "n", "n"),
}
FORMULAS: dict[str, Callable[[int], float]] = {
    "2": lambda n: 2,
    "<2": lambda n: 2,
    "3": lambda n: 3,
    "5": lambda n: 5,
    "8": lambda n: 8,
    "n": lambda n: n,
    "2n": lambda n: 2 * n,
    "3n": lambda n: 3 * n,
    "n²": lambda n: n * n,
    "log n": lambda n: log2(n),
    "n log n": lambda n: n * log2(n),
}


class Counts(NamedTuple):
    amortised: float
    worst: int


@compiled
def count_one(kernel, tape, span, counts):
    """The operations of every slide with one answer."""
    for newest in range(len(counts)):
        tape.used[:] = 0
        push(kernel, tape, newest)
        answer(kernel, tape, newest, max(0, newest - span + 1), 0, 0)
        counts[newest] = tape.used[1]


@compiled
def count_queries(kernel, tape, longest, counts):
    """The same with a query for every range, the longest first."""
    for newest in range(len(counts)):
        tape.used[:] = 0
        push(kernel, tape, newest)
        for query in range(longest):
            answer(kernel, tape, newest, max(0, newest - longest + 1 + query), query, query)
        counts[newest] = tape.used[1]


@compiled
def count_every(kernel, tape, longest, counts):
    """The same with one query that goes back to the longest range at every slide."""
    for newest in range(len(counts)):
        tape.used[:] = 0
        push(kernel, tape, newest)
        low = max(0, newest - longest + 1)
        answer_every(kernel, tape, newest, low, newest - low + 1, 0, 0)
        counts[newest] = tape.used[1]


def run(quick: bool, progress: Callable[[str], None]) -> Section:
    sizes = sorted(POWERS_OF_TWO + BETWEEN)
    progress("operations, one query")
    single = {name: {n: _counted(name, n, every=False) for n in sizes} for name in SINGLE}
    progress("operations, every range")
    many = {name: {n: _counted(name, n, every=True) for n in LONGEST} for name in MANY}
    progress("operations, deques")
    deques = {name: {n: _of_deque(make, n) for n in sizes} for name, make in INPUTS.items()}
    most = max(count.amortised for by_size in deques.values() for count in by_size.values())
    return Section(
        sentences=[
            _bounds_sentence(single, POWERS_OF_TWO, "powers of two"),
            _bounds_sentence(single, BETWEEN, "no powers of two"),
            f"SlickDeque (Non-Inv) takes {most:.3f} operations a slide at most on any input (published: "
            "fewer than 2, and n at the worst slide).",
        ],
        tables=[_single_table(single, deques), _many_table(many)],
        figures=[Figure("operations a slide, SlickDeque (Non-Inv), amortised, most", most, "", baseline=2.0)],
    )


def _counted(name: str, size: int, every: bool) -> Counts:
    kind: Any = KERNELS[name]
    by_query = every and not traits_of(name).rewinds
    kernel = kind.new(list(range(size, 0, -1)) if by_query else [size], 0, True)
    tape = new_tape(int(effort(kernel)) * (size + 1 if every else 2))
    counts = np.zeros((2 + PERIODS) * size, np.int64)
    count = count_queries if by_query else count_every if every else count_one
    count(kernel, tape, size, counts)
    return _summed_up(counts[2 * size :])


def _of_deque(make: Callable[[int, int, int], np.ndarray], window: int) -> Counts:
    deque = Deque(Max(), window)
    counts = []
    for number, value in enumerate(make((2 + PERIODS) * window, window, window).tolist()):
        before = deque.operations
        deque.push(number, (value,))
        counts.append(deque.operations - before)
    return _summed_up(np.array(counts[2 * window :]))


def _summed_up(counts: np.ndarray) -> Counts:
    return Counts(float(counts.mean()), int(counts.max()))


def _bounds_sentence(single: dict[str, dict[int, Counts]], sizes: Sequence[int], what: str) -> str:
    """How many kernels keep Table 4's bounds for windows of these sizes, and which do not."""
    published = [name for name in PUBLISHED if name in single]
    beyond = [
        traits_of(name).label
        for name in published
        if not all(_is_within(name, n, single[name][n]) for n in sizes)
    ]
    return (
        f"Operations, windows that are {what}: {len(published) - len(beyond)} of {len(published)} kernels of "
        "Table 4 take no more operations a slide than it says, amortised and worst"
        + (f"; more are taken by {', '.join(beyond)}." if beyond else ".")
    )


def _is_within(name: str, n: int, count: Counts) -> bool:
    published = PUBLISHED[name]
    return count.amortised <= FORMULAS[published.amortised](n) and count.worst <= FORMULAS[published.worst](n)


def _single_table(single: dict[str, dict[int, Counts]], deques: dict[str, dict[int, Counts]]) -> Table:
    rows = [
        _single_row(traits_of(name).label, PUBLISHED.get(name), counted) for name, counted in single.items()
    ]
    deque = traits_of("slickdeque_noninv").label
    rows += [
        _single_row(f"{deque}, {name}", PUBLISHED["slickdeque_noninv"], counted)
        for name, counted in deques.items()
    ]
    headings = ["kernel", "published", *(f"n = {n}" for n in next(iter(single.values())))]
    return Table(
        "Operations per slide, one query",
        headings,
        rows,
        f"Amortised / worst, of a slide and its answer, over {PERIODS} windows.",
    )


def _single_row(label: str, published: Published | None, counted: dict[int, Counts]) -> list[Cell]:
    printed = f"{published.amortised} / {published.worst}" if published else None
    return [label, printed, *(f"{count.amortised:.2f} / {count.worst:,}" for count in counted.values())]


def _many_table(many: dict[str, dict[int, Counts]]) -> Table:
    rows: list[list[Cell]] = []
    for name, counted in many.items():
        published = PUBLISHED[name].every_range if name in PUBLISHED else None
        cells = [
            f"{count.amortised:.1f}" + (f" ({FORMULAS[published](n):.0f})" if published else "")
            for n, count in counted.items()
        ]
        rows.append([traits_of(name).label, published, *cells])
    headings = ["kernel", "published", *(f"n = {n}" for n in LONGEST)]
    return Table(
        "Operations per slide, every range",
        headings,
        rows,
        "Amortised, for all answers of a slide; in brackets what the published formula gives. SlickDeque "
        "(Non-Inv) takes as many as for one query: answers are read off its deque without an operation.",
    )
