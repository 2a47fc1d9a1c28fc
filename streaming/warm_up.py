"""Compile the kernels before they are needed: `python -m streaming.warm_up` fills numba's cache on disk.

Without it the first batches of a new installation would wait several seconds for the compiler, in every
worker process. With `--all` whatever a query can ask for is compiled, at the lowest priority: a keeper that
meets an aggregate for the first time would hold up the results of all sources for as long.
"""

import os
import sys
from collections.abc import Sequence
from itertools import product

import msgspec
import pyarrow as pa
from kafka.record import MemoryRecordsBuilder

from optimizer.group_trees import GroupTree
from optimizer.group_windows import CountWindow, GroupQuery, GroupWindow, SessionWindow
from optimizer.kernels import KERNELS as PLANNED_KERNELS
from optimizer.plan import Plan, Tree
from optimizer.queries import Query
from optimizer.windows import Window
from streaming import shuffle, task
from streaming.aggregates import AGGREGATES
from streaming.aggregates.algebra import lacks
from streaming.aggregates.states import PARTS
from streaming.formats import warm_up as formats
from streaming.kernels import KERNELS, traits_of
from streaming.lanes import EARLIEST, Timeline
from streaming.record_batches import Messages, RecordBatches
from streaming.shard import END_OF_DATA, Shard, ShardMeta
from streaming.sources import FieldType, SourceSpec
from streaming.task import TaskSetup
from streaming.watermark import Watermark

# Every kernel with an aggregate that it can compute, and the aggregates that are asked for most.
KERNEL_USES = (
    *(("count" if lacks(PARTS["max"].algebra, traits_of(name).needs) else "max", name) for name in KERNELS),
    ("mean", "slickdeque_inv"),
    ("mean", "flatfit"),
    ("min", "slickdeque_noninv"),
    ("min", "flatfit"),
)
# States that are Python values are not compiled, only what is around them: one aggregate stands for all.
EVERY_AGGREGATE = (
    *(
        name
        for name, aggregate in AGGREGATES.items()
        if all(each.dtype is not object for each in aggregate.parts)
    ),
    "collect",
)
EVERY_USE = tuple(
    (aggregate, kernel.name)
    for aggregate in EVERY_AGGREGATE
    for kernel in PLANNED_KERNELS
    if kernel.allows(aggregate)
)

GROUP_WINDOWS: tuple[GroupWindow, ...] = (CountWindow(4, 2), SessionWindow(1_000))
SECONDS = 40  # of event time
LOWEST_PRIORITY = 19
_FIELDS: tuple[tuple[str, FieldType], ...] = (("ts", "integer"), ("k", "text"), ("v", "number"))


def warm_up(uses: Sequence[tuple[str, str]] = KERNEL_USES, grouped: Sequence[str] = ("mean",)) -> None:
    """Send a few events through map task, shard and kernels; `grouped` are for windows per group."""
    source = SourceSpec("warm-up", "", "", "json", _FIELDS, "ts")
    trees = tuple(
        Tree(str(number), (_query(f"q{number}", aggregate),), kernel, edge_rate=1, omega=1, cost=1)
        for number, (aggregate, kernel) in enumerate(uses)
    )
    group_trees = tuple(
        GroupTree(str(number), (GroupQuery(f"q{number}", "", aggregate, "v", window, ("k",)),), cost=1)
        for number, (aggregate, window) in enumerate(product(grouped, GROUP_WINDOWS), len(trees))
    )
    plan = Plan(source.id, 1, "no_share", trees, group_trees=group_trees)
    timeline = Timeline().adopt(plan, EARLIEST)
    shards = [
        Shard(number, source, ShardMeta(-1, timeline, Watermark(source.allowed_lateness, [])))
        for number in range(2)
    ]
    setup = TaskSetup(source, timeline, "", "", len(shards))
    events = [
        (task.EVENT, msgspec.json.encode({"ts": at * 1_000, "k": "a", "v": at})) for at in range(SECONDS)
    ]
    for batch, rows in enumerate((events, [(task.PLAN, END_OF_DATA)])):
        reports = task.work(setup, timeline, {}, [_messages(rows)])
        for shard, report in zip(shards, reports, strict=True):
            shard.apply([shuffle.decode(report)], batch)


def _query(name: str, aggregate: str) -> Query:
    return Query(name, name, aggregate, "v", Window(5_000, 1_000), ("k",))


def _messages(rows: list[tuple[int, bytes]]) -> pa.RecordBatch:
    count = len(rows)
    columns = [
        pa.array([kind for kind, _ in rows], pa.int32()),
        pa.array([0] * count, pa.int32()),
        pa.array(range(count), pa.int64()),
        pa.array([0] * count, pa.int64()),
        pa.array([value for _, value in rows], pa.binary()),
        pa.array([SECONDS * 1_000] * count, pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=list(task.INPUT_COLUMNS))


def read_batches() -> list[Messages]:
    """Read a batch of one message, as Kafka sends it."""
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1_000)
    builder.append(timestamp=0, key=None, value=b"{}")
    builder.close()
    return list(RecordBatches(memoryview(builder.buffer()), 0).messages(0, 1))


def warm_up_all() -> None:
    """Whatever a query can ask for."""
    read_batches()
    formats.warm_up()
    warm_up(EVERY_USE, EVERY_AGGREGATE)


if __name__ == "__main__":
    if "--all" in sys.argv[1:]:
        os.nice(LOWEST_PRIORITY)
        warm_up_all()
    else:
        read_batches()
        formats.warm_up()
        warm_up()
