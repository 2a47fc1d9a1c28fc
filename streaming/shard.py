"""A shard: all state of one hash range of groups, and what one batch makes of it. No Spark in here.

`apply` is a pure step: the state before, the reports of all map tasks, and out come result blocks, meters,
dead letters and the progress that the next batch's tasks start from. Running it again with the same input
gives the same output, which is what makes a replayed batch harmless.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import pairwise, repeat

import msgspec
import numpy as np

from optimizer.plan import Plan
from streaming import group_partials, recall, shuffle
from streaming.accounting import Counts
from streaming.aggregates import AGGREGATES
from streaming.columns import Columns, WindowColumns
from streaming.group_index import GROUP_LIMIT, GroupIndex
from streaming.group_state import GroupLaneState
from streaming.lane_kernels import NOTHING_WANTED
from streaming.lanes import EARLIEST, LATEST, Member, Timeline
from streaming.member_windows import MemberWindows, by_lane, in_chunks, wanted_of_lanes
from streaming.outcomes import Outcome, Taken, meter
from streaming.recall import Recalled
from streaming.refused import Refused
from streaming.results import ResultBlock, answers, as_counts
from streaming.shuffle import PastReport, TaskReport
from streaming.slices import LaneSlices
from streaming.sources import SourceSpec
from streaming.watermark import Watermark

END_OF_DATA = b"end"  # in place of a plan: no more events will come, close every window
ANSWERS_AT_ONCE = 100_000  # numbers, so that a million groups do not take their memory again
PROVISIONAL_WINDOWS = 120  # at most so many open windows of a query are sent per batch


class StaleTask(RuntimeError):
    """A task worked from other knowledge than the shard holds: the batch must be run again."""


class ShardMeta(msgspec.Struct, array_like=True):
    """What a shard remembers beside its slices and groups."""

    batch: int
    timeline: Timeline
    watermark: Watermark
    whole_from: int = EARLIEST  # windows that start earlier may miss events from before the job's start
    # By query and window end, how often late events have changed what was told; of windows not yet final.
    revisions: dict[str, dict[int, int]] = {}
    totals: Counts = msgspec.field(default_factory=Counts)  # of the whole source, since the stream's start
    recalled: Recalled = msgspec.field(default_factory=Recalled)


class Shard:
    def __init__(
        self, number: int, source: SourceSpec, meta: ShardMeta, group_limit: int = GROUP_LIMIT
    ) -> None:
        self.number = number
        self.source = source
        self.meta = meta
        self.group_limit = group_limit
        self.groups: dict[tuple[str, ...], GroupIndex] = {}
        self.lanes: dict[str, LaneSlices] = {}
        self.pasts: dict[str, LaneSlices] = {}
        self._lacking: dict[str, int] = {}
        self._fits_from: dict[str, int] = {}
        self.redefine(meta.timeline)
        self.group_lanes = {lane.id: GroupLaneState(lane) for lane in meta.timeline.group_lanes}
        self.refused = Refused()

    def group_index(self, group_by: tuple[str, ...]) -> GroupIndex:
        return self.groups.setdefault(group_by, GroupIndex(self.group_limit))

    def restore(self, stored: Iterable[tuple[str, int, bytes]]) -> None:
        """Take stored slices back (after the groups); kernels are built from the closed ones."""
        by_lane: dict[str, list[tuple[int, bytes]]] = {}
        for lane, start, data in sorted(stored):
            by_lane.setdefault(lane, []).append((start, data))
        watermark = self.meta.watermark.value
        for lane, kept in by_lane.items():
            if lane in self.group_lanes:
                for bucket, data in kept:
                    self.group_lanes[lane].restore(bucket, data, watermark)
            elif lane in self.lanes:
                self.lanes[lane].restore(kept, self._group_index(self.lanes[lane]), watermark)
            else:
                self.pasts[lane].restore(kept, self._group_index(self.pasts[lane]), EARLIEST)

    def stored(self, touched: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int, bytes]]:
        """What the state store keeps of slices, or of buckets of groups, that were touched in this batch."""
        by_lane: dict[str, list[int]] = {}
        for lane, start in sorted(touched):
            by_lane.setdefault(lane, []).append(start)
        for lane, starts in by_lane.items():
            if lane in self.group_lanes:
                found: Iterable[bytes] = map(self.group_lanes[lane].bucket_bytes, starts)
            else:
                slices = self.lanes.get(lane) or self.pasts[lane]
                found = slices.open.stored(starts, self._group_index(slices).ids)
            yield from zip(repeat(lane), starts, found, strict=False)

    def apply(self, reports: list[TaskReport], batch: int) -> Outcome:
        began = time.perf_counter()
        outcome = Outcome()
        before, seen = self.meta.watermark.value, self.meta.watermark.greatest
        self._verify(reports)
        self._observe(reports)
        taken = self._merge(reports, outcome)
        owed = self._take_back(reports, outcome)
        ended = self._adopt(reports, outcome)
        now = LATEST if ended else self.meta.watermark.advance()
        kernel_began = time.perf_counter()
        steps = {lane: slices.steps for lane, slices in self.lanes.items()}
        for slices in self.lanes.values():
            slices.seconds = 0.0
        self._note_revisions(seen, before, outcome)
        self._answer_finals(before, now, batch, outcome)
        for end, member in owed:
            if member.query in self._fits_from:  # else a plan of this batch has removed it
                self._emit_spanning(member, end, batch, True, outcome)
        if not ended:
            self._answer_provisionals(now, batch, outcome)
        self._answer_group_windows(now, batch, outcome)
        self._forget_revisions(now)
        kernel_seconds = time.perf_counter() - kernel_began
        self._evict(now, outcome)
        self._let_groups_go(batch, outcome)
        self.meta.batch = batch
        self.meta.watermark.value = now
        outcome.meter = meter(self, reports, outcome, taken, steps) | {
            "kernel_seconds": kernel_seconds,
            "shard_seconds": time.perf_counter() - began,
        }
        return outcome

    # --- taking in ------------------------------------------------------------------------------------

    def _verify(self, reports: list[TaskReport]) -> None:
        for report in reports:
            if report.version != self.meta.timeline.version:
                in_force = self.meta.timeline.version
                raise StaleTask(f"A task cut events by plan {report.version}, but {in_force} is in force.")
            if report.past is not None:
                self._verify_past(report.past)
            for partition, seen in report.partitions.items():
                known = (self.meta.watermark.previous(partition), self.meta.watermark.value)
                if (seen.previous, seen.watermark) != known:
                    raise StaleTask(
                        f"A task judged lateness of partition {partition} by {seen.previous} and "
                        f"{seen.watermark}, not by {known[0]} and {known[1]}."
                    )

    def _verify_past(self, past: PastReport) -> None:
        known = self._recalled_by(past).greatest
        for partition, seen in past.partitions.items():
            if seen.previous != known.get(partition, EARLIEST):
                raise StaleTask(f"A task that reads back began anew in partition {partition}.")

    def _observe(self, reports: list[TaskReport]) -> None:
        watermark = self.meta.watermark
        for clock in (report.clock for report in reports if report.clock is not None):
            watermark.tick(clock)
        for report in reports:
            for partition, seen in report.partitions.items():
                awaited = partition in watermark.awaited and self.meta.whole_from != EARLIEST
                if awaited and seen.first is not None:
                    self.meta.whole_from = max(self.meta.whole_from, self._whole_after(seen.first))
                if seen.furthest is not None:
                    watermark.observe(partition, seen.greatest, seen.furthest)
                self.meta.totals += seen.counts

    def _merge(self, reports: list[TaskReport], outcome: Outcome) -> dict[str, Taken]:
        """Gather all partials; how many there were of each lane."""
        counts: dict[str, Taken] = {}
        for report in reports:
            for packed in report.partials:
                slices = self.lanes[packed.lane]
                partials = shuffle.unpack(packed, slices.parts)
                groups = self._group_index(slices)
                numbers = groups.numbers(partials.keys)
                starts = slices.merge(partials, numbers, len(groups))
                taken = counts.setdefault(partials.lane, Taken())
                taken.partials += len(partials.start)
                taken.events += int(partials.events.sum())
                outcome.touched.update((partials.lane, start) for start in starts)
            self._merge_groups(report, counts)
            outcome.dead_letters += report.dead_letters
            outcome.left_out.add(report.left_out)
            outcome.stopped |= report.stopped
        outcome.refused = self.refused.note(outcome.dead_letters)
        outcome.forgotten = self.refused.forget() if outcome.refused else []
        return counts

    def _merge_groups(self, report: TaskReport, counts: dict[str, Taken]) -> None:
        for message in report.group_partials:
            partials = group_partials.unpacked(message, self.group_lanes)
            state = self.group_lanes[partials.lane]
            index = self.group_index(state.lane.group_by)
            numbers = index.numbers(partials.keys)
            state.take(partials.rows, index.ids[numbers])
            taken = counts.setdefault(partials.lane, Taken())
            taken.partials += len(partials.rows)
            taken.events += int(partials.rows.events.sum())

    def _take_back(self, reports: list[TaskReport], outcome: Outcome) -> list[tuple[int, Member]]:
        """Gather what was read back; with the last of it, the windows that are owed since."""
        told = [report.past for report in reports if report.past is not None]
        if not told:
            return []
        recalled = self.meta.recalled = self._recalled_by(told[0])
        is_given_up = told[0].messages < recalled.messages
        for past in told:
            self._observe_again(past, recalled)
            for packed in past.partials:
                slices = self.pasts[packed.lane]
                groups = self._group_index(slices)
                partials = shuffle.unpack(packed, slices.parts)
                starts = slices.merge(partials, groups.numbers(partials.keys), len(groups))
                outcome.recalled.update((packed.lane, start) for start in starts)
        if recalled.read < recalled.messages:
            return []
        whole_from = LATEST if is_given_up else recalled.whole_since(told[0].bounded)
        return self._use_pasts(recalled.version, whole_from)

    def _recalled_by(self, past: PastReport) -> Recalled:
        """What has been read back before; nothing yet for a plan that is new to it."""
        known = self.meta.recalled
        return known if known.version == past.version else Recalled(past.version)

    def _observe_again(self, past: PastReport, recalled: Recalled) -> None:
        recalled.read, recalled.messages = past.read, past.messages
        for partition, seen in past.partitions.items():
            is_first = recalled.greatest.get(partition, EARLIEST) == EARLIEST
            if partition in past.bounded and is_first and seen.first is not None:
                recalled.whole_from = max(recalled.whole_from, self._whole_after(seen.first))
            recalled.greatest[partition] = seen.greatest

    def _whole_after(self, first: int) -> int:
        """Events before the first that was read of a partition may be up to the lateness younger."""
        return first + self.source.allowed_lateness + 1

    def _use_pasts(self, version: int, whole_from: int) -> list[tuple[int, Member]]:
        """Answer from what was read back from now on; windows that have ended and were not whole before."""
        owed = recall.owed(self.meta.timeline, version)
        self.redefine(recall.granted(self.meta.timeline, version, whole_from))
        waited = (
            (member, owed[member.query]) for member in self.meta.timeline.members if member.query in owed
        )
        return [
            (end, member)
            for member, waits in waited
            for end in self._ends(member, waits[0].after, self.meta.watermark.value)
            if recall.has_waited(waits, end - member.range, end, self.meta.whole_from)
        ]

    def _adopt(self, reports: list[TaskReport], outcome: Outcome) -> bool:
        """Adopt the newest plan from an instant after all that was seen; True at the end of the data."""
        messages = [report.plan for report in reports if report.plan is not None]
        if END_OF_DATA in messages:
            return True
        plans = [plan for message in messages if (plan := _plan_in(message)) is not None]
        plans = [plan for plan in plans if plan.version > self.meta.timeline.version]
        if plans:
            newest = max(plans, key=lambda plan: plan.version)
            seen = self.meta.watermark.greatest
            instant = EARLIEST if seen is None else max(seen, self.meta.watermark.value) + 1
            base = Timeline() if seen is None else self.meta.timeline
            timeline = base.adopt(newest, instant, self.meta.watermark.value)
            if seen is not None and not self.source.processing_time:
                timeline = recall.with_pasts(base, timeline, instant, self.meta.watermark.value)
            pasts = self.pasts
            self.redefine(timeline)
            for lane in pasts.keys() - self.pasts.keys():  # nobody waits for it any more
                outcome.evicted.update((lane, start) for start in pasts[lane].starts())
        return False

    def redefine(self, timeline: Timeline) -> None:
        waits_otherwise = timeline.pasts != self.meta.timeline.pasts
        self.meta.timeline = timeline
        lanes = {}
        wanted = wanted_of_lanes(timeline.members)
        for lane in (lane for lane in timeline.lanes if lane.kept):
            asked = wanted.get(lane.id, NOTHING_WANTED)
            known = self.lanes.get(lane.id) or self.pasts.get(lane.id) or LaneSlices(lane, asked)
            known.redefine(lane, asked)
            known.may_shrink |= waits_otherwise
            lanes[lane.id] = known
        self.lanes = lanes
        self.pasts = {
            past.lane.id: self.pasts.get(past.lane.id) or LaneSlices(past.lane) for past in timeline.pasts
        }
        self._note_fits()

    def _note_fits(self) -> None:
        """By query, from which start on windows find slices that fit, and up to which they wait for them."""
        timeline = self.meta.timeline
        lanes = {lane.id: lane for lane in timeline.lanes}
        self._lacking = recall.lacking(timeline)
        self._fits_from = {member.query: recall.fits_from(lanes, member) for member in timeline.members}

    # --- answering ------------------------------------------------------------------------------------

    def _note_revisions(self, seen: int | None, watermark: int, outcome: Outcome) -> None:
        """Count windows that seemed complete, as later events had been seen, and that changed after all."""
        if seen is None or not outcome.touched:
            return
        moved = outcome.moved_slices()
        for member in self.meta.timeline.members:
            since = min((moved[s.lane][0] for s in member.segments if s.lane in moved), default=LATEST)
            counted = self.meta.revisions.get(member.query, {})
            recent = seen - PROVISIONAL_WINDOWS * member.slide
            for end in self._older_moved(member, watermark, recent, moved):
                counted[end] = counted.get(end, 0) + 1
            end = member.window.first_end_after(max(since, watermark, recent))
            while end <= seen:
                counted[end] = counted.get(end, 0) + 1
                end += member.slide
            if counted:
                self.meta.revisions[member.query] = counted

    def _forget_revisions(self, watermark: int) -> None:
        asked = {member.query for member in self.meta.timeline.members}
        kept = (
            (query, {end: number for end, number in ends.items() if end > watermark})
            for query, ends in self.meta.revisions.items()
            if query in asked
        )
        self.meta.revisions = {query: ends for query, ends in kept if ends}

    def _answer_finals(self, before: int, now: int, batch: int, outcome: Outcome) -> None:
        """Every window that ends in `(before, now]` and holds an event, once, with its final value."""
        single: dict[str, list[MemberWindows]] = {lane: [] for lane in self.lanes}
        spanning: list[tuple[int, Member]] = []
        for member in self.meta.timeline.members:
            spanning += by_lane(member, self._ends(member, before, now), single)
        for lane, windows in single.items():
            slices = self.lanes[lane]
            with slices.timed():
                slices.close_until(now, len(self._group_index(slices)))
                found = slices.finals([each.due(lane) for each in windows], now)
                self._emit_all(windows, found, slices, batch, True, outcome)
        for end, member in spanning:
            self._emit_spanning(member, end, batch, True, outcome)

    def _answer_provisionals(self, watermark: int, batch: int, outcome: Outcome) -> None:
        """Windows that moved in this batch and are not final yet, up to the one in progress."""
        greatest = self.meta.watermark.greatest
        if not outcome.touched or greatest is None:
            return
        moved_slices = outcome.moved_slices()
        since = max(watermark, min(starts[0] for starts in moved_slices.values()))
        single: dict[str, list[MemberWindows]] = {lane: [] for lane in self.lanes}
        for member in self.meta.timeline.members:
            until = member.window.first_end_after(greatest)
            recent = until - PROVISIONAL_WINDOWS * member.slide
            older = self._older_moved(member, watermark, recent, moved_slices)
            ends = [*older, *self._ends(member, max(since, recent), until)]
            for end, spanning in by_lane(member, ends, single):
                self._emit_spanning(spanning, end, batch, False, outcome)
        for lane, windows in single.items():
            slices = self.lanes[lane]
            width = len(self._group_index(slices))
            for some in in_chunks(windows, _windows_at_once(width)):
                with slices.timed():
                    found = slices.provisionals([each.due(lane) for each in some], width)
                    self._emit_all(some, found, slices, batch, False, outcome)

    def _older_moved(
        self, member: Member, after: int, until: int, moved: Mapping[str, list[int]]
    ) -> Iterator[int]:
        """Ends in `(after, until]` of windows that moved in this batch, oldest first, some at most."""
        lanes = {segment.lane for segment in member.segments}
        left = PROVISIONAL_WINDOWS
        for start in merge(*(moved.get(lane, ()) for lane in lanes)):
            if start >= until:
                return
            for end in self._ends(member, max(after, start), min(until, start + member.range)):
                yield end
                after, left = end, left - 1
                if not left:
                    return

    def _answer_group_windows(self, now: int, batch: int, outcome: Outcome) -> None:
        """Count and session windows that became final; of lanes that have gone, let the state go."""
        lanes = {lane.id: lane for lane in self.meta.timeline.group_lanes}
        for gone in self.group_lanes.keys() - lanes.keys():
            outcome.evicted.update((gone, bucket) for bucket in self.group_lanes.pop(gone).buckets)
        about = {
            "source": self.source.id,
            "plan": self.meta.timeline.version,
            "shard": self.number,
            "batch": batch,
        }
        for lane in lanes.values():
            state = self.group_lanes.setdefault(lane.id, GroupLaneState(lane))
            state.lane = lane
            advanced = state.advance(now, lane.whole_from(self.meta.whole_from))
            outcome.touched.update((lane.id, bucket) for bucket in advanced.touched)
            outcome.evicted.update((lane.id, bucket) for bucket in advanced.emptied)
            outcome.blocks += state.results(advanced.answers, self.group_index(lane.group_by), about)

    def _ends(self, member: Member, after: int, until: int) -> list[int]:
        """Ends in `(after, until]` of the member's whole windows that hold at least one slice."""
        window = member.window
        lanes = [self.lanes[segment.lane] for segment in member.segments]
        first_slice_from = (
            lanes[0].first_start_from
            if len(lanes) == 1
            else lambda instant: min(lane.first_start_from(instant) for lane in lanes)
        )
        ends = []
        end = window.first_end_after(max(after, first_slice_from(EARLIEST)))
        while end <= until:
            start = first_slice_from(end - window.range)
            if start >= end:  # nothing in this window: go on to the first that holds the next slice
                end = window.first_end_after(start)
                continue
            if self._is_whole(member, end):
                ends.append(end)
            end += window.slide
        return ends

    def _is_whole(self, member: Member, end: int) -> bool:
        start = end - member.range
        if start < self._lacking.get(member.query, EARLIEST):
            return False
        if start >= max(self._fits_from[member.query], self.meta.whole_from):
            return True
        pieces = member.pieces(start, end)
        if not pieces or pieces[0][1] != start:
            return False
        if start < self.meta.whole_from and not self.lanes[pieces[0][0]].lane.read_back:
            return False
        first, last = self.lanes[pieces[0][0]].lane, self.lanes[pieces[-1][0]].lane
        return first.is_edge(start) and last.is_edge(end)

    def _emit_spanning(self, member: Member, end: int, batch: int, final: bool, outcome: Outcome) -> None:
        """A window over several lanes, of which the newest is its tree's."""
        with self.lanes[member.segments[-1].lane].timed():
            self._emit(member, [end], self._spanning(member, end), batch, final, outcome)

    def _spanning(self, member: Member, end: int) -> Columns:
        """A window over several lanes, which may keep other parts than the member needs."""
        pieces = member.pieces(end - member.range, end)
        slices = [self.lanes[lane] for lane, _, _ in pieces]
        width = len(self._group_index(slices[0]))
        parts = AGGREGATES[member.aggregate].states
        names = [part.name for part in parts]
        columns = Columns.empty(parts, width)
        for held, (_, low, high) in zip(slices, pieces, strict=True):
            found = held.from_change(low, high, width) if high == end else held.up_to_change(low, high, width)
            columns = columns.combined(found.only(names, held.parts), parts)
        return columns

    def _emit_all(
        self,
        windows: Sequence[MemberWindows],
        found: WindowColumns,
        slices: LaneSlices,
        batch: int,
        final: bool,
        outcome: Outcome,
    ) -> None:
        """Those of a member together: a call for each window would take longer than its numbers."""
        low, at_once = 0, _windows_at_once(found.events.shape[1])
        for member, all_ends in windows:
            places = slices.places_of(member.aggregate)
            for at in range(0, len(all_ends), at_once):
                ends = all_ends[at : at + at_once]
                columns = found.run(low, low + len(ends), places)
                self._emit(member, ends, columns, batch, final, outcome)
                low += len(ends)

    def _emit(
        self, member: Member, ends: Sequence[int], columns: Columns, batch: int, final: bool, outcome: Outcome
    ) -> None:
        """`columns` has all groups of one end after the other, and the parts of the member's aggregate."""
        width = columns.width // len(ends)
        index = self._group_index(self.lanes[member.segments[-1].lane])
        if columns.events.all():  # mostly so
            bounds = list(range(0, columns.width + 1, max(1, width)))
            keys = [index.raw(np.arange(width))] * len(ends)
        else:
            present = np.flatnonzero(columns.events)
            columns = columns.of_groups(present)
            bounds = np.searchsorted(present, np.arange(len(ends) + 1) * width).tolist()
            pieces = enumerate(pairwise(bounds))
            keys = [index.raw(present[low:high] - place * width) for place, (low, high) in pieces]
        values = columns.values if member.field else columns.events  # a count of nothing counts events
        numbers, others = answers(AGGREGATES[member.aggregate], values, columns.parts)
        counts = as_counts(columns.events)
        # Bytes are cut many times faster than arrays.
        value_bytes, count_bytes, count_size = numbers.tobytes(), counts.tobytes(), counts.itemsize
        revisions = self.meta.revisions.get(member.query, {})
        for end, groups, low, high in zip(ends, keys, bounds, bounds[1:], strict=False):
            if low == high:
                continue
            outcome.blocks.append(
                ResultBlock(
                    source=self.source.id,
                    query=member.query,
                    plan=self.meta.timeline.version,
                    start=end - member.range,
                    end=end,
                    shard=self.number,
                    batch=batch,
                    final=final,
                    keys=groups,
                    values=value_bytes[8 * low : 8 * high],
                    counts=count_bytes[count_size * low : count_size * high],
                    others=None if others is None else others[low:high],
                    revision=revisions.get(end, 0),
                )
            )

    # --- letting go and telling -----------------------------------------------------------------------

    def _evict(self, watermark: int, outcome: Outcome) -> None:
        pruned = self.meta.timeline.pruned(watermark)
        for lane, horizon in pruned.horizons(watermark):
            if lane not in self.lanes:  # it only feeds others
                continue
            outcome.evicted.update((lane, start) for start in self.lanes[lane].evict_before(horizon))
        gone = self.lanes.keys() - {lane.id for lane in pruned.lanes}
        for lane in gone:
            outcome.evicted.update((lane, start) for start in self.lanes[lane].starts())
        self.redefine(pruned)
        outcome.touched -= outcome.evicted
        outcome.recalled -= outcome.evicted

    def _let_groups_go(self, batch: int, outcome: Outcome) -> None:
        """Forget groups of which no slice knows any more, once they are many."""
        used: dict[tuple[str, ...], list[LaneSlices]] = {
            state.lane.group_by: [] for state in self.group_lanes.values()
        }
        for slices in (*self.lanes.values(), *self.pasts.values()):
            used.setdefault(slices.lane.signature.group_by, []).append(slices)
        for group_by, index in list(self.groups.items()):
            if group_by not in used:
                outcome.regrouped[group_by] = self.groups.pop(group_by).chunks
            elif index.is_worth_a_look(batch):
                chunks = index.chunks
                held = self._held_groups(group_by, used[group_by])
                if index.keep(held):
                    outcome.regrouped[group_by] = chunks
                    for slices in used[group_by]:
                        slices.keep_groups(held)

    def _held_groups(self, group_by: tuple[str, ...], lanes: list[LaneSlices]) -> np.ndarray:
        """The numbers of the groups that some slice, or a group window, holds events of."""
        index = self.groups[group_by]
        held = np.zeros(len(index), np.bool_)
        for slices in lanes:
            held |= slices.holds(len(index))
        for state in self.group_lanes.values():
            if state.lane.group_by == group_by:
                held[index.numbers_of(state.held_groups())] = True
        return np.flatnonzero(held)

    def _group_index(self, slices: LaneSlices) -> GroupIndex:
        return self.group_index(slices.lane.signature.group_by)


def _windows_at_once(width: int) -> int:
    return max(1, ANSWERS_AT_ONCE // max(1, width))


def _plan_in(message: bytes) -> Plan | None:
    """None where it cannot be read: the job says so (`streaming/job.py`), and the plan in force goes on."""
    try:
        return Plan.from_json(msgspec.json.decode(message)["plan"])
    except (ValueError, KeyError, TypeError):
        return None
