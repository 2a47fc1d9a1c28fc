"""Kernels at work on an example: what each was and did, step by step."""

import copy
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Self

from kernel_drawings.examples import Example
from streaming.kernels import element
from streaming.kernels.run.element import Element
from streaming.kernels.run.workbench import Workbench
from streaming.kernels.slickdeque_noninv import DequeElement

NO_SCRATCH = 1 << 60  # more rows than any kernel has


@dataclass
class Watched(Workbench):
    """A workbench that also notes which rows an answer was made of."""

    scratch: int = NO_SCRATCH  # rows from here on only gather an answer
    read: dict[int, set[int]] = field(default_factory=dict)  # by answer
    _gathered: set[int] = field(default_factory=set)

    def join(self, target: int, older: int, newer: int) -> None:
        self._gather(target, older, newer)
        super().join(target, older, newer)

    def absorb(self, target: int, newer: int) -> None:
        self._gather(target, newer)
        super().absorb(target, newer)

    def answer_row(self, out: int, row: int) -> None:
        self._made(out, row)
        super().answer_row(out, row)

    def answer_join(self, out: int, older: int, newer: int) -> None:
        self._made(out, older, newer)
        super().answer_join(out, older, newer)

    def difference(self, out: int, newer: int, older: int) -> None:
        self._made(out, newer, older)
        super().difference(out, newer, older)

    def forget(self) -> None:
        self.touched.clear()
        self.read.clear()

    def _gather(self, target: int, *rows: int) -> None:
        if target >= self.scratch:
            self._gathered |= {int(row) for row in rows}

    def _made(self, out: int, *rows: int) -> None:
        found = self._gathered | {int(row) for row in rows}
        self.read[out] = self.read.get(out, set()) | {row for row in found if row < self.scratch}
        self._gathered = set()


@dataclass(frozen=True)
class Step:
    """What a kernel was after a slice and its answers, and what it did for them."""

    example: Example
    number: int
    kernel: Any  # of a deque: the nodes' values, by slice
    store: list[str]
    wrote: set[int]
    read: dict[int, set[int]]  # by answer
    operations: int
    answers: list[str]
    before: Self | None

    @property
    def value(self) -> int:
        return self.example.inputs[self.number]

    @property
    def window(self) -> range:
        """The slices of the longest window, those before the first as well."""
        return range(self.number - max(self.example.ranges) + 1, self.number + 1)

    @property
    def reads(self) -> set[int]:
        return set().union(*self.read.values())

    def kind(self, row: int) -> str:
        return "written" if int(row) in self.wrote else "kept"


@cache
def watch(name: str, example: Example) -> list[Step]:
    kernel = element(name, example.algebra, example.ranges)
    return _watch_deque(kernel, example) if isinstance(kernel, DequeElement) else _watch(kernel, example)


def _watch(subject: Element, example: Example) -> list[Step]:
    bench = Watched(example.algebra, subject.bench.store, scratch=_scratch(subject.kernel))
    subject.bench = bench
    running = subject.kernel.traits.running
    steps: list[Step] = []
    for number, value in enumerate(example.inputs):
        bench.forget()
        before = bench.operations
        answers = subject.push(example.partial(value))
        states = [example.algebra.settle(state) if running else state for state in bench.store]
        step = Step(
            example,
            number,
            copy.deepcopy(subject.kernel),
            store=[example.shown(state) for state in states],
            wrote=set(bench.touched),
            read=copy.deepcopy(bench.read),
            operations=bench.operations - before,
            answers=[example.shown(answer) for answer in answers],
            before=steps[-1] if steps else None,
        )
        steps.append(step)
    return steps


def _scratch(kernel: Any) -> int:
    if kernel.traits.name == "flatfat":
        return 2 * int(kernel.leaves)
    return int(kernel.gather) if kernel.traits.name == "b_int" else NO_SCRATCH


def _watch_deque(subject: DequeElement, example: Example) -> list[Step]:
    """A deque has no rows: what is written and read is nodes, by their slice."""
    steps: list[Step] = []
    for number, value in enumerate(example.inputs):
        before = subject.operations
        answers = subject.push(example.partial(value))
        nodes = {at: example.shown(state) for at, state in subject.deque.nodes}
        step = Step(
            example,
            number,
            nodes,
            store=[],
            wrote={number},
            read={
                out: {next(at for at in nodes if at > number - length)}
                for out, length in enumerate(example.ranges)
            },
            operations=subject.operations - before,
            answers=[example.shown(answer) for answer in answers],
            before=steps[-1] if steps else None,
        )
        steps.append(step)
    return steps
