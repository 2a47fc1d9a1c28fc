"""SlickDeque (Non-Inv): a deque of the partials that can still be an answer, oldest and best first.

operator   selective: the result is one of the operands (max, min, arg max, first, …); order is kept
time       fewer than 2 operations a slide, amortised; n worst. None an answer
space      2 to 2n numbers a group, by the input; on random input the mean length is the harmonic number of n
published  Shein, Chrysanthis, Labrinidis: SlickDeque. EDBT 2018
differs    a window starts at `newest − range + 1` (print admits one partial too many, which a single query
           hides); a partial that holds nothing is not entered; positions are slice numbers

The one kernel whose steps depend on the values, so every group has a deque of its own and no tape is shared.
"""

from collections import deque
from collections.abc import Sequence

import numpy as np

from streaming.aggregates.algebra import Algebra, State, combine
from streaming.compiled import compiled
from streaming.kernels.base import Traits
from streaming.kernels.run.batched import NONE_DUE, grown
from streaming.kernels.run.ring import RingColumn, SliceRing
from streaming.kernels.run.rows import U, flat, load, same, save

TRAITS = Traits("slickdeque_noninv", "SlickDeque (Non-Inv)", "selective", rewinds=True)


class Deque:
    """One group's deque, in Python."""

    traits = TRAITS

    def __init__(self, algebra: Algebra, span: int) -> None:
        self.nodes: deque[tuple[int, State]] = deque()
        self.operations = 0
        self._algebra = algebra
        self._span = span

    def push(self, number: int, partial: State) -> None:
        while self.nodes and self.nodes[0][0] <= number - self._span:
            self.nodes.popleft()
        if _same(partial, self._algebra.identity):
            return
        while self.nodes and self._is_beaten(self.nodes[-1][1], partial):
            self.nodes.pop()
        self.nodes.append((number, partial))

    def answer(self, lows: Sequence[int]) -> list[State]:
        """The answers of windows that start at these slices, longest first: one walk along the deque."""
        answers, at = [], 0
        for low in lows:
            while at < len(self.nodes) and self.nodes[at][0] < low:
                at += 1
            answers.append(self.nodes[at][1] if at < len(self.nodes) else self._algebra.identity)
        return answers

    def _is_beaten(self, tail: State, partial: State) -> bool:
        self.operations += 1
        return _same(self._algebra.combine(tail, partial), partial)


def _same(one: State, other: State) -> bool:
    """Equal; a NaN inside equals another."""
    if one == other or not isinstance(one, tuple):
        return bool(one == other)
    return all(a == b or (a != a and b != b) for a, b in zip(one, other, strict=True))


class DequeElement:
    """Element by element; as run/element.py is for the other kernels."""

    def __init__(self, algebra: Algebra, ranges: Sequence[int]) -> None:
        self.ranges = list(ranges)
        self.deque = Deque(algebra, max(ranges))
        self._algebra = algebra
        self._slices: dict[int, State] = {}
        self._operations = 0  # of deques that were made anew
        self._next = 0

    @property
    def operations(self) -> int:
        return self._operations + self.deque.operations

    def push(self, partial: State, lows: Sequence[int | None] | None = None) -> list[State]:
        number = self._next
        if lows is None:
            lows = [number - length + 1 for length in self.ranges]
        self._slices[number] = partial
        self._slices.pop(number - max(self.ranges), None)
        self.deque.push(number, partial)
        self._next += 1
        due = sorted({low for low in lows if low is not None})
        found = dict(zip(due, self.deque.answer(due), strict=True))
        return [found[low] for low in lows if low is not None]

    def amend(self, number: int, partial: State) -> None:
        kept = self._slices.get(number, self._algebra.identity)
        self._slices[number] = self._algebra.combine(kept, partial)
        self.rebuild()

    def rebuild(self) -> None:
        self._operations += self.deque.operations
        self.deque = Deque(self._algebra, max(self.ranges))
        for number in sorted(self._slices):
            self.deque.push(number, self._slices[number])


class BatchedDeques:
    """All groups of a shard, in compiled code; as run/batched.py is for the other kernels."""

    def __init__(self, ring: SliceRing, spans: Sequence[int], limits: Sequence[int] | None = None) -> None:
        self.ring = ring
        self.spans = list(spans)
        self._limit = max(limits) if limits else None
        self.operations = 0.0  # for each group, on average
        self._next = ring.first
        self._room = 8
        self._answers: np.ndarray = np.empty((ring.rows.shape[0], 0, 0), ring.algebra.dtype)
        self.rebuild()

    def rebuild(self) -> None:
        groups = self.ring.rows.shape[2]
        columns = self.ring.rows.shape[0]
        self._numbers = np.zeros((groups, self._room), np.int64)
        self._states: np.ndarray = np.empty((columns, groups, self._room), self.ring.algebra.dtype)
        self._head = np.zeros(groups, np.int64)
        self._length = np.zeros(groups, np.int64)
        self._deques = self._new_deques()
        until = self._next
        self._next = max(self.ring.first, until - max(self.spans))
        self._run(until, NONE_DUE)

    def advance(self, dues: np.ndarray) -> np.ndarray:
        reach = int((dues[:, 0] - dues[:, 1]).max()) + 1 if len(dues) else 1
        if reach > max(self.spans):
            self.spans = [grown(span, reach, self._limit) for span in self.spans]
            self.rebuild()
        self._widen()
        answers = int((dues[:, 4] + dues[:, 2]).max()) if len(dues) else 0
        columns, _, groups = self.ring.rows.shape
        if self._answers.shape[1] < answers or self._answers.shape[2] != groups:
            self._answers = np.empty((columns, answers, groups), self.ring.algebra.dtype)
        self._run(self.ring.next, dues)
        return self._answers[:, :answers, : self.ring.groups]

    def mend(self, numbers: Sequence[int]) -> None:
        """Late partials were folded into these slices of the ring."""
        if any(self.ring.first <= number < self._next for number in numbers):
            self.rebuild()

    def keep(self, groups: np.ndarray) -> None:
        self.rebuild()

    def _run(self, until: int, dues: np.ndarray) -> None:
        if self.ring.algebra.dtype is object:
            self._run_objects(until, dues)
            return
        progress = np.zeros(3, np.int64)
        while not self._run_compiled(until, dues, progress):
            self._deepen()
        self.operations += progress[2] / max(1, self.ring.groups)
        self._next = until

    def _run_compiled(self, until: int, dues: np.ndarray, progress: np.ndarray) -> bool:
        algebra = self.ring.algebra
        number = np.dtype(algebra.dtype).type
        return bool(
            drive_deques(
                algebra,
                flat(self.ring.rows),
                flat(self._states),
                flat(self._answers if self._answers.size else self._states),
                tuple(number(value) for value in algebra.identity),
                (self._numbers, self._head, self._length),
                max(self.spans),
                (self._next, until, self.ring.groups, self.ring.rows.shape[2]),
                dues,
                progress,
            )
        )

    def _deepen(self) -> None:
        """Double the room of every deque, unrolled so that each starts at place 0 again."""
        order = (self._head[:, None] + np.arange(self._room)) % self._room
        at = np.arange(len(self._head))[:, None]
        self._numbers = np.concatenate([self._numbers[at, order], np.zeros_like(self._numbers)], axis=1)
        columns, groups, room = self._states.shape
        deeper = np.empty((columns, groups, 2 * room), self._states.dtype)
        deeper[:, :, :room] = self._states[:, at, order]
        self._states = deeper
        self._head[:] = 0
        self._room *= 2

    def _widen(self) -> None:
        missing = self.ring.rows.shape[2] - len(self._head)
        if missing > 0:
            self._numbers = np.concatenate([self._numbers, np.zeros((missing, self._room), np.int64)])
            more = np.empty((self._states.shape[0], missing, self._room), self._states.dtype)
            self._states = np.ascontiguousarray(np.concatenate([self._states, more], axis=1))
            self._head = np.concatenate([self._head, np.zeros(missing, np.int64)])
            self._length = np.concatenate([self._length, np.zeros(missing, np.int64)])
        self._deques += self._new_deques()[len(self._deques) :]

    def _new_deques(self) -> list[Deque]:
        if self.ring.algebra.dtype is not object:
            return []
        return [Deque(self.ring.algebra, max(self.spans)) for _ in range(self.ring.rows.shape[2])]

    def _run_objects(self, until: int, dues: np.ndarray) -> None:
        for group in range(self.ring.groups):
            column, own = RingColumn(self.ring, group), self._deques[group]
            before, due = own.operations, 0
            for number in range(self._next - 1, until):
                if number >= self._next:
                    own.push(number, column.get(number, self.ring.algebra.identity))
                while due < len(dues) and dues[due, 0] <= number:
                    _, low, count, _, answer = dues[due].tolist()
                    self._answers[0, answer : answer + count, group] = _objects(
                        own.answer([low + i for i in range(count)])
                    )
                    due += 1
            self.operations += (own.operations - before) / max(1, self.ring.groups)
        self._next = until


def _objects(states: list[State]) -> np.ndarray:
    column = np.empty(len(states), object)
    column[:] = states
    return column


@compiled
def drive_deques(op, slices, states, answers, empty, deques, span, bounds, dues, progress):
    """Push slices and answer what is due, for all groups; False: a deque is full and needs more room."""
    numbers, heads, lengths = deques
    first, until, groups, width = bounds
    room = numbers.shape[1]
    while True:
        newest = first + progress[0] - 1
        begin = progress[1]
        end = begin
        while end < len(dues) and dues[end, 0] <= newest:
            end += 1
        if end > begin:
            for group in range(groups):
                _answer(op, states, answers, empty, deques, group, width, dues, begin, end)
            progress[1] = end
        if newest + 1 >= until:
            return True
        for group in range(groups):
            if lengths[group] == room:
                return False
        number = newest + 1
        at = U(number % slices.depth) * U(width)
        compared = 0
        for group in range(groups):
            head, length = heads[group], lengths[group]
            while length > 0 and numbers[group, head] <= number - span:
                head = (head + 1) % room
                length -= 1
            partial = load(op, slices, at + U(group))
            if not same(op, partial, empty):
                while length > 0:
                    tail = load(op, states, U(group * room + (head + length - 1) % room))
                    compared += 1
                    if not same(op, combine(op, tail, partial), partial):
                        break
                    length -= 1
                place = (head + length) % room
                numbers[group, place] = number
                save(op, states, U(group * room + place), partial)
                length += 1
            heads[group] = head
            lengths[group] = length
        progress[0] += 1
        progress[2] += compared


@compiled
def _answer(op, states, answers, empty, deques, group, width, dues, begin, end):
    """All answers of one group after one slice, longest windows first: one walk along its deque."""
    numbers, heads, lengths = deques
    room = numbers.shape[1]
    head, length = heads[group], lengths[group]
    at = 0
    for due in range(begin, end):
        for i in range(dues[due, 2]):
            low = dues[due, 1] + i
            while at < length and numbers[group, (head + at) % room] < low:
                at += 1
            out = U((dues[due, 4] + i) * width + group)
            if at < length:
                save(op, answers, out, load(op, states, U(group * room + (head + at) % room)))
            else:
                save(op, answers, out, empty)
