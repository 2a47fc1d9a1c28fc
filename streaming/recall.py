"""Reading back: what queries of a new plan lack of the past is made of the events that Kafka still holds.

A plan takes effect at an instant. Queries that came with it, and find no slices from before it that fit, get
a lane of their own that ends there (`Past`). As soon as no more event from before the instant can come, the
planning of batches (`streaming/input_stream.py`) lets tasks read the log once more, some of it with every
batch, from the time on that the queries reach back to. Shards gather those partials apart; with the last of
them the lane is complete, the queries' windows are answered from it, and those that ended meanwhile are told.
"""

from collections.abc import Iterator

import msgspec

from streaming.aggregates.states import parts_of
from streaming.lanes import (
    EARLIEST,
    LATEST,
    Cut,
    Lane,
    Member,
    Past,
    Segment,
    Signature,
    Timeline,
    Wait,
    make_edge,
)
from streaming.placement import Share


class Recalled(msgspec.Struct, array_like=True):
    """How far the reading back for one plan has come."""

    version: int = 0  # of the plan
    greatest: dict[int, int] = {}  # per Kafka partition, the greatest event time that was read again
    whole_from: int = EARLIEST  # older messages than those that were read may be missing
    read: int = 0  # messages
    messages: int = 0  # that there are to read

    def has_shown(self, partition: int) -> bool:
        """Whether a time was read in one of its messages."""
        return self.greatest.get(partition, EARLIEST) > EARLIEST

    def whole_since(self, bounded: list[int]) -> int:
        """From when on what was read is whole: never, where nothing is left of a partition."""
        return self.whole_from if all(map(self.has_shown, bounded)) else LATEST


# --- what is lacking ----------------------------------------------------------------------------------


def with_pasts(known: Timeline, adopted: Timeline, instant: int, watermark: int) -> Timeline:
    """The timeline of a plan that takes effect at `instant`, with the pasts that its queries lack.

    `known` is the one before, which may have had queries that still wait for theirs.
    """
    settled = {_identity(member) for member in known.members}
    waited = _waits_before(known, adopted)
    lanes = {lane.id: lane for lane in adopted.lanes}
    lacking = [
        member
        for member in adopted.members
        if _identity(member) not in settled
        and (member.query in waited or _lacks_past(lanes, member, instant, watermark))
    ]
    for member in lacking:
        make_edge(lanes, member.segments[-1].lane, instant)
    new = {member.query for member in lacking}
    waiting = [past for each in known.pasts if (past := _still_wanted(each, known, adopted, new)) is not None]
    return msgspec.structs.replace(
        adopted,
        lanes=tuple(lanes.values()),
        pasts=(*waiting, *_pasts(adopted, lacking, waited, instant, watermark)),
    )


def _waits_before(known: Timeline, adopted: Timeline) -> dict[str, tuple[Wait, ...]]:
    """Of queries that still wait for a past and mean the same in the new plan: their windows are owed."""
    waits = {query: waits for past in known.pasts for query, waits in past.waits.items()}
    before = {member.query: _meaning(known, member) for member in known.members if member.query in waits}
    return {
        member.query: waits[member.query]
        for member in adopted.members
        if member.query in before and before[member.query] == _meaning(adopted, member)
    }


def _meaning(timeline: Timeline, member: Member) -> tuple[object, ...]:
    """What the answers of a member depend on, wherever its slices are."""
    signature = timeline.lane(member.segments[-1].lane).signature
    return (member.aggregate, member.field, member.window, signature.where, signature.group_by)


def _identity(member: Member) -> tuple[object, ...]:
    """What a member has in common with that of an older plan whose past is as good."""
    return (member.query, member.aggregate, member.window, member.segments[0])


def _lacks_past(lanes: dict[str, Lane], member: Member, instant: int, watermark: int) -> bool:
    """Whether some window that is not final reaches back to where there are no slices that fit."""
    start = member.window.first_end_after(watermark) - member.range
    return start < instant and start < fits_from(lanes, member)


def fits_from(lanes: dict[str, Lane], member: Member) -> int:
    """The instant from which on windows find slices that begin and end where they do."""
    fits = LATEST
    untils = [segment.since for segment in member.segments[1:]] + [LATEST]
    for segment, until in reversed(list(zip(member.segments, untils, strict=True))):
        for cut in reversed(lanes[segment.lane].cuts):
            if cut.since >= until or cut.until <= segment.since:
                continue
            if not cut.has_edges_of(member.window):
                return fits
            fits = max(segment.since, cut.since)
    return fits


def _pasts(
    timeline: Timeline,
    lacking: list[Member],
    waited: dict[str, tuple[Wait, ...]],
    instant: int,
    watermark: int,
) -> Iterator[Past]:
    """One for all members that gather the same events by the same groups."""
    lanes = {lane.id: lane for lane in timeline.lanes}
    alike: dict[tuple[Signature, Share], list[Member]] = {}
    for member in lacking:
        own = lanes[member.segments[-1].lane]
        signature = msgspec.structs.replace(own.signature, parts=())
        alike.setdefault((signature, own.share), []).append(member)
    for number, ((signature, share), members) in enumerate(alike.items()):
        classes = sorted(set().union(*(member.window.edge_classes for member in members)))
        waits = {
            member.query: (*waited.get(member.query, ()), Wait(watermark, fits_from(lanes, member)))
            for member in members
        }
        since = min(waits[member.query][0].after - member.range for member in members)
        lane = Lane(
            f"past.{timeline.version}.{number}",
            tree="",
            kernel="flatfit",
            signature=msgspec.structs.replace(
                signature, parts=parts_of(member.aggregate for member in members)
            ),
            cuts=(Cut(since, instant, tuple(classes)),),
            share=share,
            read_back=True,
        )
        yield Past(lane, timeline.version, waits)


def _still_wanted(past: Past, known: Timeline, adopted: Timeline, new: set[str]) -> Past | None:
    """For those of its queries that go on unchanged."""
    before = {member.query: _identity(member) for member in known.members}
    going_on = {member.query for member in adopted.members if before.get(member.query) == _identity(member)}
    waits = {query: waits for query, waits in past.waits.items() if query in going_on - new}
    return msgspec.structs.replace(past, waits=waits) if waits else None


# --- reading it ---------------------------------------------------------------------------------------


def next_wanted(timeline: Timeline, watermark: int) -> tuple[int, int] | None:
    """The oldest plan with a past that can be read by now, and from which event time on."""
    ready = [past for past in timeline.pasts if past.lane.until <= watermark]
    if not ready:
        return None
    version = min(past.version for past in ready)
    return version, min(past.lane.since for past in ready if past.version == version)


def owed(timeline: Timeline, version: int) -> dict[str, tuple[Wait, ...]]:
    """By query whose windows waited for a past of this plan: which of them."""
    return {query: waits for past in of_version(timeline, version) for query, waits in past.waits.items()}


def has_waited(waits: tuple[Wait, ...], start: int, end: int, whole_from: int) -> bool:
    """Whether a window was not told when it ended.

    `whole_from` is that of the stream, before which no lane has all events but those that are read back.
    """
    at_its_end = next((wait for wait in reversed(waits) if wait.after < end), None)
    return at_its_end is not None and start < max(at_its_end.fits, whole_from)


def lacking(timeline: Timeline) -> dict[str, int]:
    """By query that waits for its past: its windows that start earlier wait, too."""
    return {query: waits[-1].fits for past in timeline.pasts for query, waits in past.waits.items()}


def of_version(timeline: Timeline, version: int) -> list[Past]:
    return [past for past in timeline.pasts if past.version == version]


# --- having it ----------------------------------------------------------------------------------------


def granted(timeline: Timeline, version: int, whole_from: int) -> Timeline:
    """With the pasts of a plan, which have been read, in use: as far back as they are whole."""
    done = of_version(timeline, version)
    by_query = {query: past.lane for past in done for query in past.waits}
    members = tuple(
        _with_past(member, by_query[member.query], whole_from) if member.query in by_query else member
        for member in timeline.members
    )
    return msgspec.structs.replace(
        timeline,
        lanes=(*timeline.lanes, *(past.lane for past in done)),
        members=members,
        pasts=tuple(past for past in timeline.pasts if past.version != version),
    )


def _with_past(member: Member, lane: Lane, whole_from: int) -> Member:
    since = max(lane.since, whole_from)
    if since >= lane.until:
        return member
    untils = [segment.since for segment in member.segments[1:]] + [LATEST]
    later = (
        Segment(segment.lane, max(segment.since, lane.until))
        for segment, until in zip(member.segments, untils, strict=True)
        if until > lane.until
    )
    return msgspec.structs.replace(member, segments=(Segment(lane.id, since), *later))
