"""The socket behind every live page: the browser says what it watches, the server keeps it up to date.

Client messages: `watch` {queries, sources, rows, plan, health}, `ack` {count}. The server sends lists of
messages, all that is new at a time in one frame: `state`, `source`, `health`, `throughput`, `missing`, `rows`
(of a list of queries), `snapshot` and `update` of a query (numbered per query: a gap shows). A query that is
changed, paused or resumed begins with a snapshot again.

Somebody with a link to a dashboard and no account sees the queries of that dashboard, while the link holds.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer

from dashboard.live.feed import Message, WatchedQuery, encoded
from dashboard.live.hub import Hub
from dashboard.live.relay import ensure_running, wall_clock
from dashboard.live.viewer import Viewer
from dashboard.models import SavedQuery, Source
from dashboard.past.access import queries_of
from dashboard.past.links import open_link

MAX_WATCHED = 200
MAX_ROWS = 1_000
LINK_SECONDS = 10.0  # after which it is looked at again


class LiveConsumer(AsyncJsonWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """One browser tab."""

    def __init__(self, start_relay: Callable[[], Hub] = ensure_running) -> None:
        super().__init__()
        self._start_relay = start_relay
        self._hub: Hub | None = None
        self._viewer: Viewer | None = None
        self._wanted: list[str] = []  # keys of queries, also of those that are missing
        self._listed: list[str] = []
        self._link = ""  # token of a link, for somebody who has not signed in
        self._shared: set[str] = set()  # keys of the queries that it opens
        self._link_due = 0.0
        self._telling = asyncio.Lock()

    async def connect(self) -> None:
        if not self.scope["user"].is_authenticated and not await self._open_link():
            await self.close()  # before accepting: the handshake is refused
            return
        self._hub = self._start_relay()
        self._viewer = Viewer(self._hub)
        await self.accept()
        self._hub.listeners.add(self)
        await self._tell(self._viewer)

    async def disconnect(self, code: int) -> None:
        if self._hub is not None:
            self._hub.listeners.discard(self)

    async def _open_link(self) -> bool:
        asked = parse_qs(self.scope.get("query_string", b"").decode("latin-1"))
        self._link = asked.get("share", [""])[0]
        return bool(self._link) and await self._link_holds()

    async def _link_holds(self) -> bool:
        self._link_due = time.monotonic() + LINK_SECONDS
        found: set[str] | None = await _queries_of_link(self._link)
        self._shared = found or set()
        return found is not None

    async def receive_json(self, content: Any, **kwargs: Any) -> None:
        if self._viewer is None or not isinstance(content, dict):
            return
        count = content.get("count")
        self._viewer.heard(count if isinstance(count, int) else 0)
        if content.get("type") == "watch":
            await self._watch(self._viewer, content)
            await self._tell(self._viewer)

    async def told(self, changed: frozenset[str]) -> None:
        viewer = self._viewer
        if viewer is None:
            return
        gone = self._link and time.monotonic() >= self._link_due and not await self._link_holds()
        if viewer.dead or gone:
            await self.close()
            return
        for key in changed & viewer.watched:
            viewer.changed(key)
        await self._tell(viewer)

    async def plan_made(self) -> None:
        """Somebody changed, paused, resumed, deleted or brought back a query of a source."""
        viewer = self._viewer
        if viewer is None or not (self._wanted or self._listed):
            return
        queries, _ = await _look_up(self._wanted, [])
        lost = sorted(viewer.watched - queries.keys())
        await self._send([viewer.numbered({"type": "missing", "key": key}) for key in lost])
        viewer.redefine(queries)
        viewer.list_rows(await _look_up_rows(self._listed))
        await self._tell(viewer)

    async def _watch(self, viewer: Viewer, wanted: dict[str, Any]) -> None:
        keys, source_keys = _texts(wanted.get("queries")), _texts(wanted.get("sources"))
        self._listed = _texts(wanted.get("rows"), MAX_ROWS)
        if self._link:
            keys, source_keys, self._listed = [key for key in keys if key in self._shared], [], []
        self._wanted = keys
        queries, sources = await _look_up(keys, source_keys)
        throughput, health = wanted.get("plan") is True, wanted.get("health") is True
        viewer.watch(queries, sources, throughput=throughput, health=health)
        viewer.list_rows(await _look_up_rows(self._listed))
        missing = sorted({*keys, *source_keys} - {*queries, *sources})
        await self._send([viewer.numbered({"type": "missing", "key": key}) for key in missing])

    async def _tell(self, viewer: Viewer) -> None:
        async with self._telling:
            await self._send(viewer.news(wall_clock()))

    async def _send(self, messages: list[Message]) -> None:
        if messages:
            await self.send(text_data=encoded(messages))


def _texts(value: Any, most: int = MAX_WATCHED) -> list[str]:
    texts = [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
    return list(dict.fromkeys(texts))[:most]


@database_sync_to_async  # type: ignore[untyped-decorator]
def _look_up(keys: list[str], source_keys: list[str]) -> tuple[dict[str, WatchedQuery], list[str]]:
    saved = SavedQuery.objects.select_related("source", "paused_by").filter(key__in=keys)
    sources = Source.objects.filter(key__in=source_keys).values_list("key", flat=True)
    return {query.key: WatchedQuery.of(query, wall_clock()) for query in saved}, list(sources)


@database_sync_to_async  # type: ignore[untyped-decorator]
def _look_up_rows(keys: list[str]) -> dict[str, WatchedQuery]:
    saved = SavedQuery.objects.select_related("source", "paused_by").filter(key__in=keys)
    return {query.key: WatchedQuery.listed(query) for query in saved}


@database_sync_to_async  # type: ignore[untyped-decorator]
def _queries_of_link(token: str) -> set[str] | None:
    link = open_link(token)
    return None if link is None else queries_of(link.board)
