"""The socket behind every live page: the browser says what it watches, the server keeps it up to date.

Client messages: `watch` {queries, sources, rows, plan, health}, `ack` {count}. Server messages: `state`,
`alerts`, `source`, `health`, `throughput`, `missing`, `rows` (of a list of queries), `snapshot` and `update`
of a query (numbered per query: a gap shows). A query that is changed, paused or resumed begins with a
snapshot again.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer

from dashboard.live.feed import WatchedQuery
from dashboard.live.hub import Hub
from dashboard.live.relay import EVERYONE, ensure_running, query_group, wall_clock
from dashboard.live.viewer import Viewer
from dashboard.models import SavedQuery, Source

RENEW_SECONDS = 6 * 3600.0  # channel groups forget their members after 24 h
MAX_WATCHED = 200
MAX_ROWS = 1_000


class LiveConsumer(AsyncJsonWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """One browser tab."""

    def __init__(self, start_relay: Callable[[], Hub] = ensure_running) -> None:
        super().__init__()
        self._start_relay = start_relay
        self._viewer: Viewer | None = None
        self._wanted: list[str] = []  # keys of queries, also of those that are missing
        self._listed: list[str] = []
        self._renewed_at = time.monotonic()
        self._telling = asyncio.Lock()

    async def connect(self) -> None:
        if not self.scope["user"].is_authenticated:
            await self.close()  # before accepting: the handshake is refused
            return
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
        queries, _ = await _look_up(self._wanted, [])
        for key in sorted(viewer.watched - queries.keys()):
            await self.channel_layer.group_discard(query_group(key), self.channel_name)
            await self.send_json(viewer.numbered({"type": "missing", "key": key}))
        for key in queries.keys() - viewer.watched:
            await self.channel_layer.group_add(query_group(key), self.channel_name)
        viewer.redefine(queries)
        viewer.list_rows(await _look_up_rows(self._listed))
        await self._tell(viewer)

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
        queries, sources = await _look_up(keys, source_keys)
        for key in viewer.watched - queries.keys():
            await self.channel_layer.group_discard(query_group(key), self.channel_name)
        for key in queries:
            await self.channel_layer.group_add(query_group(key), self.channel_name)
        throughput, health = wanted.get("plan") is True, wanted.get("health") is True
        viewer.watch(queries, sources, throughput=throughput, health=health)
        viewer.list_rows(await _look_up_rows(self._listed))
        for key in sorted({*keys, *source_keys} - {*queries, *sources}):
            await self.send_json(viewer.numbered({"type": "missing", "key": key}))

    async def _tell(self, viewer: Viewer) -> None:
        async with self._telling:
            for message in viewer.news(wall_clock()):
                await self.send_json(message)


def _groups(viewer: Viewer) -> list[str]:
    return [EVERYONE, *map(query_group, viewer.watched)]


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
