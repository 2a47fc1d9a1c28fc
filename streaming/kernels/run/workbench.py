"""A workbench: row operations carried out in Python on one group, any value as a partial, all of them noted.

For reading a kernel at work, for counting its operations as the papers do, and for algebras whose states are
not numbers.
"""

from dataclasses import dataclass, field
from typing import Any

from streaming.aggregates.algebra import Algebra, State
from streaming.kernels.run.operations import CHUNK


@dataclass
class Workbench:
    algebra: Algebra
    store: list[State]
    slices: dict[int, State] = field(default_factory=dict)  # those that hold anything
    answers: dict[int, State] = field(default_factory=dict)
    operations: int = 0
    touched: set[int] = field(default_factory=set)  # rows of the store that were written

    def room(self) -> int:
        return 1 << 60

    def slice(self, number: int) -> State:
        return self.slices.get(number, self.algebra.identity)

    def _combined(self, older: State, newer: State) -> State:
        self.operations += 1
        return self.algebra.combine(older, newer)

    def _keep(self, target: int, state: State) -> None:
        self.store[target] = state
        self.touched.add(int(target))

    def take(self, target: int, number: int) -> None:
        self._keep(target, self.slice(number))

    def move(self, target: int, row: int) -> None:
        self._keep(target, self.store[row])

    def append(self, target: int, number: int) -> None:
        self._keep(target, self._combined(self.store[target], self.slice(number)))

    def extend(self, target: int, row: int, number: int) -> None:
        self._keep(target, self._combined(self.store[row], self.slice(number)))

    def prepend(self, target: int, number: int, row: int) -> None:
        self._keep(target, self._combined(self.slice(number), self.store[row]))

    def join(self, target: int, older: int, newer: int) -> None:
        self._keep(target, self._combined(self.store[older], self.store[newer]))

    def absorb(self, target: int, newer: int) -> None:
        self._keep(target, self._combined(self.store[target], self.store[newer]))

    def append_run(self, target: int, first: int, last: int) -> None:
        for number in range(first, last + 1):
            self.append(target, number)

    def suffixes(self, base: int, size: int, first: int, last: int) -> None:
        self.take(base + last % size, last)
        for number in range(last - 1, first - 1, -1):
            self.prepend(base + number % size, number, base + (number + 1) % size)

    def chunk_totals(self, base: int, size: int, first: int, last: int) -> None:
        for chunk in range(first, last + 1):
            self._keep(base + chunk % size, self._total(chunk * CHUNK))

    def _total(self, first: int) -> State:
        one, two, three, four = (self.slice(first + i) for i in range(CHUNK))
        return self._combined(self._combined(one, two), self._combined(three, four))

    def chunk_suffixes(self, base: int, totals: int, size: int, first: int, last: int) -> None:
        self.move(base + last % size, totals + last % size)
        for older in range(last - 1, first - 1, -1):
            self.join(base + older % size, totals + older % size, base + (older + 1) % size)

    def append_each(self, target: int, count: int, number: int) -> None:
        for i in range(count):
            self.append(target + i, number)

    def sweep(self, out: int, target: int, count: int, number: int) -> None:
        for i in range(count):
            self.append(target + i, number)
            self.answer_row(out + i, target + i)

    def answer_none(self, out: int) -> None:
        self.answers[out] = self.algebra.identity

    def answer_row(self, out: int, row: int) -> None:
        self.answers[out] = self.store[row]

    def answer_rows(self, out: int, row: int, count: int) -> None:
        for i in range(count):
            self.answer_row(out + i, row + i)

    def answer_join(self, out: int, older: int, newer: int) -> None:
        self.answers[out] = self._combined(self.store[older], self.store[newer])

    def glide(self, out: int, low: int, until: int, older: int, running: int, first: int, last: int) -> None:
        self.append_run(running, first, last)
        if low == until:
            self.answer_join(out, older, running)
            return
        behind = self.store[older]
        for number in range(until - 1, low - 1, -1):
            behind = self._combined(self.slice(number), behind)
        self.answers[out] = self._combined(behind, self.store[running])

    def glide_four(
        self, out: int, stride: int, until: int, older: int, running: int, first: int, total: int
    ) -> None:
        self._keep(total, self._total(first))
        for i in range(CHUNK):
            low = until - CHUNK + 1 + i
            self.glide(out + i * stride, low, until, older, running, first + i, first + i)

    def enter_slice(self, running: int, number: int) -> None:
        self.operations += 1
        self._keep(running, self.algebra.enter(self.store[running], self.slice(number)))

    def leave_slice(self, running: int, number: int) -> None:
        self.operations += 1
        self._keep(running, self.algebra.leave(self.store[running], self.slice(number)))

    def slide(self, running: int, entering: int, leaving: int) -> None:
        self.enter_slice(running, entering)
        self.leave_slice(running, leaving)

    def slide_row(self, out: int, running: int, entering: int, leaving: int, first: int) -> None:
        self.slide(running, entering, leaving)
        self.settle_row(out, running, first, entering)

    def renew(self, running: int, first: int, last: int) -> None:
        self._keep(running, self.algebra.running_identity)
        for number in range(first, last + 1):
            self.enter_slice(running, number)

    def settle_row(self, out: int, running: int, first: int, last: int) -> None:
        if not self.algebra.intact(self.store[running]):
            self.renew(running, first, last)
        self.answers[out] = self.algebra.settle(self.store[running])

    def difference(self, out: int, newer: int, older: int) -> None:
        self.operations += 1
        self.answers[out] = self.algebra.leave(self.store[newer], self.store[older])


def workbench(algebra: Algebra, rows: int, running: bool) -> Workbench:
    empty: Any = algebra.running_identity if running else algebra.identity
    return Workbench(algebra, [empty] * rows)
