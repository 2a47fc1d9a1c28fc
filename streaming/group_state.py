"""The state of a group lane in one shard: tables of rows, kept by buckets of groups.

A batch works on the buckets that it has rows for, and on those in which time alone ends something, on all of
them in one go. Only these are stored.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec
import numpy as np

from optimizer.group_windows import SessionWindow
from streaming import group_rows
from streaming.aggregates import AGGREGATES
from streaming.aggregates.states import PARTS
from streaming.count_windows import CountWindows
from streaming.group_index import GroupIndex
from streaming.group_lanes import GroupLane
from streaming.group_rows import PackedRows, Rows
from streaming.group_steps import Tables, Windows
from streaming.results import ResultBlock, answers, as_counts
from streaming.sessions import Sessions

BUCKET = 512  # groups whose rows are stored together


class Advanced(NamedTuple):
    """What a batch has done to a lane."""

    answers: Rows  # by end, then group, then time; `mark` is where each window ends
    touched: list[int]  # buckets to be stored
    emptied: list[int]


class GroupLaneState:
    def __init__(self, lane: GroupLane) -> None:
        self.lane = lane
        self.parts = [PARTS[name] for name in lane.parts]
        self.seconds = 0.0
        self.steps = 0
        self.buckets: dict[int, Tables] = {}
        self._due: dict[int, int] = {}  # by bucket, the watermark at which there is something to do
        self._arrived: list[Rows] = []
        self._windows = self._new_windows()

    def _new_windows(self) -> Windows:
        window = self.lane.window
        if isinstance(window, SessionWindow):
            return Sessions(window, self.parts)
        return CountWindows(window, self.parts)

    def take(self, rows: Rows, groups: np.ndarray) -> None:
        """Rows of a map task; `groups` are the ids of theirs."""
        self._arrived.append(replace(rows, group=groups[rows.group]))

    def advance(self, now: int, whole_from: int) -> Advanced:
        """Take in what has come; the windows that are final with the watermark at `now`, and whole.

        Before `whole_from` events may be missing: windows that one of them could be in are not told.
        """
        began = time.perf_counter()
        arrived = Rows.together([Rows.none(self._windows.tables[0]), *self._arrived])
        self._arrived = []
        busy = {bucket for bucket, due in self._due.items() if due <= now}
        busy.update(np.unique(arrived.group // BUCKET).tolist())
        if not busy:
            self.steps, self.seconds = 0, 0.0
            return Advanced(arrived, [], [])
        step = self._windows.step(self._held(sorted(busy)), arrived, now)
        self.steps = step.combined
        found = step.answers.only(step.answers.first - self._windows.reach_back >= whole_from)
        found = found.only(np.argsort(found.mark, kind="stable"))
        emptied = [bucket for bucket in sorted(busy) if not self._put(bucket, step.held, now)]
        self.seconds = time.perf_counter() - began
        return Advanced(found, sorted(busy.difference(emptied)), emptied)

    def _held(self, buckets: list[int]) -> Tables:
        known = [self.buckets[bucket] for bucket in buckets if bucket in self.buckets]
        nothing = (Rows.none(algebras) for algebras in self._windows.tables)
        return tuple(
            Rows.together([none, *(tables[at] for tables in known)]) for at, none in enumerate(nothing)
        )

    def _put(self, bucket: int, held: Tables, now: int) -> bool:
        """Keep the bucket's part of these tables; False where there is none."""
        tables = tuple(_of_bucket(table, bucket) for table in held)
        self.buckets.pop(bucket, None)
        self._due.pop(bucket, None)
        if not any(len(table) for table in tables):
            return False
        self.buckets[bucket] = tables
        self._due[bucket] = self._windows.due(tables, now)
        return True

    def held_groups(self) -> np.ndarray:
        """The ids of the groups that have rows."""
        found = [table.group for tables in self.buckets.values() for table in tables]
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)

    def bucket_bytes(self, bucket: int) -> bytes:
        return msgspec.msgpack.encode([group_rows.pack(table) for table in self.buckets[bucket]])

    def restore(self, bucket: int, data: bytes, watermark: int) -> None:
        packed = msgspec.msgpack.decode(data, type=list[PackedRows])
        tables = tuple(map(group_rows.unpack, packed, self._windows.tables))
        self.buckets[bucket] = tables
        self._due[bucket] = self._windows.due(tables, watermark)

    def results(self, found: Rows, index: GroupIndex, about: dict[str, Any]) -> Iterator[ResultBlock]:
        """A block for each query and window end; `about` is what all blocks of a batch have in common."""
        if not len(found):
            return
        bounds = np.flatnonzero(np.diff(found.mark)) + 1
        spans = list(zip([0, *bounds.tolist()], [*bounds.tolist(), len(found)], strict=True))
        keys = [index.raw(index.numbers_of(found.group[low:high])) for low, high in spans]
        at = {part.name: place for place, part in enumerate(self.parts)}
        for asked in self.lane.asked:
            aggregate = AGGREGATES[asked.aggregate]
            states = [found.parts[at[part.name]] for part in aggregate.states]
            values = found.values if self.lane.field else found.events  # a count of nothing counts events
            numbers, others = answers(aggregate, values, states)
            for told, (low, high) in zip(keys, spans, strict=True):
                starts = found.first[low:high]
                yield ResultBlock(
                    query=asked.query,
                    start=int(starts.min()),
                    end=int(found.mark[low]),
                    final=True,
                    keys=told,
                    values=numbers[low:high].tobytes(),
                    counts=as_counts(found.events[low:high]).tobytes(),
                    others=None if others is None else others[low:high],
                    starts=starts.tobytes(),
                    **about,
                )

    def meter(self) -> dict[str, Any]:
        tables = [table for tables in self.buckets.values() for table in tables]
        return {
            "kernel_steps": self.steps,
            "seconds": self.seconds,
            "slices": sum(map(len, tables)),
            "state_bytes": sum(table.nbytes for table in tables),
        }


def _of_bucket(table: Rows, bucket: int) -> Rows:
    low, high = np.searchsorted(table.group, (bucket * BUCKET, (bucket + 1) * BUCKET))
    return table.only(np.arange(low, high))
