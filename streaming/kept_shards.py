"""Shards in memory from batch to batch, and on disk: one batch of one shard from reports to messages."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from streaming import recall, results, shuffle
from streaming.lanes import LATEST
from streaming.outcomes import Outcome
from streaming.progress import Progress
from streaming.refused import Place
from streaming.shard import Shard, ShardMeta
from streaming.sources import SourceSpec
from streaming.state_log import Change, Key, State, StateLog
from streaming.topics import Topics

Message = tuple[str, bytes, bytes]  # topic, key, value
IDLE_SECONDS = 30.0  # a source that runs has a batch every ten seconds at least


@dataclass(frozen=True)
class ShardSetup:
    """What a shard of a source knows from the start."""

    source: SourceSpec
    topics: Topics
    checkpoint: str
    first: bytes  # the encoded ShardMeta before the first batch


@dataclass
class _Kept:
    shard: Shard
    log: StateLog
    used: float = 0.0  # when its last batch ended, on the monotonic clock


class KeptShards:
    """The shards that this process holds; whatever it holds can be read back from disk."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], _Kept] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def run(self, setup: ShardSetup, number: int, batch: int, reports: list[bytes]) -> list[Message]:
        """What a shard has to say after a batch, once its state is safe."""
        began = time.perf_counter()
        kept = self._take(setup, number, batch)
        decoded = [shuffle.decode(report) for report in reports]
        groups_before = {group_by: len(index) for group_by, index in kept.shard.groups.items()}
        outcome = kept.shard.apply(decoded, batch)
        kept.log.append(_change(kept.shard, outcome, groups_before))
        outcome.meter["clock"] = int(time.time() * 1000)
        outcome.meter["state_bytes"] = kept.log.live_bytes
        outcome.meter["written_bytes"] = kept.log.written_bytes
        told = [(setup.topics.results, key, value) for key, value in results.messages(outcome.blocks)]
        outcome.meter["shard_seconds"] = time.perf_counter() - began
        messages = told + _messages(setup, kept.shard, outcome)
        kept.used = time.monotonic()
        self._kept[setup.checkpoint, number] = kept
        return messages

    def forget_idle(self, now: float) -> None:
        """Let go of shards whose source has stopped, or waits for its cluster: nobody says so here."""
        idle = [place for place, kept in self._kept.items() if now - kept.used > IDLE_SECONDS]
        for place in idle:
            self._kept.pop(place).log.close()

    def _take(self, setup: ShardSetup, number: int, batch: int) -> _Kept:
        """The shard as of the batch before: from memory if that is the newest there is, else from disk.

        It is taken out while it is worked on, so that whatever fails leaves nothing half done.
        """
        kept = self._kept.pop((setup.checkpoint, number), None)
        if kept is not None:
            if kept.shard.meta.batch == batch - 1 and kept.log.is_owned():
                return kept
            kept.log.close()
        log, state = StateLog.open(Path(setup.checkpoint) / "shards" / str(number), batch - 1)
        return _Kept(_restored(setup, number, state), log)


def _restored(setup: ShardSetup, number: int, state: State) -> Shard:
    meta = msgspec.msgpack.decode(state.note or setup.first, type=ShardMeta)
    shard = Shard(number, setup.source, meta)
    for (kind, name, place), keys in sorted(state.values.items()):
        if kind == "groups":
            shard.group_index(tuple(json.loads(name))).restore(keys)
        elif kind == "refused":
            shard.refused.restore((int(name), place), keys)
    shard.restore(
        (name, start, data) for (kind, name, start), data in state.values.items() if kind == "slice"
    )
    return shard


def _change(shard: Shard, outcome: Outcome, groups_before: dict[tuple[str, ...], int]) -> Change:
    values: list[tuple[Key, bytes]] = [
        (("slice", lane, start), data)
        for lane, start, data in shard.stored(outcome.touched | outcome.recalled)
    ]
    removed: list[Key] = [("slice", lane, start) for lane, start in outcome.evicted]
    values += [(_refused_at(place), data) for place, data in shard.refused.stored(outcome.refused)]
    removed += [_refused_at(place) for place in outcome.forgotten]
    for group_by, chunks in outcome.regrouped.items():
        removed += [("groups", json.dumps(group_by), chunk) for chunk in chunks]
    for group_by, index in shard.groups.items():
        first = 0 if group_by in outcome.regrouped else groups_before.get(group_by, 0)
        if len(index) > first:
            place, groups = index.stored(first)
            values.append((("groups", json.dumps(group_by), place), groups))
    written = {key for key, _ in values}
    removed = [key for key in removed if key not in written]
    return Change(shard.meta.batch, msgspec.msgpack.encode(shard.meta), values, removed)


def _refused_at(place: Place) -> Key:
    partition, chunk = place
    return "refused", str(partition), chunk


def _messages(setup: ShardSetup, shard: Shard, outcome: Outcome) -> list[Message]:
    """All but its results."""
    topics, source = setup.topics, setup.source.id.encode()
    messages = [(topics.meters, source, msgspec.json.encode(outcome.meter))]
    for letter in outcome.dead_letters:
        messages.append((topics.dead_letters, source, msgspec.json.encode(letter)))
    if shard.number == 0:
        meta = shard.meta
        progress = Progress(
            meta.batch,
            msgspec.Raw(msgspec.msgpack.encode(meta.timeline)),
            {number: part.greatest for number, part in meta.watermark.partitions.items()},
            meta.watermark.value,
            ended=meta.watermark.value == LATEST,
            totals=meta.totals,
            wanted=recall.next_wanted(meta.timeline, meta.watermark.value),
            is_still=meta.watermark.is_still(meta.timeline.reach),
            recalled=(meta.recalled.version, meta.recalled.greatest),
            refused=shard.refused.packed() if meta.timeline.pasts else {},
        )
        messages.append((topics.progress(setup.source.stream), source, msgspec.msgpack.encode(progress)))
    return messages
