"""The engine without Spark: map tasks and shards called by hand, and the brute-force answer beside them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from optimizer.plan import Plan, Tree
from optimizer.queries import Query
from streaming import shuffle, task
from streaming.accounting import Counts, DeadLetter
from streaming.input_stream import PastInput
from streaming.lanes import EARLIEST, Timeline
from streaming.refused import Place, unpacked
from streaming.results import ResultBlock
from streaming.shard import END_OF_DATA, Shard, ShardMeta
from streaming.shuffle import PastReport
from streaming.sources import SourceSpec
from streaming.task import TaskSetup
from streaming.watermark import Watermark

Event = dict[str, Any]
FAR_AHEAD = 4_102_444_800_000  # 2100-01-01: no event of a test that does not say so is from the future


@dataclass(frozen=True)
class Stamped:
    """A message with its Kafka timestamp; those without one are as old as their batch."""

    value: "Event | bytes | None"
    timestamp: int


Message = Event | bytes | Stamped | None


def value_of(message: Message) -> Any:
    return message.value if isinstance(message, Stamped) else message


Row = tuple[int, int, int, int, bytes | None, int]
KERNEL_OF = {"count": "slickdeque_inv", "sum": "slickdeque_inv", "mean": "slickdeque_inv"}
SOURCE = SourceSpec(
    id="s",
    bootstrap_servers="",
    topic="t",
    schema=(("ts", "integer"), ("device", "text"), ("temp", "number")),
    event_time="ts",
    allowed_lateness=1_000,
)


def plan_of(trees: list[list[Query]], version: int = 1, kernel: str | None = None) -> Plan:
    """A plan with exactly these trees."""
    return Plan(
        "s",
        version,
        "by hand",
        tuple(
            Tree(
                str(number),
                tuple(queries),
                kernel or KERNEL_OF.get(queries[0].aggregate, "slickdeque_noninv"),
                edge_rate=1.0,
                omega=1.0,
                cost=1.0,
            )
            for number, queries in enumerate(trees, 1)
        ),
    )


def _rows(partition: int, first: int, messages: Sequence[Message], now: int) -> list[Row]:
    rows: list[Row] = []
    for offset, message in enumerate(messages, first):
        stamped = message if isinstance(message, Stamped) else Stamped(message, 0)
        value = msgspec.json.encode(stamped.value) if isinstance(stamped.value, dict) else stamped.value
        rows.append((task.EVENT, partition, offset, stamped.timestamp, value, now))
    return rows


def _input_of(rows: list[Row]) -> pa.RecordBatch:
    kinds = (pa.int32(), pa.int32(), pa.int64(), pa.int64(), pa.binary(), pa.int64())
    columns = list(zip(*rows, strict=True)) or [()] * len(kinds)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)],
        names=list(task.INPUT_COLUMNS),
    )


@dataclass
class Engine:
    """One source with several shards; `batch` does what one Spark micro-batch does."""

    plan: Plan
    shards: int = 2
    source: SourceSpec = SOURCE
    awaited: tuple[int, ...] = ()
    blocks: list[ResultBlock] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    meters: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.timeline = Timeline().adopt(self.plan, EARLIEST)
        self.greatest: dict[int, int] = {}
        self.watermark = EARLIEST
        self.totals = Counts()
        self.read: dict[int, list[Message]] = defaultdict(list)  # every partition's log so far
        self.batch_number = -1
        self.workers = [self._new_shard(number) for number in range(self.shards)]
        self.stored: list[dict[tuple[str, int], bytes]] = [{} for _ in range(self.shards)]
        self.refused: dict[Place, bytes] = {}

    def _new_shard(self, number: int) -> Shard:
        watermark = Watermark(
            self.source.allowed_lateness, list(self.awaited), processing_time=self.source.processing_time
        )
        meta = ShardMeta(-1, self.timeline, watermark)
        return Shard(number, self.source, meta)

    def batch(
        self,
        events: Mapping[int, Sequence[Message]] | None = None,
        *,
        now: int = FAR_AHEAD,
        clock: int | None = None,
        plan: Plan | None = None,
        end: bool = False,
        past: PastInput | None = None,
    ) -> None:
        self.batch_number += 1
        pasts = self._read_back(past, now) if past is not None else []
        reports = [self._run_task(partition, items, now) for partition, items in (events or {}).items()]
        control = self._run_control(clock, plan, end, pasts)
        for number, shard in enumerate(self.workers):
            told = [shuffle.decode(report[number]) for report in [*reports, control]]
            outcome = shard.apply(told, self.batch_number)
            for lane, start, data in shard.stored(outcome.touched | outcome.recalled):
                self.stored[number][lane, start] = data
            for key in outcome.evicted:
                self.stored[number].pop(key, None)
            self.refused |= dict(shard.refused.stored(outcome.refused))
            for place in outcome.forgotten:
                self.refused.pop(place, None)
            self.blocks += outcome.blocks
            self.dead_letters += outcome.dead_letters
            self.meters.append(outcome.meter)
        first = self.workers[0].meta
        self.timeline = first.timeline
        self.greatest = {number: part.greatest for number, part in first.watermark.partitions.items()}
        self.watermark = first.watermark.value
        self.totals = first.totals

    def restart(self) -> None:
        """Lose everything but what the state store holds."""
        for number, shard in enumerate(self.workers):
            meta = msgspec.msgpack.decode(msgspec.msgpack.encode(shard.meta), type=ShardMeta)
            fresh = Shard(number, self.source, meta, shard.group_limit)
            for group_by, index in ((by, each) for by, each in shard.groups.items() if len(each)):
                fresh.group_index(group_by).restore(index.stored()[1])
            fresh.restore((lane, start, data) for (lane, start), data in self.stored[number].items())
            for place, data in self.refused.items() if number == 0 else ():
                fresh.refused.restore(place, data)
            self.workers[number] = fresh

    def _run_task(self, partition: int, messages: Sequence[Message], now: int) -> list[bytes]:
        first = len(self.read[partition])
        self.read[partition] += messages
        return self._run(_rows(partition, first, messages, now))

    def _read_back(self, past: PastInput, now: int) -> list[PastReport]:
        batches = [
            _input_of(
                _rows(each.partition, each.start, self.read[each.partition][each.start : each.until], now)
            )
            for each in past.ranges
        ]
        recalled = self.workers[0].meta.recalled
        greatest = recalled.greatest if recalled.version == past.version else {}
        setup = TaskSetup(self.source, self.timeline, "", "", self.shards)
        refused = unpacked(self.workers[0].refused.packed())
        return task.read_back(setup, self.timeline, past, dict(greatest), refused, batches)

    def _run_control(
        self, clock: int | None, plan: Plan | None, end: bool, pasts: Sequence[PastReport] = ()
    ) -> list[bytes]:
        rows: list[Row] = []
        if clock is not None:
            rows.append((task.HEARTBEAT, -1, 0, clock, None, clock))
        if plan is not None:
            rows.append((task.PLAN, 0, 0, 0, msgspec.json.encode({"plan": plan.to_json()}), 0))
        if end:
            rows.append((task.PLAN, 0, 0, 0, END_OF_DATA, 0))
        return self._run(rows, pasts)

    def _run(self, rows: list[Row], pasts: Sequence[PastReport] = ()) -> list[bytes]:
        setup = TaskSetup(self.source, self.timeline, "", "", self.shards)
        return task.work(setup, self.timeline, self.greatest, [_input_of(rows)], self.watermark, pasts=pasts)

    def finals(self) -> dict[tuple[str, int, tuple[Any, ...]], tuple[float | None, int]]:
        """(query, window end, group) → (value, count); two different finals for one are an error."""
        answers: dict[tuple[str, int, tuple[Any, ...]], tuple[float | None, int]] = {}
        for block in self.blocks:
            if block.final:
                for group, value, count in block.rows():
                    key = (block.query, block.end, group)
                    assert key not in answers, f"{key} was answered twice"
                    answers[key] = (value, count)
        return answers


def brute_force(
    queries: list[Query], events: list[Event]
) -> dict[tuple[str, int, tuple[Any, ...]], tuple[float | None, int]]:
    """Every event in every window that contains it, by the definition of a window."""
    answers = {}
    for query in queries:
        held: dict[tuple[int, tuple[Any, ...]], list[Event]] = defaultdict(list)
        window = query.window
        for event in events:
            start = (event["ts"] - window.offset) // window.slide * window.slide + window.offset
            while start + window.range > event["ts"]:
                group = tuple(event.get(name) for name in query.group_by)
                held[start + window.range, group].append(event)
                start -= window.slide
        for (end, group), inside in held.items():
            answers[query.id, end, group] = (_value(query, inside), len(inside))
    return answers


def _value(query: Query, inside: list[Event]) -> float | None:
    if query.aggregate == "count" and query.field is None:
        return float(len(inside))
    values = np.array([e[query.field] for e in inside if e.get(query.field or "") is not None], float)
    if query.aggregate == "count":
        return float(len(values))
    if not len(values):
        return None
    return float({"sum": np.sum, "mean": np.mean, "min": np.min, "max": np.max}[query.aggregate](values))


def accepted(engine: Engine) -> list[Event]:
    """All that was read and is not among the dead letters."""
    refused = {(letter.partition, letter.offset) for letter in engine.dead_letters}
    return [
        value_of(message)
        for partition, log in engine.read.items()
        for offset, message in enumerate(log)
        if (partition, offset) not in refused
    ]
