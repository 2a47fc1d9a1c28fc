"""The job's map task and shard in one process: what Spark does between them for a live stream is left out."""

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa

from optimizer.plan import Plan
from streaming import shuffle, task
from streaming.accounting import Counts
from streaming.lanes import EARLIEST, Timeline
from streaming.left_out import LeftOut
from streaming.results import ResultBlock
from streaming.shard import END_OF_DATA, Shard, ShardMeta
from streaming.sources import SourceSpec
from streaming.task import TaskSetup
from streaming.watermark import Watermark


class Engine:
    """One source with one shard; every batch goes through both, as a micro-batch of Spark does."""

    def __init__(self, source: SourceSpec, plan: Plan, partitions: Collection[int], whole: bool) -> None:
        """Of a log with these partitions; `whole` where nothing lies before what will be taken."""
        timeline = Timeline().adopt(plan, EARLIEST)
        watermark = Watermark(source.allowed_lateness, list(partitions))
        whole_from = EARLIEST if whole else EARLIEST + 1  # the shard finds out from when on
        self._names = {query.id: query.name for query in plan.all_queries}
        self._setup = TaskSetup(source, timeline, "", "", shards=1)
        self._shard = Shard(0, source, ShardMeta(-1, timeline, watermark, whole_from))
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
