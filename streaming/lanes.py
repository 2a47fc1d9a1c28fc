"""Lanes: how a plan's trees cut event time into slices, and what happens to that when the plan changes.

A lane is a tree's sequence of slices as the job keeps it. It outlives plan versions: a tree that gains or
loses a query goes on in the same lane, only cut differently from the instant on at which the new plan takes
effect. Every event is cut by exactly one plan, the one in force at its event time, whatever batch or task
it arrives in.
"""

from collections.abc import Collection, Iterator
from itertools import pairwise

import msgspec
import numpy as np
from numba import njit

from optimizer.plan import Plan, Tree
from optimizer.queries import Query
from optimizer.windows import Window
from streaming.aggregates.states import parts_of
from streaming.group_lanes import GroupLane, adopted
from streaming.placement import WHOLE, Share, share_of

EARLIEST = -(2**62)
LATEST = 2**62


class Cut(msgspec.Struct, frozen=True, array_like=True):
    """From `since` to `until` slices end on every instant of the residue classes `(period, residue)`."""

    since: int
    until: int
    classes: tuple[tuple[int, int], ...]

    def is_edge(self, instant: int) -> bool:
        if instant in (self.since, self.until):
            return True
        return any(instant % period == residue for period, residue in self.classes)

    def has_edges_of(self, window: Window) -> bool:
        """Whether there is an edge wherever one of the windows starts or ends."""
        return all(
            any(slide % period == 0 and (edge - residue) % period == 0 for period, residue in self.classes)
            for slide, edge in window.edge_classes
        )

    def slice_end(self, start: int) -> int:
        """The end of the slice that starts at `start`."""
        ends = (start + period - (start - residue) % period for period, residue in self.classes)
        return min(self.until, min(ends))


class Signature(msgspec.Struct, frozen=True, array_like=True):
    """What lanes must have in common for their slices to be of use to each other."""

    where: str | None
    group_by: tuple[str, ...]
    field: str | None  # a field of the source, or an expression of fields
    parts: tuple[str, ...]  # which states are kept (streaming/aggregates/states.py)

    @classmethod
    def of(cls, queries: Collection[Query]) -> "Signature":
        """What queries of one tree need."""
        first = next(iter(queries))
        return cls(first.where, first.group_by, first.field, parts_of(query.aggregate for query in queries))

    def holds(self, other: "Signature") -> bool:
        """Whether slices kept like this serve as those."""
        return msgspec.structs.replace(self, parts=()) == msgspec.structs.replace(other, parts=()) and set(
            other.parts
        ) <= set(self.parts)


class Feed(msgspec.Struct, frozen=True, array_like=True):
    """From `since` on a lane's partials are made of those of another lane, before they are shuffled."""

    lane: str
    since: int


class Lane(msgspec.Struct, frozen=True, array_like=True):
    id: str
    tree: str
    kernel: str
    signature: Signature
    cuts: tuple[Cut, ...]
    feed: Feed | None = None
    fragments: tuple[str, ...] = ()  # filters that its partials are told apart by, for lanes that it feeds
    kept: bool = True  # False: it only feeds others, and shards do not see it
    share: Share = WHOLE  # of the shards: those of the node that the plan places it on
    read_back: bool = False  # made after the event, of what Kafka still held (`streaming/recall.py`)

    @property
    def since(self) -> int:
        return self.cuts[0].since

    @property
    def until(self) -> int:
        return self.cuts[-1].until

    def cut_at(self, instant: int) -> Cut | None:
        return next((cut for cut in self.cuts if cut.since <= instant < cut.until), None)

    def is_edge(self, instant: int) -> bool:
        return any(cut.is_edge(instant) for cut in self.cuts if cut.since <= instant <= cut.until)

    def slice_end(self, start: int) -> int:
        cut = self.cut_at(start)
        if cut is None:
            raise ValueError(f"Lane {self.id} has no slice that starts at {start}.")
        return cut.slice_end(start)

    def most_slices(self, window: Window) -> int:
        """At most so many slices lie in one of these windows."""
        most = (sum(-(-window.range // period) for period, _ in cut.classes) for cut in self.cuts)
        return max(most) + len(self.cuts) - 1

    def slice_starts(self, times: np.ndarray) -> np.ndarray:
        """The start of the slice each time falls into; `LATEST` where this lane was not in force."""
        return slice_starts(times, self.cuts)

    def serves_as(self, other: "Lane") -> bool:
        """Whether it can go on in place of a new one."""
        alike = (self.fragments, self.kept, self.share) == (other.fragments, other.kept, other.share)
        return alike and self.signature.holds(other.signature)

    def closed_at(self, instant: int) -> "Lane":
        last = self.cuts[-1]
        return msgspec.structs.replace(self, cuts=(*self.cuts[:-1], Cut(last.since, instant, last.classes)))

    def recut(self, classes: tuple[tuple[int, int], ...], instant: int) -> "Lane":
        """This lane with an edge at `instant` and other classes from there on."""
        closed = self.closed_at(instant)
        return msgspec.structs.replace(closed, cuts=(*closed.cuts, Cut(instant, LATEST, classes)))

    def continued(self, tree: Tree, instant: int) -> "Lane":
        """This lane under a newer plan; nothing changes for a tree whose edges stay the same."""
        lane = msgspec.structs.replace(self, kernel=_kernel_of(tree))
        return lane if self.cuts[-1].classes == tree.edge_classes else lane.recut(tree.edge_classes, instant)

    def fed(self, by: str | None, instant: int) -> "Lane":
        """This lane, fed by another one from now on; a feed that stays the same goes on."""
        if by is not None and self.feed is not None and self.feed.lane == by:
            return self
        return msgspec.structs.replace(self, feed=None if by is None else Feed(by, instant))


def slice_starts(times: np.ndarray, cuts: tuple[Cut, ...]) -> np.ndarray:
    """The start of the slice each time falls into; `LATEST` where no cut was in force."""
    starts = np.full(len(times), LATEST, np.int64)
    for cut in cuts:
        periods = np.array([period for period, _ in cut.classes], np.int64)
        residues = np.array([residue for _, residue in cut.classes], np.int64)
        _slice_starts(times, periods, residues, cut.since, cut.until, starts)
    return starts


@njit(cache=True, nogil=True)
def _slice_starts(times, periods, residues, since, until, starts):  # type: ignore[no-untyped-def]
    low, high = 1, 0  # the slice of the event before: neighbours mostly share it
    for i in range(len(times)):
        t = times[i]
        if t < since or t >= until:
            continue
        if not low <= t < high:
            low, high = since, until
            for j in range(len(periods)):
                start = t - (t - residues[j]) % periods[j]
                low = max(low, start)
                high = min(high, start + periods[j])
        starts[i] = low


class Segment(msgspec.Struct, frozen=True, array_like=True):
    """From `since` on the query's partials are in this lane."""

    lane: str
    since: int


class Member(msgspec.Struct, frozen=True, array_like=True):
    """A query of the newest plan and the lanes that hold its past."""

    query: str
    aggregate: str
    field: str | None
    range: int
    slide: int
    offset: int
    segments: tuple[Segment, ...]
    # Windows whose answers it is made of, each of the one before: a shorter way to the same answer.
    through: tuple[tuple[int, int, int], ...] = ()

    @property
    def window(self) -> Window:
        return Window(self.range, self.slide, self.offset)

    @property
    def chain(self) -> tuple[Window, ...]:
        return tuple(Window(*window) for window in self.through)

    def pieces(self, start: int, end: int) -> list[tuple[str, int, int]]:
        """The lanes that together hold `[start, end)`, each with its part of it."""
        if start >= self.segments[-1].since:  # mostly so
            return [(self.segments[-1].lane, start, end)]
        pieces = []
        untils = [segment.since for segment in self.segments[1:]] + [LATEST]
        for segment, until in zip(self.segments, untils, strict=True):
            low, high = max(start, segment.since), min(end, until)
            if low < high:
                pieces.append((segment.lane, low, high))
        return pieces


class Wait(msgspec.Struct, frozen=True, array_like=True):
    """Of windows that end after an instant, those wait that start before slices fit."""

    after: int
    fits: int


class Past(msgspec.Struct, frozen=True, array_like=True):
    """A lane that ends where a plan took effect, for queries that came with it; to be made of old events."""

    lane: Lane
    version: int  # of the plan
    # By query; more than one where it had waited for another past when the plan came. Each holds for windows
    # that end before the next begins.
    waits: dict[str, tuple[Wait, ...]]


class Timeline(msgspec.Struct, frozen=True, array_like=True):
    """All lanes and members after a number of plans; a value that tasks and shards share."""

    version: int = 0
    lanes: tuple[Lane, ...] = ()
    members: tuple[Member, ...] = ()
    group_lanes: tuple[GroupLane, ...] = ()
    pasts: tuple[Past, ...] = ()  # not yet of use

    def lane(self, lane_id: str) -> Lane:
        return next(lane for lane in self.lanes if lane.id == lane_id)

    @property
    def reach(self) -> int:
        """How long after an event a window that holds it may end."""
        gaps = (lane.measures[0] for lane in self.group_lanes if len(lane.measures) == 1)
        return max([0, *(member.range for member in self.members), *gaps])

    def adopt(self, plan: Plan, instant: int, watermark: int = EARLIEST) -> "Timeline":
        """This timeline with `plan` in force from `instant` on; slices before it stay of use.

        `watermark` is the one up to which slices may have been let go already.
        """
        kept_from = dict(self.horizons(watermark))
        lanes = {lane.id: lane for lane in self.lanes}
        current = {lane.tree: lane.id for lane in self.lanes if lane.until == LATEST}
        members = []
        laid_out = Layout(plan)
        own: dict[str, Lane] = {}  # by tree
        for tree in laid_out.with_slices:
            known = lanes.get(current.pop(tree.id, ""))
            share = share_of(plan, tree.node)
            lane = self._lane_for(tree, laid_out, known, plan.version, instant, share)
            if known is not None and known.id != lane.id:
                lanes[known.id] = known.closed_at(instant)
            by = own[tree.fed_by].id if tree.fed_by else None
            own[tree.id] = lanes[lane.id] = lane.fed(by, instant)
        for tree in plan.trees:
            lane, through = own[laid_out.home[tree.id]], laid_out.through[tree.id]
            members += [self._member_for(query, lane, through, instant, kept_from) for query in tree.queries]
        for lane_id in current.values():
            lanes[lane_id] = lanes[lane_id].closed_at(instant)
        # A query that changes lanes needs an edge where it leaves the one and where it enters the other: both
        # may go on, and a slice that reached across would be lost to its windows, or counted twice.
        for member in members:
            for left, entered in pairwise(member.segments):
                if entered.since == instant:
                    make_edge(lanes, left.lane, instant)
                    make_edge(lanes, entered.lane, instant)
        group_lanes = adopted(self.group_lanes, plan, instant)
        return Timeline(plan.version, tuple(lanes.values()), tuple(members), group_lanes)

    def _lane_for(
        self,
        tree: Tree,
        layout: "Layout",
        lane: Lane | None,
        version: int,
        instant: int,
        share: Share,
    ) -> Lane:
        key = tree.key
        parts = tuple(sorted(layout.parts[tree.id]))
        signature = Signature(key.where or None, key.group_by, key.field or None, parts)
        kept = tree.id in layout.answering
        cut = Cut(instant, LATEST, tree.edge_classes)
        new = Lane(
            f"{tree.id}.{version}",
            tree.id,
            _kernel_of(tree),
            signature,
            (cut,),
            fragments=key.fragments,
            kept=kept,
            share=share,
        )
        return lane.continued(tree, instant) if lane is not None and lane.serves_as(new) else new

    def _member_for(
        self,
        query: Query,
        lane: Lane,
        through: tuple[tuple[int, int, int], ...],
        instant: int,
        kept_from: dict[str, int],
    ) -> Member:
        segments = self._past_of(query, lane, kept_from)
        if not segments or segments[-1].lane != lane.id:
            segments = (*segments, Segment(lane.id, max(lane.since, instant) if segments else lane.since))
        window = query.window
        return Member(
            query.id,
            query.aggregate,
            query.field,
            window.range,
            window.slide,
            window.offset,
            segments,
            through,
        )

    def _past_of(self, query: Query, lane: Lane, kept_from: dict[str, int]) -> tuple[Segment, ...]:
        """Where partials of the query are already: its own past, or lanes that hold the same partials."""
        needed = Signature.of([query])
        # In the same shards: a lane that moves to another node leaves its slices behind.
        lanes = {old.id: old for old in self.lanes if old.share == lane.share and old.signature.holds(needed)}
        for member in self.members:
            is_same = (member.query, member.window) == (query.id, query.window)
            if is_same and member.segments[-1].lane in lanes:
                return member.segments
        donors = [old for old in lanes.values() if old.kept and old.until == LATEST]
        if not donors:
            return ()
        # Its own lane, else the donor whose slices end most often: that fits the most windows.
        donor = lanes.get(lane.id) or max(
            donors, key=lambda old: sum(1 / period for period, _ in old.cuts[-1].classes)
        )
        return (Segment(donor.id, max(donor.since, kept_from[donor.id])),)

    def pruned(self, watermark: int) -> "Timeline":
        """Without what no window can reach back to any more."""
        members = tuple(
            _without_segments_before(member, self._horizon(member, watermark)) for member in self.members
        )
        pruned = msgspec.structs.replace(self, members=members)
        horizons = dict(pruned.horizons(watermark))
        lanes = []
        for lane in self.lanes:
            cuts = tuple(cut for cut in lane.cuts if cut.until > horizons[lane.id])
            if cuts:
                lanes.append(msgspec.structs.replace(lane, cuts=cuts))
        return msgspec.structs.replace(pruned, lanes=tuple(lanes))

    def horizons(self, watermark: int) -> Iterator[tuple[str, int]]:
        """For every lane the instant before which its slices are of no more use."""
        reached: dict[str, int] = {}
        for member in self.members:
            horizon = self._horizon(member, watermark)
            for segment in member.segments:
                # What it came too late for may have been let go; nothing is, after the watermark.
                since = min(max(segment.since, horizon), watermark)
                reached[segment.lane] = min(since, reached.get(segment.lane, since))
        for lane in self.lanes:
            yield lane.id, reached.get(lane.id, watermark)

    def _horizon(self, member: Member, watermark: int) -> int:
        """How far back its windows reach that are not told yet, with those that still lack their past."""
        lacking = (past.lane.until for past in self.pasts if member.query in past.waits)
        return min(watermark - member.range, *lacking, LATEST)


def make_edge(lanes: dict[str, Lane], lane_id: str | None, instant: int) -> None:
    """Let a lane have an edge at `instant`, and so the lanes that feed it: slices must not reach across."""
    while lane_id is not None and lane_id in lanes:
        lane = lanes[lane_id]
        if lane.until > instant and not lane.is_edge(instant):
            lanes[lane_id] = lane.recut(lane.cuts[-1].classes, instant)
        lane_id = lane.feed.lane if lane.feed is not None else None


class Layout:
    """Where the trees of a plan have their slices, and what these must hold."""

    def __init__(self, plan: Plan) -> None:
        self.home: dict[str, str] = {}  # by tree, the tree in whose slices it finds its partials
        self.through: dict[str, tuple[tuple[int, int, int], ...]] = {}
        self.with_slices: list[Tree] = []  # those that feed others before these
        trees = {tree.id: tree for tree in plan.trees}
        for tree in plan.trees:
            self._place(tree, trees)
        self.parts: dict[str, set[str]] = {tree.id: set() for tree in self.with_slices}
        self.answering = {self.home[tree.id] for tree in plan.trees if tree.queries}
        for tree in plan.trees:
            self.parts[self.home[tree.id]].update(parts_of(query.aggregate for query in tree.queries))
        for tree in reversed(self.with_slices):
            if tree.fed_by is not None:
                self.parts[tree.fed_by] |= self.parts[tree.id]

    def _place(self, tree: Tree, trees: dict[str, Tree]) -> None:
        if tree.id in self.home:
            return
        if tree.fed_by is not None:
            self._place(trees[tree.fed_by], trees)
        if tree.fed_by is None or tree.through is None:
            self.home[tree.id], self.through[tree.id] = tree.id, ()
            self.with_slices.append(tree)
            return
        window = tree.through
        self.home[tree.id] = self.home[tree.fed_by]
        self.through[tree.id] = (*self.through[tree.fed_by], (window.range, window.slide, window.offset))


def _kernel_of(tree: Tree) -> str:
    """A tree that answers nothing itself may have to answer for others, with any aggregate."""
    return tree.kernel or "flatfit"


def _without_segments_before(member: Member, horizon: int) -> Member:
    """Nor those without an instant of their own: two plans may have come while no event did."""
    untils = [segment.since for segment in member.segments[1:]] + [LATEST]
    segments = (
        segment
        for segment, until in zip(member.segments, untils, strict=True)
        if until > max(horizon, segment.since)
    )
    return msgspec.structs.replace(member, segments=tuple(segments))
