"""One page of a topic's messages: where it begins, what is searched for, and where the next one goes on."""

import time
from dataclasses import dataclass
from itertools import islice

from django.http import QueryDict
from kafka import TopicPartition

from dashboard.instants import InvalidInstant, parse_instant
from dashboard.sources.kafka import KafkaProblem, Message, TopicReader, consumer_of
from dashboard.sources.legible import legible
from dashboard.sources.models import Source
from dashboard.sources.presentation import Line, line_of
from dashboard.sources.topic_readings import readings
from dashboard.sources.topic_walk import Extent, Places, Walk, extent
from streaming import expressions

SEEKS = ("live", "newest", "oldest", "offset", "time")
PAGE = 50
SEARCHED = 20_000  # messages that one search looks at
SEARCH_BATCH = 250
DOWNLOADED = 10_000
DOWNLOADED_BYTES = 32 << 20
_OPERATORS = ("=", "<", ">", " like ", " in ", " is ", " between ")


class BadRequest(ValueError):
    """What was asked for makes no sense; the sentence says why."""


@dataclass(frozen=True)
class Search:
    """A text to be found in key or value, or a condition on the fields."""

    text: str = ""
    where: str = ""
    note: str = ""  # why a condition is taken as text
    mended: str = ""  # the condition as it was probably meant

    @classmethod
    def typed(cls, typed: str, source: Source) -> "Search":
        words = typed.strip()
        if not any(operator in f" {words.lower()} " for operator in _OPERATORS):
            return cls(text=words)
        try:
            expressions.check(words, source.types)
        except expressions.InvalidExpression as problem:
            note = f"{problem.sentence} Searching as plain text instead."
            return cls(text=words, note=note, mended=_mended(words, problem))
        return cls(where=words)

    def __bool__(self) -> bool:
        return bool(self.text or self.where)

    def matching(self, source: Source, messages: list[Message]) -> list[Message]:
        if self.where:
            judged = zip(messages, readings(source, messages, self.where), strict=True)
            return [message for message, reading in judged if reading.kept]
        needle = self.text.lower().encode()
        looked_at = zip(messages, legible(source, messages), strict=True)
        return [message for message, value in looked_at if _holds(needle, message.key, value)]


def _mended(words: str, problem: expressions.InvalidExpression) -> str:
    """With the name that was probably meant in the place of what is wrong."""
    if problem.span is None or problem.suggestion is None:
        return ""
    start, end = problem.span
    return words[:start] + problem.suggestion + words[end:]


def _holds(needle: bytes, *parts: bytes | None) -> bool:
    return any(needle in part.lower() for part in parts if part)


@dataclass(frozen=True)
class Asked:
    """Where to read, in which partition, and what to look for."""

    seek: str = "newest"
    partition: int | None = None
    offset: int = 0
    since: int = 0  # ms
    q: str = ""
    aborted: bool = False  # whether messages of aborted transactions are shown, too
    before: Places | None = None  # read backwards from here
    after: Places | None = None  # read on from here

    @classmethod
    def of(cls, data: QueryDict) -> "Asked":
        seek = data.get("seek", "newest")
        if seek not in SEEKS:
            raise BadRequest(f"“{seek}” is not a place to read from.")
        return cls(
            seek=seek,
            partition=_number(data.get("partition", ""), "a partition"),
            offset=_offset(data.get("offset", "")) if seek == "offset" else 0,
            since=_instant(data.get("since", ""), data.get("zone", "")) if seek == "time" else 0,
            q=data.get("q", "").strip()[:500],
            aborted=bool(data.get("aborted")),
            before=_places(data.get("before", "")),
            after=_places(data.get("after", "")),
        )

    @property
    def newest_first(self) -> bool:
        return self.seek in ("live", "newest")

    @property
    def backwards(self) -> bool:
        return self.before is not None or (self.after is None and self.newest_first)


def _number(text: str, what: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal() or len(text) > 18:
        raise BadRequest(f"“{text}” is not {what}: write a whole number.")
    return int(text)


def _offset(text: str) -> int:
    found = _number(text.replace(",", "").strip(), "an offset")
    if found is None:
        raise BadRequest("Say from which offset, such as 1200.")
    return found


def _instant(text: str, zone: str) -> int:
    if not text.strip():
        raise BadRequest("Say since when, such as now-15m or 2026-11-16 09:30.")
    try:
        return parse_instant(text, int(time.time() * 1000), zone or "UTC")
    except InvalidInstant as problem:
        raise BadRequest(str(problem)) from problem


def _places(text: str) -> Places | None:
    """Places as `write_places` writes them."""
    if not text:
        return None
    try:
        pairs = [entry.split(":") for entry in text.split(",")]
        return {int(part): int(offset) for part, offset in pairs}
    except ValueError as error:
        raise BadRequest("The address of this page is damaged: start again from the newest.") from error


def write_places(places: Places) -> str:
    return ",".join(f"{part}:{offset}" for part, offset in sorted(places.items()))


@dataclass(frozen=True)
class MessagePage:
    """What the messages tab shows at once."""

    lines: list[Line]
    partitions: list[int]
    kept: int
    looked_at: int
    before: str  # places: what is older goes on from here, what is newer from `after`; empty: no more
    after: str
    up_to: str  # places up to which it goes: a live tail goes on from here
    newest_first: bool
    out_of_time: bool = False
    note: str = ""
    mended: str = ""


@dataclass(frozen=True)
class _Found:
    messages: list[Message]
    looked_at: int
    low: Places
    high: Places
    out_of_time: bool


def message_page(source: Source, asked: Asked) -> MessagePage:
    search = Search.typed(asked.q, source)
    with consumer_of(source) as consumer:
        known = extent(consumer, source)
        inside = _of_partition(known, asked.partition)
        found = _find(consumer, source, inside, asked, search, PAGE)
    ordered = found.messages if asked.backwards == asked.newest_first else found.messages[::-1]
    return MessagePage(
        lines=lines_of(source, ordered),
        partitions=sorted(known.end),
        kept=inside.kept,
        looked_at=found.looked_at,
        before=write_places(found.low) if _differs(found.low, inside.first) else "",
        after=write_places(found.high) if _differs(found.high, inside.end) else "",
        up_to=write_places(found.high),
        newest_first=asked.newest_first,
        out_of_time=found.out_of_time,
        note=search.note,
        mended=search.mended,
    )


def lines_of(source: Source, messages: list[Message]) -> list[Line]:
    """Each message on one line, with what becomes of it."""
    parts = zip(messages, legible(source, messages), readings(source, messages), strict=True)
    return [line_of(*part, source.event_time) for part in parts]


def messages_to_download(source: Source, asked: Asked) -> list[Message]:
    """As many as a download may hold, from where the page begins."""
    search = Search.typed(asked.q, source)
    with consumer_of(source) as consumer:
        inside = _of_partition(extent(consumer, source), asked.partition)
        return _find(consumer, source, inside, asked, search, DOWNLOADED, DOWNLOADED_BYTES).messages


def _of_partition(known: Extent, partition: int | None) -> Extent:
    if partition is None:
        return known
    if partition not in known.end:
        raise KafkaProblem("topic", f"There is no partition {partition}: they are 0 to {max(known.end)}.")
    return Extent({partition: known.first[partition]}, {partition: known.end[partition]})


def _find(
    consumer: TopicReader,
    source: Source,
    inside: Extent,
    asked: Asked,
    search: Search,
    wanted: int,
    most_bytes: int | None = None,
) -> _Found:
    low, high = _bounds(consumer, source, inside, asked)
    walk = Walk(
        consumer,
        source.topic,
        low,
        high,
        backwards=asked.backwards,
        wanted=SEARCH_BATCH if search else wanted,
        with_aborted=asked.aborted,
    )
    messages, looked_at = _gather(walk, source, search, wanted, most_bytes)
    if asked.backwards:
        low = walk.at
    else:
        high = walk.at
    return _Found(messages, looked_at, low, high, walk.out_of_time)


def _gather(
    walk: Walk, source: Source, search: Search, wanted: int, most_bytes: int | None
) -> tuple[list[Message], int]:
    if not search:
        return _up_to(walk, wanted, most_bytes), 0
    found: list[Message] = []
    looked_at, steps = 0, iter(walk)
    while len(found) < wanted and looked_at < SEARCHED:
        batch = list(islice(steps, SEARCH_BATCH))
        found += search.matching(source, batch)
        looked_at += len(batch)
        if not batch:
            break
    return found, looked_at


def _up_to(walk: Walk, wanted: int, most_bytes: int | None) -> list[Message]:
    found, size = [], 0
    for message in islice(walk, wanted):
        found.append(message)
        size += len(message.value or b"")
        if most_bytes is not None and size > most_bytes:
            break
    return found


def _bounds(consumer: TopicReader, source: Source, inside: Extent, asked: Asked) -> tuple[Places, Places]:
    """Between which places to walk; whatever lies outside of what is kept is brought inside."""
    if asked.before is not None:
        return inside.first, _clamped(inside, asked.before, inside.end)
    if asked.after is not None:
        return _clamped(inside, asked.after, inside.first), inside.end
    if asked.seek == "offset":
        return _clamped(inside, dict.fromkeys(inside.end, asked.offset), inside.end), inside.end
    if asked.seek == "time":
        return _since(consumer, source, inside, asked.since), inside.end
    return inside.first, inside.end


def _clamped(inside: Extent, places: Places, otherwise: Places) -> Places:
    return {
        part: max(inside.first[part], min(inside.end[part], places.get(part, otherwise[part])))
        for part in inside.end
    }


def _since(consumer: TopicReader, source: Source, inside: Extent, since: int) -> Places:
    times = {TopicPartition(source.topic, part): since for part in inside.end}
    found = consumer.offsets_for_times(times)
    return {
        part.partition: at.offset if (at := found.get(part)) else inside.end[part.partition] for part in times
    }


def _differs(places: Places, limit: Places) -> bool:
    return any(places[part] != limit[part] for part in places)
