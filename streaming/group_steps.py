"""What a kind of group windows does in one batch, whichever it is."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from streaming.aggregates.algebra import Algebra
from streaming.group_rows import Rows

NEVER = 2**63 - 1  # later than any watermark
Tables = tuple[Rows, ...]


class Step(NamedTuple):
    held: Tables  # in order of groups
    answers: Rows  # what is final, in order of groups, then of time; `mark` is where each window ends
    combined: int  # states


class Windows(Protocol):
    @property
    def tables(self) -> Sequence[Sequence[Algebra]]:
        """The states that each of its tables has."""

    @property
    def reach_back(self) -> int:
        """How long before its first event another would have changed a window."""

    def step(self, held: Tables, arrived: Rows, now: int) -> Step:
        """What is held after these rows have come and the watermark is `now`, and what is final by then."""

    def due(self, held: Tables, watermark: int) -> int:
        """The least watermark at which there is something to do, if nothing comes."""
