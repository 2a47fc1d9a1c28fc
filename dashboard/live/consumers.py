"""The socket behind every live page: the browser says what it watches, the server keeps it up to date.

Client messages: `watch` {queries, shows, sources, rows, board, plan, health}, `ack` {count}. Server
messages: `state`, `source`, `health`, `throughput`, `missing`, `rows` (of a list), `snapshot` and `update` of
a query (numbered per query: a gap shows). A query that is changed, paused or resumed begins with a snapshot
again. `shows` says how many groups and which windows of a grouped query are shown. `refused` says of a query,
source or dashboard that its viewer may not see it, from the start or from now on; `notices` how many others
ask this viewer for something.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.contrib.auth.models import User

from dashboard.accounts.attention import Waiting, still_there, waiting_for
from dashboard.accounts.rights import (
    Thing,
    may_see,
    noun,
    unseen_words,
    visible_queries,
    visible_sources,
)
from dashboard.live.feed import PLAIN, WatchedQuery, Wish
from dashboard.live.hub import Hub
from dashboard.live.relay import EVERYONE, ensure_running, query_group, wall_clock
from dashboard.live.viewer import Viewer
from dashboard.models import Board, SavedQuery, Source

RENEW_SECONDS = 6 * 3600.0  # channel groups forget their members after 24 h
MAX_WATCHED = 200
MAX_ROWS = 1_000
SIGNED_OUT = 4401  # the code with which a socket ends whose session has ended


class LiveConsumer(AsyncJsonWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """One browser tab."""

    def __init__(self, start_relay: Callable[[], Hub] = ensure_running) -> None:
        super().__init__()
        self._start_relay = start_relay
        self._viewer: Viewer | None = None
        self._wanted: list[str] = []  # keys of queries, also of those that are missing
        self._wishes: dict[str, Wish] = {}  # by key of a query
        self._listed: list[str] = []
        self._watched_sources: list[str] = []
        self._board = ""
        self._told_refused: set[tuple[str, str]] = set()
        self._waiting: Waiting | None = None
        self._renewed_at = time.monotonic()
        self._telling = asyncio.Lock()

    async def connect(self) -> None:
        if not self.scope["user"].is_authenticated:
            await self.close()  # before accepting: the handshake is refused
            return
        self._person: User = self.scope["user"]
        self._viewer = Viewer(self._start_relay())
        await self.accept()
        await self.channel_layer.group_add(EVERYONE, self.channel_name)
        await self._tell(self._viewer)

    async def disconnect(self, code: int) -> None:
        if self._viewer is not None:
            for group in _groups(self._viewer):
                await self.channel_layer.group_discard(group, self.channel_name)

    async def receive_json(self, content: Any, **kwargs: Any) -> None:
        if self._viewer is None or not isinstance(content, dict):
            return
        count = content.get("count")
        self._viewer.heard(count if isinstance(count, int) else 0)
        if content.get("type") == "watch":
            await self._watch(self._viewer, content)
        await self._tell(self._viewer)

    async def query_changed(self, event: dict[str, Any]) -> None:
        if self._viewer is not None:
            self._viewer.changed(event["query"])
            await self._tell(self._viewer)

    async def plan_made(self, event: dict[str, Any]) -> None:
        """Somebody changed, paused, resumed, deleted or brought back a query of a source."""
        viewer = self._viewer
        if viewer is None or not (self._wanted or self._listed):
            return
        await self._redefine(viewer, await self._look_up())
        await self._tell(viewer)

    async def rights_changed(self, event: dict[str, Any]) -> None:
        """Somebody's rights changed, perhaps this viewer's: what may not be seen any more ends now."""
        viewer = self._viewer
        if viewer is None:
            return
        session = self.scope.get("session")
        person = await _still_there(self._person.pk, session.session_key if session is not None else None)
        if person is None:
            await self.close(code=SIGNED_OUT)
            return
        self._person = person
        await self._redefine(viewer, await self._look_up())
        await self._tell_waiting(viewer)
        await self._tell(viewer)

    async def _look_up(self) -> "Found":
        return await _look_up(
            self._person, self._wanted, self._wishes, self._listed, self._watched_sources, self._board
        )

    async def _redefine(self, viewer: Viewer, found: "Found") -> None:
        gone = sorted(viewer.watched - found.queries.keys())
        for key in gone:
            await self.channel_layer.group_discard(query_group(key), self.channel_name)
        for key in found.queries.keys() - viewer.watched:
            await self.channel_layer.group_add(query_group(key), self.channel_name)
        viewer.redefine(found.queries)
        viewer.keep_sources(found.sources)
        viewer.list_rows(found.rows)
        viewer.may_name = found.may_name
        await self._tell_refused(viewer, found)
        for key in gone:
            if ("query", key) not in found.refused:
                await self.send_json(viewer.numbered({"type": "missing", "key": key}))

    async def _tell_refused(self, viewer: Viewer, found: "Found") -> None:
        for kind, key in sorted(found.refused.keys() - self._told_refused):
            bold, rest = found.refused[kind, key]
            message = {"type": "refused", "kind": kind, "key": key, "bold": bold, "rest": rest}
            await self.send_json(viewer.numbered(message))
        self._told_refused = set(found.refused)

    async def _tell_waiting(self, viewer: Viewer) -> None:
        waiting = await _waiting_for(self._person)
        if waiting != self._waiting:
            is_new = self._waiting is not None and waiting.count > self._waiting.count
            self._waiting = waiting
            sentence = waiting.newest if is_new else ""
            message = {"type": "notices", "waiting": waiting.count, "sentence": sentence}
            await self.send_json(viewer.numbered(message))

    async def clock_tick(self, event: dict[str, Any]) -> None:
        if self._viewer is None:
            return
        if self._viewer.dead:
            await self.close()
            return
        if time.monotonic() - self._renewed_at > RENEW_SECONDS:
            self._renewed_at = time.monotonic()
            for group in _groups(self._viewer):
                await self.channel_layer.group_add(group, self.channel_name)
        await self._tell(self._viewer)

    async def _watch(self, viewer: Viewer, wanted: dict[str, Any]) -> None:
        keys, source_keys = _texts(wanted.get("queries")), _texts(wanted.get("sources"))
        self._wanted, self._listed = keys, _texts(wanted.get("rows"), MAX_ROWS)
        shows = wanted.get("shows")
        known = shows if isinstance(shows, dict) else {}
        self._wishes = {key: Wish.heard(known.get(key)) for key in keys}
        self._watched_sources = source_keys
        self._board = wanted["board"] if isinstance(wanted.get("board"), str) else ""
        found = await self._look_up()
        queries, sources = found.queries, found.sources
        for key in viewer.watched - queries.keys():
            await self.channel_layer.group_discard(query_group(key), self.channel_name)
        for key in queries:
            await self.channel_layer.group_add(query_group(key), self.channel_name)
        throughput, health = wanted.get("plan") is True, wanted.get("health") is True
        viewer.watch(queries, sources, throughput=throughput, health=health)
        viewer.list_rows(found.rows)
        viewer.may_name = found.may_name
        self._told_refused = set()
        await self._tell_refused(viewer, found)
        refused = {key for _, key in found.refused}
        for key in sorted({*keys, *source_keys} - {*queries, *sources} - refused):
            await self.send_json(viewer.numbered({"type": "missing", "key": key}))
        if self._waiting is None:
            self._waiting = await _waiting_for(self._person)  # the page itself says how many wait at first

    async def _tell(self, viewer: Viewer) -> None:
        async with self._telling:
            for message in viewer.news(wall_clock()):
                await self.send_json(message)


def _groups(viewer: Viewer) -> list[str]:
    return [EVERYONE, *map(query_group, viewer.watched)]


def _texts(value: Any, most: int = MAX_WATCHED) -> list[str]:
    texts = [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
    return list(dict.fromkeys(texts))[:most]


@dataclass(frozen=True)
class Found:
    """What there is of what a page wants to watch, and what its viewer may not see of it."""

    queries: dict[str, WatchedQuery]
    rows: dict[str, WatchedQuery]
    sources: list[str]
    may_name: set[str]  # keys of all sources that are no secret to the viewer
    refused: dict[tuple[str, str], tuple[str, str]]  # kind and key → the sentence's bold part and the rest


@database_sync_to_async  # type: ignore[untyped-decorator]
def _look_up(
    person: User,
    keys: list[str],
    wishes: dict[str, Wish],
    listed: list[str],
    source_keys: list[str],
    board: str,
) -> Found:
    seen = visible_queries(person).select_related("source", "paused_by").filter(key__in={*keys, *listed})
    queries = {query.key: query for query in seen}
    may_name = set(visible_sources(person).values_list("key", flat=True))
    sources = may_name & set(source_keys)
    hidden: list[tuple[str, Thing]] = [
        (query.key, query)
        for query in SavedQuery.objects.select_related("source__created_by", "owner").filter(
            key__in={*keys, *listed} - queries.keys()
        )
    ]
    hidden += [
        (source.key, source)
        for source in Source.objects.select_related("created_by").filter(key__in=set(source_keys) - sources)
    ]
    page = Board.objects.select_related("owner").filter(slug=board).first() if board else None
    if page is not None and not may_see(person, page):
        hidden.append((page.slug, page))
    return Found(
        queries={
            key: WatchedQuery.of(queries[key], wall_clock(), wishes.get(key, PLAIN))
            for key in keys
            if key in queries
        },
        rows={key: WatchedQuery.listed(queries[key]) for key in listed if key in queries},
        sources=[key for key in source_keys if key in sources],
        may_name=may_name,
        refused={(noun(thing), key): unseen_words(thing) for key, thing in hidden},
    )


_still_there = database_sync_to_async(still_there)
_waiting_for = database_sync_to_async(waiting_for)
