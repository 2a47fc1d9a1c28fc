"""The socket behind every live page: the browser says what it watches, the server keeps it up to date.

Client messages: `watch` {queries, sources, plan}, `ack` {count}. Server messages: `state`, `source`,
`throughput`, `snapshot` and `update` of a query (numbered per query, so that a gap shows), `missing`.
"""

import asyncio
import time
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer

from dashboard.live import feed
from dashboard.live.feed import Message, QueryFeed, WatchedQuery
from dashboard.live.hub import Hub
from dashboard.live.relay import EVERYONE, ensure_running, query_group, wall_clock
from dashboard.models import SavedQuery, Source

UNACKNOWLEDGED = 8  # messages in flight; beyond them a viewer is slow and gets coalesced updates
DEAD_AFTER_SECONDS = 45.0
RENEW_SECONDS = 6 * 3600.0  # channel groups forget their members after 24 h
STATE_SECONDS = 2.0
MAX_WATCHED = 200


class LiveConsumer(AsyncJsonWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """One browser tab."""

    hub: Hub

    async def connect(self) -> None:
        if not self.scope["user"].is_authenticated:
            await self.close()  # before accepting: the handshake is refused
            return
        self.hub = ensure_running()
        self._feeds: dict[str, QueryFeed] = {}
        self._dirty: set[str] = set()
        self._sources: list[str] = []
        self._throughput_of: list[str] = []
        self._throughput_sent: dict[str, int] = {}
        self._sent = self._acknowledged = 0
        self._heard_at = self._renewed_at = time.monotonic()
        self._state_due = 0.0
        self._told = asyncio.Lock()
        await self.accept()
        await self.channel_layer.group_add(EVERYONE, self.channel_name)
        await self._tell()

    async def disconnect(self, code: int) -> None:
        if not hasattr(self, "hub"):
            return
        for group in self._groups():
            await self.channel_layer.group_discard(group, self.channel_name)

    async def receive_json(self, content: Any, **kwargs: Any) -> None:
        if not hasattr(self, "hub") or not isinstance(content, dict):
            return
        self._heard_at = time.monotonic()
        if content.get("type") == "watch":
            await self._watch(content)
        elif content.get("type") == "ack" and isinstance(content.get("count"), int):
            self._acknowledged = max(self._acknowledged, min(content["count"], self._sent))
            await self._tell()

    async def query_changed(self, event: dict[str, Any]) -> None:
        self._dirty.add(event["query"])
        await self._tell()

    async def clock_tick(self, event: dict[str, Any]) -> None:
        now = time.monotonic()
        if now - self._heard_at > DEAD_AFTER_SECONDS:
            await self.close()
            return
        if now - self._renewed_at > RENEW_SECONDS:
            self._renewed_at = now
            for group in self._groups():
                await self.channel_layer.group_add(group, self.channel_name)
        await self._tell()

    async def _watch(self, wanted: dict[str, Any]) -> None:
        """Replace what this socket watches; each query begins again with a snapshot."""
        keys, source_keys = _texts(wanted.get("queries")), _texts(wanted.get("sources"))
        queries, sources = await _look_up(keys, source_keys)
        for key in self._feeds.keys() - queries.keys():
            await self.channel_layer.group_discard(query_group(key), self.channel_name)
        for key in queries:
            await self.channel_layer.group_add(query_group(key), self.channel_name)
        self._feeds = {key: QueryFeed(query, self.hub) for key, query in queries.items()}
        self._dirty = set(queries)
        implied = [query.source for query in queries.values()]
        self._sources = list(dict.fromkeys([*sources, *implied]))
        self._throughput_of = sources if wanted.get("plan") is True else []
        self._throughput_sent = {}
        self._state_due = 0.0
        for key in [*(set(keys) - queries.keys()), *(set(source_keys) - set(sources))]:
            await self._send({"type": "missing", "key": key})
        await self._tell()

    async def _tell(self) -> None:
        """Send what is new, as long as the viewer keeps up."""
        async with self._told:
            for message in self._news():
                await self._send(message)

    def _news(self) -> list[Message]:
        if self._sent - self._acknowledged >= UNACKNOWLEDGED:
            return []
        news: list[Message] = []
        if time.monotonic() >= self._state_due:
            self._state_due = time.monotonic() + STATE_SECONDS
            now = wall_clock()
            news.append(feed.state_message(self.hub, now))
            news += [feed.source_message(self.hub, key, now) for key in self._sources]
            news += self._new_throughput()
        if self.hub.caught_up:
            messages = [self._feeds[key].next_message() for key in self._dirty & self._feeds.keys()]
            news += [message for message in messages if message is not None]
            self._dirty.clear()
        return news

    def _new_throughput(self) -> list[Message]:
        messages = []
        for key in self._throughput_of:
            message = feed.throughput_message(self.hub, key)
            newest = message["points"][-1][0] if message["points"] else 0
            if newest != self._throughput_sent.get(key):
                self._throughput_sent[key] = newest
                messages.append(message)
        return messages

    async def _send(self, message: Message) -> None:
        self._sent += 1
        await self.send_json({**message, "count": self._sent})

    def _groups(self) -> list[str]:
        return [EVERYONE, *map(query_group, self._feeds)]


def _texts(value: Any) -> list[str]:
    texts = [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
    return list(dict.fromkeys(texts))[:MAX_WATCHED]


@database_sync_to_async  # type: ignore[untyped-decorator]
def _look_up(keys: list[str], source_keys: list[str]) -> tuple[dict[str, WatchedQuery], list[str]]:
    saved = SavedQuery.objects.select_related("source").filter(key__in=keys)
    sources = Source.objects.filter(key__in=source_keys).values_list("key", flat=True)
    return {query.key: WatchedQuery.of(query) for query in saved}, list(sources)
