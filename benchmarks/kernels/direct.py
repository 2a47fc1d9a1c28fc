"""A kernel over one group, compiled together with its algebra into one: the papers' setting, no tape.

Answers of a slide overwrite those of the slide before: they stay in the cache, as for a consumer that reads
them at once, and memory has no part in what is measured.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple, Self

import numba
import numpy as np

from streaming.aggregates.algebra import Algebra, combine, identity_rows, running_rows
from streaming.kernels import KERNELS, check_pairing, traits_of
from streaming.kernels.base import answer, answer_every, push
from streaming.kernels.run.rows import U, load, one_group_of, save

# As in the product, but all of a kernel in one function, and no counting of references to arrays: with one
# group and a few operations a slide these would take several times as long as the kernel.
compiled = numba.njit(cache=True, nogil=True, forceinline=True, _nrt=False)

HEAD, LENGTH = 0, 1
PLAIN = ", plain sums"  # a remark: over counts, whose sums carry no rounding errors along, as in print


class OneDeque(NamedTuple):
    """SlickDeque (Non-Inv) for one group, in the shape of the other kernels.

    The product's own loop is made for the deques of many groups. It would pay here for what one group does
    not need, while the other kernels are compiled for one group alone.
    """

    numbers: np.ndarray  # by place, the slice; places are a ring, and rows of the store
    ends: np.ndarray  # HEAD, LENGTH
    span: int

    @classmethod
    def new(cls, spans: Sequence[int], first: int, commutative: bool, prefilled: bool = False) -> Self:
        return cls(np.zeros(max(spans), np.int64), np.zeros(2, np.int64), max(spans))

    def rows(self) -> int:
        return len(self.numbers)

    def push(self, sink, number):
        op, store, slices, numbers = sink.algebra, sink.store, sink.slices, self.numbers
        head, length, room = self.ends[HEAD], self.ends[LENGTH], len(self.numbers)
        while length > 0 and numbers[head] <= number - self.span:
            head += 1
            if head == room:
                head = 0
            length -= 1
        partial = load(op, slices, U(number % slices.depth))
        if partial != sink.empty:
            place = head + length - (room if head + length >= room else 0)  # behind the tail
            while length > 0:
                tail = (room if place == 0 else place) - 1
                if combine(op, load(op, store, U(tail)), partial) != partial:
                    break
                place = tail
                length -= 1
            numbers[place] = number
            save(op, store, U(place), partial)
            length += 1
        self.ends[HEAD], self.ends[LENGTH] = head, length

    def answer(self, sink, newest, low, query, out):
        answer_every(self, sink, newest, low, 1, query, out)

    def answer_every(self, sink, newest, low, count, query, out):
        op, store, answers, numbers = sink.algebra, sink.store, sink.answers, self.numbers
        at, left, room = self.ends[HEAD], self.ends[LENGTH], len(self.numbers)
        for i in range(count):
            while left > 0 and numbers[at] < low + i:
                at += 1
                if at == room:
                    at = 0
                left -= 1
            best = load(op, store, U(at)) if left > 0 else sink.empty
            save(op, answers, U(out + i), best)


@compiled
def stream(kernel, sink, first, count, ranges):
    """Push slices and answer each of the ranges after each, the longest first."""
    checksum = 0.0  # so that no work can be left out
    for newest in range(first, first + count):
        push(kernel, sink, newest)
        for query in range(len(ranges)):
            low = max(0, newest - ranges[query] + 1)
            answer(kernel, sink, newest, low, query, query)
        checksum += sink.answers.numbers[0]
    return checksum


@compiled
def stream_one(kernel, sink, first, count, span):
    """The same for a single range."""
    checksum = 0.0
    for newest in range(first, first + count):
        push(kernel, sink, newest)
        answer(kernel, sink, newest, max(0, newest - span + 1), 0, 0)
        checksum += sink.answers.numbers[0]
    return checksum


@compiled
def stream_every(kernel, sink, first, count, longest):
    """The same for every range from `longest` down to 1."""
    checksum = 0.0
    for newest in range(first, first + count):
        push(kernel, sink, newest)
        low = max(0, newest - longest + 1)
        answer_every(kernel, sink, newest, low, newest - low + 1, 0, 0)
        checksum += sink.answers.numbers[0]
    return checksum


@dataclass(frozen=True)
class Contestant:
    """A kernel with an aggregate."""

    kernel: str
    algebra: Algebra
    of_papers: bool = True
    remark: str = ""

    @property
    def label(self) -> str:
        return traits_of(self.kernel).label + self.remark

    def over(self, slices: np.ndarray, ranges: Sequence[int]) -> "Direct":
        """Ready to answer these ranges, the longest first, after every slide; slices are (1, depth, 1)."""
        check_pairing(self.kernel, self.algebra, len(ranges))
        kind = OneDeque if self.kernel == "slickdeque_noninv" else KERNELS[self.kernel]
        kernel = kind.new(ranges, 0, self.algebra.commutative)
        empty = running_rows if traits_of(self.kernel).running else identity_rows
        answers = identity_rows(self.algebra, max(ranges), 1)
        return Direct(
            kernel, one_group_of(self.algebra, slices, empty(self.algebra, kernel.rows(), 1), answers)
        )

    def one_query(self, values: np.ndarray, window: int) -> "Direct":
        direct = self.over(as_slices(values), [window])
        direct.loop, direct.asked = stream_one, window
        return direct

    def every_range(self, values: np.ndarray, longest: int) -> "Direct":
        """Kernels that cannot go back to an earlier low have a query for every range."""
        ranges = np.arange(longest, 0, -1)
        rewinds = traits_of(self.kernel).rewinds
        direct = self.over(as_slices(values), [longest] if rewinds else ranges.tolist())
        direct.loop, direct.asked = (stream_every, longest) if rewinds else (stream, ranges)
        return direct


@dataclass
class Direct:
    """A kernel under way, over one group."""

    kernel: Any
    sink: Any
    loop: Callable[..., float] = stream_one
    asked: Any = 1  # the ranges, as the loop takes them
    pushed: int = 0

    @property
    def answers(self) -> np.ndarray:
        """Of the last slide, longest range first."""
        numbers: np.ndarray = self.sink.answers.numbers
        return numbers

    def advance(self, slides: int) -> float:
        """Push so many slices and answer after each; how many seconds that took."""
        start = perf_counter()
        self.loop(self.kernel, self.sink, self.pushed, slides, self.asked)
        self.pushed += slides
        return perf_counter() - start


def as_slices(values: np.ndarray) -> np.ndarray:
    """One partial a slice, of one group: as deep as the input, so nothing has to be copied on the way."""
    return values.reshape(1, -1, 1)
