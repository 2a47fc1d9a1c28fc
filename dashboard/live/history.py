"""The recent past of every query, kept as the blocks in which results arrive.

Blocks may come in any order and any number of times (a replayed batch sends its blocks again): per query,
window end and shard the block of the greatest rank wins, so only the set of blocks seen matters.
"""

from bisect import insort
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import islice
from math import isfinite
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streaming.results import GroupKey, ResultBlock

HORIZON_MS = 15 * 60_000
MAX_POINTS = 3_000


class Point(NamedTuple):
    """One window of one group."""

    end: int
    value: float | None
    events: int
    final: bool


class _Roster:
    """The groups of a block; blocks with the same groups share one, as the keys would outweigh the values.

    A group with several count windows that end in the same millisecond is there with the last of them.
    """

    def __init__(self, groups: list[GroupKey]) -> None:
        self.position = {tuple(group): at for at, group in enumerate(groups)}
        self.groups = list(self.position)


@dataclass(slots=True)
class _Cell:
    """What is kept of the best block so far of one (window end, shard)."""

    rank: tuple[bool, int]
    revision: int
    roster: _Roster
    values: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]

    @property
    def final(self) -> bool:
        return self.rank[0]

    def point(self, end: int, group: GroupKey) -> Point | None:
        at = self.roster.position.get(group)
        if at is None:
            return None
        return Point(end, _finite(float(self.values[at])), int(self.counts[at]), self.final)


@dataclass
class WindowHistory:
    """The kept points of one single-window query: 15 minutes up to its newest final result."""

    ends: list[int] = field(default_factory=list)  # ascending
    cells: dict[int, dict[int, _Cell]] = field(default_factory=dict)  # by window end, then shard
    newest_final: int | None = None
    revision: int = 0
    _touched: dict[int, int] = field(default_factory=dict)  # end → revision, oldest change first
    _rosters: dict[int, _Roster] = field(default_factory=dict)  # newest per shard
    _used: Counter[_Roster] = field(default_factory=Counter)  # in how many cells
    _groups: set[GroupKey] | None = None  # of those in use, while these stay the same
    _top: tuple[int, int, list[GroupKey]] | None = None  # revision, count and answer of the last `top`

    def add(self, block: ResultBlock, revision: int) -> bool:
        """Take a block in; False when it is out of reach or not newer than what is there."""
        if self._too_old(block.end):
            return False
        rank = (block.final, block.batch)
        known = self.cells.get(block.end, {}).get(block.shard)
        if known is not None and known.rank >= rank:
            return False
        if block.end not in self.cells:
            insort(self.ends, block.end)
        cell = _Cell(rank, revision, self._roster(block), block_values(block), block_counts(block))
        self.cells.setdefault(block.end, {})[block.shard] = cell
        self._count_use(cell, 1)
        if known is not None:
            self._count_use(known, -1)
        self._touched.pop(block.end, None)
        self._touched[block.end] = self.revision = revision
        if block.final:
            self.newest_final = max(block.end, self.newest_final or block.end)
        self._prune()
        return block.end in self.cells

    def points(self, group: GroupKey, since: int = 0) -> list[Point]:
        """The group's points in order of time; with `since`, those that changed after that revision."""
        found = (self._point(end, group) for end in self._changed_after(since))
        return sorted(point for point in found if point is not None)

    def groups(self) -> set[GroupKey]:
        """Every group that has a point."""
        if self._groups is None:
            self._groups = {group for roster in self._used for group in roster.groups}
        return self._groups

    def top(self, count: int) -> list[GroupKey]:
        """The groups with the greatest newest final values (provisional ones while nothing is final)."""
        if self._top is None or self._top[:2] != (self.revision, count):
            newest = self._newest_values()
            ranked = nlargest(count, newest.items(), key=lambda item: (item[1] is not None, item[1] or 0.0))
            self._top = (self.revision, count, [group for group, _ in ranked])
        return self._top[2]

    def _newest_values(self) -> dict[GroupKey, float | None]:
        # Shards deliver one after the other: the end before the newest fills in for those still to come.
        finals = (end for end in reversed(self.ends) if any(cell.final for cell in self.cells[end].values()))
        values: dict[GroupKey, float | None] = {}
        for end in reversed([*islice(finals, 2)] or self.ends[:-3:-1]):
            for cell in self.cells[end].values():
                found = cell.values.tolist()
                values.update((group, _finite(found[at])) for group, at in cell.roster.position.items())
        return values

    def _point(self, end: int, group: GroupKey) -> Point | None:
        found = [cell for cell in self.cells[end].values() if group in cell.roster.position]
        return max(found, key=lambda cell: cell.rank).point(end, group) if found else None

    def _changed_after(self, revision: int) -> Iterator[int]:
        for end in reversed(self._touched):
            if self._touched[end] <= revision:
                return
            yield end

    def _roster(self, block: ResultBlock) -> _Roster:
        known = self._rosters.get(block.shard)
        groups = block.groups
        if known is None or known.groups != groups:
            known = self._rosters[block.shard] = _Roster(groups)
        return known

    def _too_old(self, end: int) -> bool:
        full = len(self.ends) >= MAX_POINTS and end < self.ends[0]
        expired = self.newest_final is not None and end <= self.newest_final - HORIZON_MS
        return full or expired

    def _prune(self) -> None:
        while len(self.ends) > MAX_POINTS or self._too_old(self.ends[0]):
            end = self.ends.pop(0)
            for cell in self.cells.pop(end).values():
                self._count_use(cell, -1)
            del self._touched[end]

    def _count_use(self, cell: _Cell, by: int) -> None:
        before = self._used[cell.roster]
        self._used[cell.roster] += by
        if before == 0:
            self._groups = None
        elif before + by == 0:
            del self._used[cell.roster]
            self._groups = None


class History:
    """The windows of all queries, by single-window query id; a revision counts every change."""

    def __init__(self) -> None:
        self.windows: dict[str, WindowHistory] = {}
        self.revision = 0

    def add(self, block: ResultBlock) -> bool:
        window = self.windows.setdefault(block.query, WindowHistory())
        changed = window.add(block, self.revision + 1)
        self.revision += changed
        return changed

    def keep_only(self, query_keys: set[str]) -> None:
        """Drop the history of queries that no longer exist."""
        for query_id in [known for known in self.windows if query_key(known) not in query_keys]:
            del self.windows[query_id]


def query_key(query_id: str) -> str:
    """The saved query's key of a single-window query id.

    >>> query_key("hot@1m/10s"), query_key("hot@1m/10s max(a || '@')")
    ('hot', 'hot')
    """
    return query_id.partition("@")[0]  # a key has no “@”; an expression may


def block_values(block: ResultBlock) -> npt.NDArray[np.float64]:
    return np.frombuffer(block.values, np.float64)


def block_counts(block: ResultBlock) -> npt.NDArray[np.int64]:
    return block.event_counts()


def _finite(value: float) -> float | None:
    """None for NaN (no value in the window) and for infinities, which JSON cannot carry."""
    return value if isfinite(value) else None
