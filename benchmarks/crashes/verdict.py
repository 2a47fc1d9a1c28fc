"""What a disturbed installation told, against what DuckDB finds in the very messages of the topic."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa

from benchmarks.crashes.installation import LATENESS, PARTITIONS, Installation, wait_until
from optimizer.group_windows import GroupQuery
from optimizer.queries import QuerySpec, WindowSpec
from streaming import results
from streaming.aggregates.gathering import PARTITION
from streaming.lanes import LATEST
from streaming.results import ResultBlock
from tests.streaming import oracle

Answers = dict[oracle.Row, tuple[float | None, int]]
COUNTS = ("events", "malformed", "late", "aborted")
DRAIN_SECONDS = 300.0


@dataclass
class Verdict:
    """What was compared and what was wrong; nothing may be."""

    messages: int = 0
    answers: int = 0
    repeated_blocks: int = 0
    problems: list[str] = field(default_factory=list)

    def expect(self, what: str, found: object, expected: object) -> None:
        if found != expected:
            self.problems.append(f"{what}: found {found}, expected {expected}")


@dataclass
class Log:
    """The source's topic as it is: which messages count and which have to be refused."""

    accepted: list[dict[str, Any]] = field(default_factory=list)
    malformed: set[tuple[int, int]] = field(default_factory=set)  # (partition, offset)
    late: set[tuple[int, int]] = field(default_factory=set)
    aborted: int = 0  # by their transactions

    @property
    def messages(self) -> int:
        return len(self.accepted) + len(self.malformed) + len(self.late)


def judge(
    installation: Installation,
    lasting: list[QuerySpec],
    removed: list[QuerySpec],
    keep_going: Callable[[], None],
) -> Verdict:
    """Let the job read to the end and close every window, then compare all it ever told."""
    log = _read_log(installation)
    verdict = Verdict(log.messages)

    def all_is_read() -> bool:
        return _totals(installation, Verdict())["events"] >= log.messages

    wait_until("The end of the events", all_is_read, DRAIN_SECONDS, keep_going)
    installation.end_of_data()
    wait_until("The end of the data", lambda: _has_ended(installation), DRAIN_SECONDS, keep_going)
    _check_counts(installation, log, verdict)
    _check_dead_letters(installation, log, verdict)
    _check_answers(installation, log, lasting, removed, verdict)
    return verdict


def _has_ended(installation: Installation) -> bool:
    progress = installation.progress()
    return progress is not None and progress.ended


def _read_log(installation: Installation) -> Log:
    log = Log()
    for partition in range(PARTITIONS):
        greatest = -(2**62)
        everything = installation.messages(installation.source.topic, partition, "read_uncommitted")
        log.aborted += sum(1 for _ in everything)
        for message in installation.messages(installation.source.topic, partition):
            log.aborted -= 1
            offset = message.offset()
            try:
                event = json.loads(message.value())
            except ValueError:
                log.malformed.add((partition, offset))
                continue
            if event["ts"] < greatest - LATENESS:
                log.late.add((partition, offset))
            else:
                log.accepted.append(event | {"place": partition * PARTITION + offset})
            greatest = max(greatest, event["ts"])
    return log


def _totals(installation: Installation, verdict: Verdict) -> dict[str, int]:
    """The counts of all batches; a batch that was told again must have been told alike."""
    batches: dict[tuple[int, int], dict[str, int]] = {}
    for message in installation.read(installation.topics.meters):
        meter = msgspec.json.decode(message)
        counts = {name: meter[name] for name in COUNTS}
        key = (meter["batch"], meter["shard"])
        verdict.expect(f"counts of batch and shard {key}, told again", counts, batches.get(key, counts))
        batches[key] = counts
    whole = [counts for (_, shard), counts in batches.items() if shard == 0]  # each shard hears of all events
    return {name: sum(counts[name] for counts in whole) for name in COUNTS}


def _check_counts(installation: Installation, log: Log, verdict: Verdict) -> None:
    expected = {
        "events": log.messages,
        "malformed": len(log.malformed),
        "late": len(log.late),
        "aborted": log.aborted,
    }
    verdict.expect("counts", _totals(installation, verdict), expected)


def _check_dead_letters(installation: Installation, log: Log, verdict: Verdict) -> None:
    letters: dict[tuple[int, int], Any] = {}
    for message in installation.read(installation.topics.dead_letters):
        letter = msgspec.json.decode(message)
        key = (letter["partition"], letter["offset"])
        verdict.expect(f"dead letter {key}, told again", letter, letters.get(key, letter))
        letters[key] = letter
    verdict.expect("dead letters", _short(letters.keys() ^ (log.malformed | log.late)), "none")


def _check_answers(
    installation: Installation, log: Log, lasting: list[QuerySpec], removed: list[QuerySpec], verdict: Verdict
) -> None:
    blocks = _final_blocks(installation, verdict)
    told = _answers(blocks)
    verdict.answers = sum(block.size for block in blocks)
    check_group_windows(blocks, log, lasting, verdict)
    path = installation.var_dir.parent / "accepted.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in log.accepted))
    for query in [*lasting, *removed]:
        windows = [window for window in query.windows if isinstance(window, WindowSpec)]
        timed = query.to_json() | {"windows": [window.to_json() for window in windows]}
        right = oracle.answers(path, {"source": {"event_time": "ts"}, "queries": [timed]})
        own = {key: value for key, value in told.items() if key[0] == query.name}
        for window in windows:
            size = (window.range, window.slide)
            check_window(
                f"{query.name} {size}",
                {key: value for key, value in own.items() if key[1:3] == size},
                {key: value for key, value in right.items() if key[1:3] == size},
                query in removed,
                verdict,
                installation.owed_after.get(f"{query.name}@{window.written}", LATEST),
            )
    known = {query.name for query in [*lasting, *removed]}
    verdict.expect("queries that nobody asked for", _short({key[0] for key in told} - known), "none")


def check_window(
    name: str, told: Answers, right: Answers, was_removed: bool, verdict: Verdict, owed_after: int = LATEST
) -> None:
    """A series is whole from its first window to its last; only a removed query's ends before the data.

    One that was removed while it waited for its past was owed windows that end after `owed_after`,
    and nobody waits for them any more; those that were told must be right.
    """
    if not told:
        if not was_removed:
            verdict.problems.append(f"{name}: nothing was told")
        return
    first = min(key[4] for key in told)
    last = max(key[5] for key in told) if was_removed else max(key[5] for key in right)
    expected = {key: value for key, value in right.items() if key[4] >= first and key[5] <= last}
    due = {key for key in expected if not was_removed or key[5] <= owed_after}
    verdict.expect(f"{name}: missing", _short(due - told.keys()), "none")
    verdict.expect(f"{name}: too many", _short(told.keys() - expected.keys()), "none")
    wrong = {key for key in told.keys() & expected.keys() if told[key] != expected[key]}
    verdict.expect(f"{name}: wrong", _short((key, told[key], expected[key]) for key in wrong), "none")


def check_group_windows(
    blocks: Iterable[ResultBlock], log: Log, lasting: list[QuerySpec], verdict: Verdict
) -> None:
    """Count and session windows of queries that were there from the beginning: all of them, and no others."""
    happened = pa.Table.from_pylist(log.accepted)
    for query in (one for spec in lasting for one in spec.queries() if isinstance(one, GroupQuery)):
        told: oracle.Found = {}
        for block in (block for block in blocks if block.query == query.id):
            for start, (group, *answer) in zip(block.row_starts(), block.rows(), strict=True):
                told.setdefault((block.end, group), []).append((start, *answer))
        right = oracle.group_windows(query, f"{query.aggregate}({query.field})", happened)
        verdict.expect(f"{query.id}: missing", _short(right.keys() - told.keys()), "none")
        verdict.expect(f"{query.id}: too many", _short(told.keys() - right.keys()), "none")
        wrong = [
            (key, told[key], right[key]) for key in told.keys() & right.keys() if told[key] != right[key]
        ]
        verdict.expect(f"{query.id}: wrong", _short(wrong), "none")


def _final_blocks(installation: Installation, verdict: Verdict) -> list[ResultBlock]:
    """Each once; one that was told again must have been told alike."""
    blocks: dict[tuple[str, int, int], ResultBlock] = {}
    read = installation.read(installation.topics.results)
    for block in (block for message in read for block in results.decode(message) if block.final):
        if block.place in blocks:
            verdict.repeated_blocks += 1
            told = [
                sorted(zip(each.row_starts(), each.rows(), strict=True), key=str)
                for each in (block, blocks[block.place])
            ]
            verdict.expect(f"final block {block.place}, told again", *told)
        blocks[block.place] = block
    return list(blocks.values())


def _answers(blocks: Iterable[ResultBlock]) -> Answers:
    """Those of time windows."""
    answers: Answers = {}
    for block in (block for block in blocks if block.starts is None):
        name, _, window = block.query.rpartition("@")
        size, slide = window.split("/")
        for group, value, count in block.rows():
            answers[name, size, slide, group, block.start, block.end] = (value, count)
    return answers


def _short(items: Iterable[object]) -> str:
    found = sorted(map(str, items))
    return f"{len(found)}, such as {', '.join(found[:3])}" if found else "none"
