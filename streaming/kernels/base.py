"""The kernel protocol: slices go in one by one, answers over the newest of them come out.

A kernel is a named tuple of integer arrays (where things are) and says in row operations what is combined.
Slices are numbered 0, 1, 2, …; those before the first hold nothing. A window is `slices low to newest`; the
`low` of a query never goes back, unless the kernel rewinds. Windows of a query may span varying numbers of
slices, `span` at most.

What a kernel keeps is derived from the slices and can be made anew from them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from streaming.compiled import compiled, generic
from streaming.kernels.run.operations import answer_none, room


@dataclass(frozen=True)
class Traits:
    """What has to be known of a kernel before one is made."""

    name: str
    label: str
    needs: str | None = None  # the property an algebra must have; None: any will do
    many: bool = True  # answers several windows from one structure
    running: bool = False  # its store holds running states
    rewinds: bool = False  # a query may go back to an earlier low
    apart: bool = False  # queries share nothing, and slices are taken in with answers: see drive_apart


class Kernel(Protocol):
    traits: Traits

    @classmethod
    def new(cls, spans: Sequence[int], first: int, commutative: bool, prefilled: bool = False) -> Self:
        """For queries whose windows span at most so many slices each, from slice `first` on.

        `prefilled`: windows are full of slices that hold nothing, as the papers start.
        """

    @classmethod
    def for_rows(cls, spans: Sequence[int], first: int, commutative: bool) -> Self:
        """The same, arranged for rows of many groups: only kernels that make a difference have this."""

    def rows(self) -> int:
        """How many rows its store has."""

    def effort(self) -> int:
        """More operations than one slice or one answer can ever take."""

    def push(self, sink: Any, number: int) -> None:
        """Take slice `number` in, the next one."""

    def answer(self, sink: Any, newest: int, low: int, query: int, out: int) -> None:
        """Answer `out` is that of slices `low` to `newest`, for this query."""

    def forget(self, oldest: int) -> None:
        """Slices before `oldest` may be gone: only kernels that look back at slices have this."""

    def amend(self, sink: Any, number: int, newest: int) -> bool:
        """Slice `number` has changed; False: the kernel has to be made anew."""


@generic
def push(self, sink, number):
    """Take the next slice in."""


@generic
def answer(self, sink, newest, low, query, out):
    """Answer one window of one query."""


@generic
def answer_every(self, sink, newest, low, count, query, out):
    """Answer the windows that start with slices low, low + 1, …: every range at once."""


@generic
def amend(self, sink, number, newest):
    """Mend what depends on a slice that has changed."""


@generic
def effort(self):
    """More operations than one slice or one answer can take."""


def answer_one_by_one(self, sink, newest, low, count, query, out):
    """What `answer_every` is for most kernels."""
    for i in range(count):
        answer(self, sink, newest, low + i, query, out + i)


def made_anew(self, sink, number, newest):
    """What `amend` is for most kernels."""
    return False


@compiled
def drive(kernel, sink, first, count, dues, progress):
    """Push slices `first` on and answer what is due after each, until all is done or the sink is full.

    `dues` has a row (after which slice, low, how many lows, query, answer) for each, by slices, then lows.
    `progress` says how many slices were pushed and how many dues answered.
    """
    while True:
        newest = first + progress[0] - 1
        if progress[1] < len(dues) and dues[progress[1], 0] <= newest:
            due = dues[progress[1]]
            if room(sink) < effort(kernel) * due[2]:
                return False
            if due[1] > newest:
                answer_none(sink, due[4])
            elif due[2] == 1:
                answer(kernel, sink, newest, due[1], due[3], due[4])
            else:
                answer_every(kernel, sink, newest, due[1], due[2], due[3], due[4])
            progress[1] += 1
        elif progress[0] < count:
            if room(sink) < effort(kernel):
                return False
            push(kernel, sink, newest + 1)
            progress[0] += 1
        else:
            return True


@compiled
def drive_apart(kernel, sink, first, count, dues, progress):
    """The same for kernels whose queries share nothing and take slices in with answers: dues by query."""
    while progress[1] < len(dues):
        due = dues[progress[1]]
        if room(sink) < effort(kernel) * due[2]:
            return False
        if due[1] > due[0]:
            answer_none(sink, due[4])
        elif due[2] == 1:
            answer(kernel, sink, due[0], due[1], due[3], due[4])
        else:
            answer_every(kernel, sink, due[0], due[1], due[2], due[3], due[4])
        progress[1] += 1
    return True
