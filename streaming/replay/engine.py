"""The job's map task and shard in one process: what Spark does between them for a live stream is left out."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pyarrow as pa

from optimizer.plan import Plan
from streaming import shuffle, task
from streaming.accounting import Counts
from streaming.lanes import EARLIEST, LATEST, Timeline
from streaming.left_out import LeftOut
from streaming.outcomes import Outcome
from streaming.results import ResultBlock
from streaming.shard import END_OF_DATA, Shard, ShardMeta
from streaming.sources import SourceSpec
from streaming.task import TaskSetup
from streaming.watermark import Watermark

ANSWERS_AT_ONCE = 2_000_000  # numbers that are worked out before anybody asks whether there are too many


class TooManyResults(ValueError):
    """More than can be kept; the message is the sentence shown to people."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"There would be more than {most:,} results:"
            " begin later, slide less often or group by fewer fields."
        )


class _Shard(Shard):
    """Stops where there are more final results than wanted, before they fill the memory.

    One event far ahead may close any number of windows: they are answered some at a time.
    """

    most: int | None = None
    told = 0

    def _answer_finals(self, before: int, now: int, batch: int, outcome: Outcome) -> None:
        for until in self._stages(before, now):
            known = len(outcome.blocks)
            super()._answer_finals(before, until, batch, outcome)
            self._count(outcome.blocks[known:])
            before = until

    def _answer_group_windows(self, now: int, batch: int, outcome: Outcome) -> None:
        known = len(outcome.blocks)
        super()._answer_group_windows(now, batch, outcome)
        self._count(outcome.blocks[known:])

    def _count(self, finals: list[ResultBlock]) -> None:
        self.told += sum(block.size for block in finals)
        if self.most is not None and self.told > self.most:
            raise TooManyResults(self.most)

    def _stages(self, before: int, now: int) -> Iterator[int]:
        """Instants up to `now` between which no more windows end than are answered at once."""
        members, greatest = self.meta.timeline.members, self.meta.watermark.greatest
        if members and greatest is not None:
            longest = max(member.range for member in members)
            last = min(now, greatest + longest)
            length = self._stage_length()
            until = before
            while (until := self._busy_from(until, longest) + length) < last:
                yield until
        yield now

    def _stage_length(self) -> int:
        """Milliseconds in which so many windows end."""
        of_groups = {lane: len(self._group_index(slices)) for lane, slices in self.lanes.items()}
        members = self.meta.timeline.members
        rate = sum(of_groups[member.segments[-1].lane] / member.slide for member in members)
        return max(1, int(ANSWERS_AT_ONCE / rate)) if rate else LATEST

    def _busy_from(self, instant: int, longest: int) -> int:
        """From when on windows hold something that end after an instant."""
        starts = (slices.first_start_from(instant - longest) for slices in self.lanes.values())
        return max(instant, min(starts))


class Engine:
    """One source with one shard; every batch goes through both, as a micro-batch of Spark does."""

    def __init__(
        self,
        source: SourceSpec,
        plan: Plan,
        partitions: Collection[int],
        whole: bool,
        most: int | None = None,
    ) -> None:
        """Of a log with these partitions; `whole` where nothing lies before what will be taken.

        Raises TooManyResults as soon as there are more than `most`.
        """
        timeline = Timeline().adopt(plan, EARLIEST)
        watermark = Watermark(source.allowed_lateness, list(partitions))
        whole_from = EARLIEST if whole else EARLIEST + 1  # the shard finds out from when on
        self._names = {query.id: query.name for query in plan.all_queries}
        self._setup = TaskSetup(source, timeline, "", "", shards=1)
        self._shard = _Shard(0, source, ShardMeta(-1, timeline, watermark, whole_from))
        self._shard.most = most
        self.blocks: list[ResultBlock] = []  # final ones
        self.provisional: list[ResultBlock] = []  # of windows that the last batch moved and left open
        self.left_out = LeftOut()  # by query

    @property
    def timeline(self) -> Timeline:
        return self._shard.meta.timeline

    @property
    def counts(self) -> Counts:
        return self._shard.meta.totals

    @property
    def whole_from(self) -> int:
        return self._shard.meta.whole_from

    @property
    def watermark(self) -> Watermark:
        return self._shard.meta.watermark

    def groups(self, group_by: tuple[str, ...]) -> int:
        """How many groups of a group-by are kept."""
        index = self._shard.groups.get(group_by)
        return 0 if index is None else len(index)

    def take(self, rows: Sequence[pa.RecordBatch]) -> None:
        meta = self._shard.meta
        greatest = {number: part.greatest for number, part in meta.watermark.partitions.items()}
        [report] = task.work(self._setup, meta.timeline, greatest, rows, meta.watermark.value)
        outcome = self._shard.apply([shuffle.decode(report)], meta.batch + 1)
        self.blocks += [block for block in outcome.blocks if block.final]
        self.provisional = [block for block in outcome.blocks if not block.final]
        self._note(outcome.left_out)

    def _note(self, left_out: LeftOut) -> None:
        """Of a query's windows any will do: all are given the same values."""
        lanes = [(member.query, member.segments[-1].lane) for member in self.timeline.members]
        lanes += [(asked.query, lane.id) for lane in self.timeline.group_lanes for asked in lane.asked]
        self.left_out.add({self._names[query]: left_out[lane] for query, lane in lanes if lane in left_out})

    def end(self) -> None:
        """Close every window."""
        columns = [
            np.array([task.PLAN], np.int32),
            np.zeros(1, np.int32),
            np.zeros(1, np.int64),
            np.zeros(1, np.int64),
            [END_OF_DATA],
            np.zeros(1, np.int64),
        ]
        self.take([pa.RecordBatch.from_arrays(list(map(pa.array, columns)), names=list(task.INPUT_COLUMNS))])
