"""What a socket is told: the messages of a query, a source, a plan and the job, as plain JSON values.

A `QueryFeed` remembers what its viewer has: it answers with all of it first, then with what has changed
since, however long that was. A slow viewer gets fewer and larger messages, and nothing ever queues up.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec
from django.conf import settings

from dashboard.accounts.people import first_name
from dashboard.live import spans
from dashboard.live.batches import Batch
from dashboard.live.history import WindowHistory
from dashboard.live.hub import Hub
from dashboard.live.meters import CORES, SourceLoad
from dashboard.models import SavedQuery
from dashboard.planning.steps import Step, edits_of, joined_at, steps_of, warm_since
from dashboard.queries.windows_text import brief
from optimizer.group_windows import SessionWindow
from optimizer.queries import AnyQuery, Query
from streaming.results import GroupKey

TOP_GROUPS = 8
MOST_GROUPS = 50
UNKNOWN_REACH_MS = 60_000
FRAME_SIZE = 250_000

Message = dict[str, Any]


class Shared(dict[str, Any]):
    """A message that many viewers get alike, put into JSON once; what is a viewer's own comes before it.

    Of its lines only the text is kept: thousands of points are as many objects.
    """

    text: str = ""
    series: frozenset[str] = frozenset()  # ids of its lines
    has_points: bool = False

    @classmethod
    def of(cls, message: Message) -> "Shared":
        made = cls({name: value for name, value in message.items() if name != "series"})
        alike = {name: value for name, value in message.items() if name not in OWN_MEMBERS}
        made.text = _encoder.encode(alike).decode()
        made.series = frozenset(one["id"] for one in message.get("series", ()))
        made.has_points = any(one["points"] for one in message.get("series", ()))
        return made

    def own(self, **own: Any) -> "Shared":
        copy = Shared(self, **own)
        copy.text = self.text
        return copy


OWN_MEMBERS = ("count", "sequence", "clock", "failing")


def shared(hub: Hub, key: object, make: Callable[[], Message]) -> Shared:
    """The message of this key, made by whoever asks first since something was new."""
    known = hub.shared.get(key)
    if not isinstance(known, Shared):
        known = hub.shared[key] = Shared.of(make())
    return known


_encoder = msgspec.json.Encoder()


def frames(messages: Iterable[Message]) -> Iterator[str]:
    """Lists of messages, none larger than it has to be: the first charts are drawn while others are sent."""
    gathered: list[str] = []
    size = 0
    for text in map(_encoded, messages):
        if gathered and size + len(text) > FRAME_SIZE:
            yield f"[{','.join(gathered)}]"
            gathered, size = [], 0
        gathered.append(text)
        size += len(text)
    if gathered:
        yield f"[{','.join(gathered)}]"


def _encoded(message: Message) -> str:
    if not isinstance(message, Shared):
        return _encoder.encode(message).decode()
    own = _encoder.encode({name: message[name] for name in OWN_MEMBERS if name in message}).decode()
    return f"{own[:-1]},{message.text[1:]}"


@dataclass(frozen=True)
class Wish:
    """What a page wants of a query by groups: how many of them, and which of its windows."""

    groups: int = TOP_GROUPS
    windows: tuple[str, ...] = ("",)  # in words; an empty text is the first, whatever it is called

    @classmethod
    def heard(cls, said: Any) -> "Wish":
        """From what a browser says; nothing of it is trusted."""
        said = said if isinstance(said, dict) else {}
        groups, windows = said.get("groups"), said.get("windows")
        return cls(
            min(max(1, groups), MOST_GROUPS) if isinstance(groups, int) else TOP_GROUPS,
            tuple(map(str, windows)) if isinstance(windows, list) and windows else ("",),
        )


PLAIN = Wish()


@dataclass(frozen=True)
class WatchedWindow:
    """One window of a query: its single-window id and its measures in milliseconds."""

    id: str
    range: int
    slide: int
    computation: str = ""  # what it computes, in words
    joined: int | None = None  # when it joined the plan, where that is so recent that it may still warm up
    words: str = ""


@dataclass(frozen=True)
class WatchedQuery:
    """What a feed has to know of a saved query."""

    key: str
    source: str
    topic: str
    source_address: str
    lateness: int
    group_by: tuple[str, ...]
    windows: tuple[WatchedWindow, ...]
    choices: tuple[tuple[str, str], ...] = ()  # of a grouped query: each window in words, and in short
    paused: Message | None = None  # by whom and when (ms)
    edits: tuple[tuple[int, str], ...] = ()  # when (ms) and how it was changed of late
    groups: int = TOP_GROUPS  # so many of the greatest

    @cached_property
    def told_as(self) -> str:
        """What a message about it depends on."""
        return repr(self)

    @classmethod
    def of(cls, saved: SavedQuery, now: int, wish: Wish = PLAIN) -> "WatchedQuery":
        return cls.all_of([saved], now, {saved.key: wish})[saved.key]

    @classmethod
    def all_of(
        cls, saved: Iterable[SavedQuery], now: int, wishes: Mapping[str, Wish]
    ) -> dict[str, "WatchedQuery"]:
        """By key. What the plans of a source tell is asked for once, for all its queries."""
        by_source: dict[int, list[SavedQuery]] = defaultdict(list)
        for query in saved:
            by_source[query.source_id].append(query)
        return {
            query.key: cls._with_steps(query, steps, now, wishes.get(query.key, PLAIN))
            for queries in by_source.values()
            for steps in [_steps(queries, now)]
            for query in queries
        }

    @classmethod
    def _with_steps(cls, saved: SavedQuery, steps: list[Step], now: int, wish: Wish) -> "WatchedQuery":
        listed = cls.listed(saved, wish)
        joined = joined_at(steps, saved.queries(), saved.source.allowed_lateness, now)
        windows = tuple(replace(window, joined=joined.get(window.id)) for window in listed.windows)
        return replace(listed, windows=windows, edits=edits_of(steps, saved.key, now - spans.KEPT_MS))

    @classmethod
    def listed(cls, saved: SavedQuery, wish: Wish = PLAIN) -> "WatchedQuery":
        """Without what only the plans of the past tell: a list is long, and does not show it."""
        spec = saved.spec()
        members = spec.members(saved.key)
        # Many groups times many windows is no chart: those by groups show the first window, or those chosen.
        names = [one.words for one in spec.windows]
        choices = tuple(zip(names, brief(spec.windows), strict=True)) if saved.group_by else ()
        wanted = {names[0] if words == "" else words for words in wish.windows}
        chosen = [one for one in members if one[1].words in wanted] or members[:: len(spec.windows)]
        shown = chosen if saved.group_by else members
        return cls(
            key=saved.key,
            source=saved.source.key,
            topic=saved.source.topic,
            source_address=saved.source.get_absolute_url(),
            lateness=saved.source.allowed_lateness,
            group_by=tuple(saved.group_by),
            windows=tuple(
                WatchedWindow(query.id, *_measures(query), computation.words, words=window.words)
                for computation, window, query in shown
            ),
            choices=choices,
            paused=_paused(saved),
            groups=wish.groups,
        )


def _steps(queries: list[SavedQuery], now: int) -> list[Step]:
    source = queries[0].source
    members = [member for query in queries for member in query.queries()]
    return steps_of(source, min(warm_since(members, source.allowed_lateness, now), now - spans.KEPT_MS))


def _paused(saved: SavedQuery) -> Message | None:
    if saved.paused_at is None:
        return None
    address = saved.get_absolute_url()
    at = int(saved.paused_at.timestamp() * 1000)
    by = "Millrace" if saved.paused_why else first_name(saved.paused_by)
    return {"by": by, "at": at, "address": address, "why": saved.paused_why}


def _measures(query: AnyQuery) -> tuple[int, int]:
    """Range and slide; of windows that end when events say so, how far apart points are still one line."""
    if isinstance(query, Query):
        return query.window.range, query.window.slide
    reach = query.window.gap if isinstance(query.window, SessionWindow) else UNKNOWN_REACH_MS
    return reach, reach


class QueryFeed:
    """One viewer's place in one query's history."""

    def __init__(self, query: WatchedQuery, hub: Hub) -> None:
        self.query = query
        self._hub = hub
        self._sequence = 0
        self._revision = -1
        self._shown: frozenset[str] = frozenset()

    def next_message(self) -> Message | None:
        """A snapshot the first time, then an update; None when there is nothing new."""
        revision = self._newest_revision()
        if revision == self._revision:
            return None
        # Viewers who have seen the same of the same query are told the same.
        place = (self.query.told_as, self._sequence > 0, self._revision, self._shown)
        message = shared(self._hub, ("query", revision, place), self._message)
        self._revision = revision
        if self._sequence and message.series == self._shown and not message.has_points:
            return None
        self._sequence, self._shown = self._sequence + 1, message.series
        return message.own(sequence=self._sequence)

    def _message(self) -> Message:
        return {
            "type": "update" if self._sequence else "snapshot",
            "query": self.query.key,
            "series": [one for window in self.query.windows for one in self._series(window)],
            **({} if self._sequence else self._description()),
            "groups": self._group_count(),
        }

    def _description(self) -> Message:
        return {
            "source": self.query.source,
            "topic": self.query.topic,
            "source_address": self.query.source_address,
            "group_by": list(self.query.group_by),
            "lateness": self.query.lateness,
            "paused": self.query.paused,
            "edits": [list(edit) for edit in self.query.edits],
            "windows": [{"range": w.range, "slide": w.slide, "joined": w.joined} for w in self.query.windows],
            "computations": list(dict.fromkeys(w.computation for w in self.query.windows)),
            "choices": [list(choice) for choice in self.query.choices],
        }

    def _group_count(self) -> int:
        history = self._hub.history.windows.get(self.query.windows[0].id)
        return len(history.groups()) if history and self.query.group_by else 0

    def _newest_revision(self) -> int:
        """Of its own windows: while others move, what was made for one viewer is right for the next."""
        known = self._hub.history.windows
        return max((known[one.id].revision for one in self.query.windows if one.id in known), default=0)

    def _series(self, window: WatchedWindow) -> Iterator[Message]:
        history = self._hub.history.windows.get(window.id) or WindowHistory()
        groups: list[GroupKey] = history.top(self.query.groups) if self.query.group_by else [()]
        names = {group: series_id(window.id, group) for group in groups}
        fresh = [group for group in groups if names[group] not in self._shown]
        known = [group for group in groups if names[group] in self._shown]
        lines = history.lines(fresh) | history.lines(known, since=self._revision)
        for group in groups:
            yield {
                "id": names[group],
                "range": window.range,
                "slide": window.slide,
                "computation": window.computation,
                "window": window.words,
                "group": list(group),
                "whole": group in fresh,
                "points": lines[group],
            }


def series_id(window_id: str, group: GroupKey) -> str:
    """By which a page knows a line: its window and its group."""
    return "|".join([window_id.partition("@")[2], *map(str, group)])


def state_message(hub: Hub, now: int) -> Message:
    """The job card: the worst state anywhere, and the load."""
    return {
        "type": "state",
        "clock": now,
        "caught_up": hub.caught_up,
        "broker": hub.state.broker(),
        "job": hub.state.job(now),
        "failing": hub.state.failing(),
        "load": _load(hub, now),
        "pages": settings.STATIC_VERSION,
    }


def _load(hub: Hub, now: int) -> Message | None:
    """Events per second over all sources, the share of the cores' time that they take, and what is left."""
    told = [known for meters in hub.meters.all_sources().values() if (known := meters.load(now)) is not None]
    whole = SourceLoad.of_all(told)
    return {"rate": whole.rate, "share": whole.load} if whole.busy else None


def source_message(hub: Hub, key: str, now: int) -> Message:
    """A source's health: its state, rate, watermark, and what was refused in the last 15 minutes."""
    meters = hub.meters.source(key)
    batches, newest = meters.batches(), meters.newest
    return {
        "type": "source",
        "source": key,
        "clock": now,
        **hub.state.source(key),
        **hub.state.reading(key),
        "rate": meters.rate() if newest else None,
        "peak": meters.peak.value,
        "peak_since": meters.peak.since,
        "watermark": newest.watermark if newest else None,
        "max_event_time": newest.max_event_time if newest else None,
        "measured_at": newest.clock if newest else None,
        "idle_since": meters.idle_since(),
        "late": sum(batch.late for batch in batches),
        "malformed": sum(batch.malformed for batch in batches),
        "misdated": sum(batch.future + batch.past for batch in batches),
        "aborted": sum(batch.aborted for batch in batches),
        "counted_since": max(batches[0].clock, now - spans.KEPT_MS) if batches else None,
        "state_bytes": newest.state_bytes if newest else None,
        "plan": newest.plan if newest else None,
        "recalled": newest.recalled if newest else None,
        "active": newest.active if newest else None,
    }


def health_message(hub: Hub, key: str, now: int) -> Message:
    """What a source's page draws small: the last quarter of an hour, in spans."""
    batches: list[Batch] = hub.meters.source(key).batches()
    return {
        "type": "health",
        "source": key,
        "rate": spans.rates(batches, now),
        "delay": spans.delays(batches, now),
        "lag": spans.newest(hub.state.lags(key), now),
        "late": spans.counts(((batch.clock, batch.late) for batch in batches), now),
        "malformed": spans.counts(((batch.clock, batch.malformed) for batch in batches), now),
    }


def throughput_message(hub: Hub, key: str) -> Message:
    """What the plan page draws: measured capacity and rate of the last 15 minutes, with the plan in force."""
    points = hub.meters.source(key).throughput(CORES)
    return {"type": "throughput", "source": key, "points": [list(point) for point in points]}
