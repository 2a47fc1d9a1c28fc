"""The socket behind every live page: the browser says what it watches, the server keeps it up to date.

Client messages: `watch` {queries, shows, sources, rows, board, plan, health}, `ack` {count}. The server sends
lists of messages, all that is new at a time in one frame: `state`, `alerts`, `source`, `health`,
`throughput`, `missing`, `rows` (of a list), `snapshot` and `update` of a query (numbered per query: a gap
shows), `warnings` of all queries watched. A query that is changed, paused or resumed begins with a snapshot
again. `shows` says how many groups and which windows of a grouped query are shown. `refused` says of a query,
source or dashboard that its viewer may not see it, from the start or from now on; `notices` how many others
ask this viewer for something.

Somebody with a link to a dashboard and no account sees the queries of that dashboard, while the link holds.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from channels.consumer import get_handler_name
from channels.db import database_sync_to_async
from django.contrib.auth.models import User

from dashboard.accounts.attention import NO_SIGN_IN, Waiting, sign_in_of, still_there, waiting_for
from dashboard.accounts.rights import (
    Thing,
    may_see,
    noun,
    unseen_words,
    visible_queries,
    visible_sources,
)
from dashboard.live.feed import Message, WatchedQuery, Wish, frames
from dashboard.live.hub import Hub
from dashboard.live.relay import ensure_running, wall_clock
from dashboard.live.sockets import BoundedSocket
from dashboard.live.viewer import Viewer
from dashboard.live.warnings import Places
from dashboard.models import Board, SavedQuery, Source
from dashboard.past.links import open_link, queries_of
from dashboard.planning.places import places_of

MAX_WATCHED = 200
MAX_ROWS = 1_000
SIGNED_OUT = 4401  # the code with which a socket ends whose session has ended
LINK_ENDED = 4410  # … whose link has expired or was revoked
LINK_SECONDS = 10.0  # after which it is looked at again


class LiveConsumer(BoundedSocket):
    """One browser tab."""

    def __init__(self, start_relay: Callable[[], Hub] = ensure_running) -> None:
        super().__init__()
        self._start_relay = start_relay
        self._hub: Hub | None = None
        self._viewer: Viewer | None = None
        self._wanted: list[str] = []  # keys of queries, also of those that are missing
        self._wishes: dict[str, Wish] = {}  # by key of a query
        self._listed: list[str] = []
        self._watched_sources: list[str] = []
        self._board = ""
        self._told_refused: set[tuple[str, str]] = set()
        self._waiting: Waiting | None = None
        self._link = ""  # token of a link, for somebody who has not signed in
        self._shared: set[str] = set()  # keys of the queries that it opens
        self._link_due = 0.0
        self.sign_in = NO_SIGN_IN
        self._telling = asyncio.Lock()

    async def dispatch(self, message: dict[str, Any]) -> None:
        """As Channels does, but without a look at the database for every message, most of which say `ack`.

        That takes a thread each time; whatever here asks the database closes what is old by itself.
        """
        await getattr(self, get_handler_name(message))(message)

    async def connect(self) -> None:
        if not self.scope["user"].is_authenticated and not await self._open_link():
            await self.close()  # before accepting: the handshake is refused
            return
        self._person: User | None = None if self._link else self.scope["user"]
        if self._person is not None:
            self.sign_in = await _sign_in_of(self.scope["session"])
        if not await self.admit(self._person):
            return
        self._hub = self._start_relay()
        self._viewer = Viewer(self._hub)
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
        elif self._viewer.is_owed:
            await self._tell(self._viewer)

    async def told(self, changed: frozenset[str]) -> None:
        viewer = self._viewer
        if viewer is None:
            return
        if viewer.dead:
            await self.close()
            return
        if self._link and time.monotonic() >= self._link_due and not await self._link_holds():
            await self.end(LINK_ENDED)
            return
        for key in changed & viewer.watched:
            viewer.changed(key)
        await self._tell(viewer)

    async def plan_made(self) -> None:
        """Somebody changed, paused, resumed, deleted or brought back a query of a source."""
        viewer = self._viewer
        if viewer is None or not (self._wanted or self._listed):
            return
        await self._redefine(viewer, await self._look_up())
        await self._tell(viewer)

    async def rights_changed(self) -> None:
        """Somebody's rights changed, perhaps this viewer's: what may not be seen any more ends now."""
        viewer = self._viewer
        if viewer is None:
            return
        if not await self._is_still_there():
            await self.end(LINK_ENDED if self._link else SIGNED_OUT)
            return
        await self._redefine(viewer, await self._look_up())
        await self._tell_waiting(viewer)
        await self._tell(viewer)

    async def _is_still_there(self) -> bool:
        if self._person is None:
            return await self._link_holds()
        person = await _still_there(self._person.pk, self.sign_in)
        self._person = person or self._person
        return person is not None

    async def _look_up(self) -> "Found":
        found: Found
        if self._person is None:
            wanted = [key for key in self._wanted if key in self._shared]
            found = await _look_up_shared(wanted, self._wishes)
        else:
            found = await _look_up(
                self._person, self._wanted, self._wishes, self._listed, self._watched_sources, self._board
            )
        return found

    async def _redefine(self, viewer: Viewer, found: "Found") -> None:
        gone = sorted(viewer.watched - found.queries.keys())
        viewer.redefine(found.queries)
        viewer.keep_sources(found.sources)
        viewer.list_rows(found.rows)
        viewer.may_name, viewer.places = found.may_name, found.places
        refused = self._newly_refused(found)
        missing = [{"type": "missing", "key": key} for key in gone if ("query", key) not in found.refused]
        await self._send([viewer.numbered(message) for message in [*refused, *missing]])

    def _newly_refused(self, found: "Found") -> list[Message]:
        new = sorted(found.refused.keys() - self._told_refused)
        self._told_refused = set(found.refused)
        return [
            {"type": "refused", "kind": kind, "key": key, "bold": bold, "rest": rest}
            for kind, key in new
            for bold, rest in [found.refused[kind, key]]
        ]

    async def _tell_waiting(self, viewer: Viewer) -> None:
        if self._person is None:
            return
        waiting = await _waiting_for(self._person)
        if waiting != self._waiting:
            is_new = self._waiting is not None and waiting.count > self._waiting.count
            self._waiting = waiting
            sentence = waiting.newest if is_new else ""
            message = {"type": "notices", "waiting": waiting.count, "sentence": sentence}
            await self._send([viewer.numbered(message)])

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
        throughput, health = wanted.get("plan") is True, wanted.get("health") is True
        viewer.watch(queries, sources, throughput=throughput, health=health)
        viewer.list_rows(found.rows)
        viewer.may_name, viewer.places = found.may_name, found.places
        self._told_refused = set()
        refused = self._newly_refused(found)
        absent = {*keys, *source_keys} - {*queries, *sources} - {key for _, key in found.refused}
        missing = [{"type": "missing", "key": key} for key in sorted(absent)]
        self._waiting = self._waiting or found.waiting  # the page itself says how many wait at first
        await self._send([viewer.numbered(message) for message in [*refused, *missing]])

    async def _tell(self, viewer: Viewer) -> None:
        async with self._telling:
            await self._send(viewer.news(wall_clock()))

    async def _send(self, messages: list[Message]) -> None:
        for frame in frames(messages):
            await self.send(text_data=frame)


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
    places: dict[str, Places]  # by key of a query, in which trees it was of late
    waiting: Waiting | None = None  # for the viewer


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
        queries=WatchedQuery.all_of((queries[key] for key in keys if key in queries), wall_clock(), wishes),
        rows={key: WatchedQuery.listed(queries[key]) for key in listed if key in queries},
        sources=[key for key in source_keys if key in sources],
        may_name=may_name,
        refused={(noun(thing), key): unseen_words(thing) for key, thing in hidden},
        places=places_of(queries.values(), wall_clock()),
        waiting=waiting_for(person),
    )


@database_sync_to_async  # type: ignore[untyped-decorator]
def _look_up_shared(keys: list[str], wishes: dict[str, Wish]) -> Found:
    """For somebody who has a link: queries, and nothing else that there is."""
    saved = list(SavedQuery.objects.select_related("source", "paused_by").filter(key__in=keys))
    now = wall_clock()
    return Found(WatchedQuery.all_of(saved, now, wishes), {}, [], set(), {}, places_of(saved, now))


_sign_in_of = database_sync_to_async(sign_in_of)
_still_there = database_sync_to_async(still_there)
_waiting_for = database_sync_to_async(waiting_for)


@database_sync_to_async  # type: ignore[untyped-decorator]
def _queries_of_link(token: str) -> set[str] | None:
    link = open_link(token)
    return None if link is None else queries_of(link)
