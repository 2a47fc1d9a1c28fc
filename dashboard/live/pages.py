"""Windows of a query that have the same groups, kept together: a row for each window, a column for a group.

Of a query that answers every second a quarter of an hour is a thousand windows. As objects they would take
many times the memory of their values, and a first picture of them ten times as long to gather.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streaming.results import GroupKey, ResultBlock

FEWEST_ROWS = 4
GONE = -1
FACTS = np.dtype([("end", np.int64), ("revision", np.int64), ("batch", np.int64), ("final", np.bool_)])

Rank = tuple[bool, int]  # whether it is final, and its batch: of two blocks of one window the greater stays


class Lines(NamedTuple):
    """Some groups in some windows, in order of time."""

    groups: list[GroupKey]
    ends: list[int]
    values: list[list[float | None]]  # by group
    finals: list[bool]
    batches: list[int]


class Page:
    """Rows are written once, or again when a better block of the same window comes."""

    def __init__(self, block: ResultBlock) -> None:
        groups = block.groups
        # A group with several count windows that end in the same millisecond is there with the last of them.
        self._position = {tuple(group): at for at, group in enumerate(groups)}
        self._keys = bytes(block.keys)
        self._rows: dict[int, int] = {}  # by window end
        self._used = 0
        self._facts = np.empty(FEWEST_ROWS, FACTS)
        self._values = np.empty((FEWEST_ROWS, len(groups)), np.float64)
        self.revision = 0  # of its newest change

    def __bool__(self) -> bool:
        """Whether it has any row."""
        return bool(self._rows)

    def has_groups_of(self, block: ResultBlock) -> bool:
        return bytes(block.keys) == self._keys

    @property
    def groups(self) -> list[GroupKey]:
        return list(self._position)

    def rank(self, end: int) -> Rank:
        facts = self._facts[self._rows[end]]
        return bool(facts["final"]), int(facts["batch"])

    def put(self, block: ResultBlock, revision: int) -> None:
        row = self._rows.get(block.end)
        if row is None:
            if self._used == len(self._facts):
                self._make_room()
            row = self._rows[block.end] = self._used
            self._used += 1
        self._facts[row] = (block.end, revision, block.batch, block.final)
        self._values[row] = np.frombuffer(block.values, np.float64)
        self.revision = revision

    def drop(self, end: int) -> None:
        self._facts[self._rows.pop(end)]["revision"] = GONE

    def newest(self, end: int) -> Iterable[tuple[GroupKey, float | None]]:
        """Every group's value in one window."""
        row = _finite(self._values[self._rows[end]])
        return ((group, row[at]) for group, at in self._position.items())

    def lines(self, groups: Iterable[GroupKey], since: int) -> Lines:
        """Of those of the groups that are here; rows that changed after that revision."""
        here = [group for group in groups if group in self._position]
        rows = np.flatnonzero(self._facts["revision"][: self._used] > since)
        rows = rows[np.argsort(self._facts["end"][rows], kind="stable")]
        facts = self._facts[rows]
        columns = self._values[np.ix_(rows, np.array([self._position[group] for group in here], np.intp))].T
        ends, finals, batches = (facts[name].tolist() for name in ("end", "final", "batch"))
        return Lines(here, ends, [_finite(column) for column in columns], finals, batches)

    def _make_room(self) -> None:
        """Rows that are gone make room; where they are few, there is room for as many again."""
        kept = np.flatnonzero(self._facts["revision"] != GONE)
        size = max(FEWEST_ROWS, 2 * len(kept)) if 2 * len(kept) > len(self._facts) else len(self._facts)
        facts, values = np.empty(size, FACTS), np.empty((size, self._values.shape[1]), np.float64)
        facts[: len(kept)], values[: len(kept)] = self._facts[kept], self._values[kept]
        self._facts, self._values, self._used = facts, values, len(kept)
        self._rows = {end: row for row, end in enumerate(facts["end"][: len(kept)].tolist())}


def _finite(values: npt.NDArray[np.float64]) -> list[float | None]:
    """None for NaN (no value in the window) and for infinities, which JSON cannot carry."""
    found: list[float | None] = values.tolist()
    for at in np.flatnonzero(~np.isfinite(values)).tolist():
        found[at] = None
    return found
