"""What a batch made of a shard, and what of it is told in meters."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec

from optimizer.group_windows import SessionWindow
from streaming import recall
from streaming.accounting import Counts, DeadLetter
from streaming.lanes import EARLIEST, LATEST, Timeline
from streaming.left_out import LeftOut
from streaming.refused import Place
from streaming.results import ResultBlock
from streaming.shuffle import TaskReport

if TYPE_CHECKING:
    from streaming.shard import Shard


@dataclass
class Taken:
    """What a batch brought to a lane of a shard; partials are what was shuffled."""

    events: int = 0
    partials: int = 0


@dataclass
class Outcome:
    """What a batch changed and what it has to say."""

    blocks: list[ResultBlock] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    meter: dict[str, object] = field(default_factory=dict)
    touched: set[tuple[str, int]] = field(default_factory=set)  # (lane, slice start or bucket) to be stored
    recalled: set[tuple[str, int]] = field(default_factory=set)  # likewise, of the past that was read back
    evicted: set[tuple[str, int]] = field(default_factory=set)
    # By group-by of which groups have left, where the state log has those that there were.
    regrouped: dict[tuple[str, ...], list[int]] = field(default_factory=dict)
    left_out: LeftOut = field(default_factory=LeftOut)
    stopped: dict[str, str] = field(default_factory=dict)  # by expression, why it was stopped
    refused: list[Place] = field(default_factory=list)  # where refused messages are remembered, to be stored
    forgotten: list[Place] = field(default_factory=list)

    def moved_slices(self) -> dict[str, list[int]]:
        """By lane, the starts of the slices that were touched, in order."""
        starts: dict[str, list[int]] = {}
        for lane, start in sorted(self.touched):
            starts.setdefault(lane, []).append(start)
        return starts

    def results_by_query(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for block in self.blocks:
            found[block.query] = found.get(block.query, 0) + block.size
        return found


def meter(
    shard: "Shard",
    reports: list[TaskReport],
    outcome: Outcome,
    taken: dict[str, Taken],
    steps_before: dict[str, int],
) -> dict[str, object]:
    """A message of the meters topic; by lane, what was taken and how many steps kernels had done before."""
    counts = sum((p.counts for report in reports for p in report.partitions.values()), Counts())
    trees = _trees(shard, outcome, taken, steps_before)
    watermark = shard.meta.watermark
    return {
        "source": shard.source.id,
        "shard": shard.number,
        "batch": shard.meta.batch,
        "plan": shard.meta.timeline.version,
        "watermark": None if watermark.value in (EARLIEST, LATEST) else watermark.value,
        "max_event_time": watermark.greatest,
        "active": watermark.active() if shard.number == 0 else None,  # all shards know the same
        "events": counts.read,
        "accepted": counts.accepted,
        "malformed": counts.malformed,
        "late": counts.late,
        "future": counts.future,
        "past": counts.past,
        "removed": counts.removed,
        "aborted": counts.aborted,
        "gaps": counts.gaps,
        "totals": msgspec.structs.asdict(shard.meta.totals),
        "map_seconds": sum(report.seconds for report in reports),
        "partials": sum(lane.partials for lane in taken.values()),
        "kernel_steps": sum(tree["kernel_steps"] for tree in trees.values()),
        "results": sum(block.size for block in outcome.blocks),
        "groups": sum(len(index) for index in shard.groups.values()),
        "trees": trees,
        "queries": _queries(shard.meta.timeline, outcome),
        "recall": _recall(shard),
        "waiting": _waiting(shard),
        "stopped": outcome.stopped,
    }


def _recall(shard: "Shard") -> dict[str, object] | None:
    """What is read back just now: for which queries, and how much of it has been read."""
    recalled = shard.meta.recalled
    pasts = recall.of_version(shard.meta.timeline, recalled.version)
    if not pasts:
        return None
    queries = sorted(query for past in pasts for query in past.waits)
    return {"queries": queries, "read": recalled.read, "messages": recalled.messages}


def _waiting(shard: "Shard") -> dict[str, int]:
    """By query that has no whole window yet, when its first one ends, or its first session may begin."""
    firsts = chain(_first_ends(shard), _first_sessions(shard))
    return {
        query: instant
        for query, whole_from, instant in firsts
        if whole_from > EARLIEST + 1 and instant > shard.meta.watermark.value
    }


def _first_ends(shard: "Shard") -> Iterator[tuple[str, int, int]]:
    """Queries of time windows, from when on they have all events, and when the first window of these ends."""
    lanes = {lane.id: lane for lane in shard.meta.timeline.lanes}
    for member in shard.meta.timeline.members:
        first = recall.fits_from(lanes, member)
        if not lanes[member.segments[0].lane].read_back:
            first = max(first, shard.meta.whole_from)
        yield member.query, first, member.window.first_end_after(first + member.range - 1)


def _first_sessions(shard: "Shard") -> Iterator[tuple[str, int, int]]:
    """Likewise those of sessions, which are whole a gap later; when the first ends is for events to say."""
    for lane in shard.meta.timeline.group_lanes:
        if isinstance(lane.window, SessionWindow):
            first = lane.whole_from(shard.meta.whole_from)
            yield from ((asked.query, first, first + lane.window.gap) for asked in lane.asked)


def _trees(
    shard: "Shard", outcome: Outcome, taken: dict[str, Taken], steps_before: dict[str, int]
) -> dict[str, dict[str, Any]]:
    results = _results_by_lane(shard.meta.timeline, outcome)
    nothing = Taken()

    def common(lane: str, group_by: tuple[str, ...]) -> dict[str, Any]:
        groups = shard.group_index(group_by)
        failed, why = outcome.left_out.get(lane, (0, ""))
        return {
            "events": taken.get(lane, nothing).events,
            "partials": taken.get(lane, nothing).partials,
            "groups": len(groups),
            "results": results.get(lane, 0),
            "failed_values": failed,
            "failure": why,
            "groups_limited": groups.is_full,
        }

    trees = {
        slices.lane.tree: common(lane, slices.lane.signature.group_by)
        | {
            "kernel_steps": max(0, slices.steps - steps_before.get(lane, 0)),
            "seconds": slices.seconds,
            "slices": len(slices.starts()),
            "state_bytes": slices.state_bytes,
        }
        for lane, slices in shard.lanes.items()
        if slices.lane.until == LATEST
    }
    for lane, state in shard.group_lanes.items():
        trees[state.lane.tree] = common(lane, state.lane.group_by) | state.meter()
    return trees


def _queries(timeline: Timeline, outcome: Outcome) -> dict[str, dict[str, Any]]:
    """By query that was answered: its tree, so that its part of the tree's work can be told, and how much."""
    lane_of = _lane_of(timeline)
    tree_of = {lane.id: lane.tree for lane in timeline.lanes}
    tree_of |= {lane.id: lane.tree for lane in timeline.group_lanes}
    windows = Counter(block.query for block in outcome.blocks)
    return {
        query: {"tree": tree_of[lane_of[query]], "windows": windows[query], "results": results}
        for query, results in outcome.results_by_query().items()
    }


def _lane_of(timeline: Timeline) -> dict[str, str]:
    """By query, the lane that answers it now."""
    lane_of = {member.query: member.segments[-1].lane for member in timeline.members}
    for lane in timeline.group_lanes:
        lane_of |= {asked.query: lane.id for asked in lane.asked}
    return lane_of


def _results_by_lane(timeline: Timeline, outcome: Outcome) -> dict[str, int]:
    lane_of = _lane_of(timeline)
    found: dict[str, int] = {}
    for query, results in outcome.results_by_query().items():
        found[lane_of[query]] = found.get(lane_of[query], 0) + results
    return found
