"""One viewer: what is watched, what has been told, and how far behind the viewer is.

The viewer acknowledges messages. With too many or too large ones in flight nothing more is said; what changes
meanwhile is told in one message later. So a slow viewer never makes a queue grow, and of a thousand viewers
who come at once not all first pictures are in memory.
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from dashboard.alerts.bells import Bells
from dashboard.live import feed, rows
from dashboard.live.feed import Message, QueryFeed, WatchedQuery
from dashboard.live.hub import Hub
from dashboard.live.warnings import Places, left_out_of, warning_of

UNACKNOWLEDGED = 24  # messages in flight
UNACKNOWLEDGED_SIZE = 100_000  # characters of messages about queries in flight
STATE_SECONDS = 2.0
ROWS_SECONDS = 2.0
HEALTH_SECONDS = 15.0  # as long as the spans are that it tells of
DEAD_AFTER_SECONDS = 45.0


class Viewer:
    """The news for one socket; knows nothing of sockets."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._feeds: dict[str, QueryFeed] = {}
        self._dirty: set[str] = set()
        self._sources: list[str] = []
        self._throughput_of: list[str] = []
        self._health_of: list[str] = []
        self.may_name: set[str] = set()  # keys of the sources that the viewer may know of
        self.places: Mapping[str, Places] = {}  # by key, of the queries that are watched or listed
        self._warned: Message | None = None  # what was told last; that there is no warning is told, too
        self._health_due = 0.0
        self._rows: dict[str, WatchedQuery] = {}
        self._rows_due = 0.0
        self._throughput_sent: dict[str, int] = {}
        self._sent = 0
        self._in_flight: deque[tuple[int, int]] = deque()  # count and size, not acknowledged
        self._state_due = 0.0
        self._heard_at = time.monotonic()
        self._bells = Bells()
        self._rung: Message | None = None  # what was told last; that nothing fires is told, too

    @property
    def watched(self) -> set[str]:
        """Keys of the queries."""
        return set(self._feeds)

    @property
    def dead(self) -> bool:
        """Nothing was heard for so long that nobody can be there."""
        return time.monotonic() - self._heard_at > DEAD_AFTER_SECONDS

    def watch(
        self, queries: dict[str, WatchedQuery], sources: list[str], *, throughput: bool, health: bool = False
    ) -> None:
        """Replace what is watched; each query begins again with a snapshot."""
        self._feeds = {key: QueryFeed(query, self._hub) for key, query in queries.items()}
        self._dirty = set(queries)
        implied = [query.source for query in queries.values()]
        self._sources = list(dict.fromkeys([*sources, *implied]))
        self._throughput_of = sources if throughput else []
        self._health_of = sources if health else []
        self._health_due = 0.0
        self._throughput_sent = {}
        self._state_due = 0.0
        self._bells = Bells()  # other queries have other marks

    def keep_sources(self, sources: list[str]) -> None:
        """Say no more of sources but these and those of the queries that are watched."""
        implied = [known.query.source for known in self._feeds.values()]
        self._sources = list(dict.fromkeys([*sources, *implied]))
        self._throughput_of = [key for key in self._throughput_of if key in sources]
        self._health_of = [key for key in self._health_of if key in sources]
        self._bells = Bells()  # those of other sources are heard, or no longer

    def list_rows(self, queries: dict[str, WatchedQuery]) -> None:
        """Keep a list of these up to date, in few words each."""
        self._rows = queries
        self._rows_due = 0.0

    def redefine(self, queries: dict[str, WatchedQuery]) -> None:
        """Queries as they are defined now: those that changed, or came back, begin with a snapshot."""
        changed = {
            key: query
            for key, query in queries.items()
            if key not in self._feeds or self._feeds[key].query != query
        }
        kept = {key: known for key, known in self._feeds.items() if key in queries}
        self._feeds = kept | {key: QueryFeed(query, self._hub) for key, query in changed.items()}
        self._dirty |= set(changed)

    def heard(self, acknowledged: int = 0) -> None:
        self._heard_at = time.monotonic()
        while self._in_flight and self._in_flight[0][0] <= acknowledged:
            self._in_flight.popleft()

    def changed(self, query: str) -> None:
        self._dirty.add(query)

    def numbered(self, message: Message) -> Message:
        """The message with the count that the viewer acknowledges."""
        self._sent += 1
        if isinstance(message, feed.Shared):
            self._in_flight.append((self._sent, len(message.text)))
            return message.own(count=self._sent)
        self._in_flight.append((self._sent, 0))
        return {**message, "count": self._sent}

    @property
    def is_slow(self) -> bool:
        """It has still to read what it was told."""
        size = sum(size for _, size in self._in_flight)
        return len(self._in_flight) >= UNACKNOWLEDGED or size >= UNACKNOWLEDGED_SIZE

    @property
    def is_owed(self) -> bool:
        """Something of a query is left to be told, and can be."""
        return self._hub.caught_up and not self.is_slow and not self._dirty.isdisjoint(self._feeds)

    def news(self, now: int) -> list[Message]:
        """What there is to say at this wall clock; empty while the viewer is slow."""
        if self.is_slow:
            return []
        told = [self.numbered(message) for message in self._states(now) if message is not None]
        return [*told, *self._results()] if self._hub.caught_up else told

    def _results(self) -> Iterator[Message]:
        """Of queries, until as much is in flight as may be; the others wait."""
        self._dirty &= self.watched
        for key in sorted(self._dirty):
            if self.is_slow:
                return
            self._dirty.discard(key)
            message = self._feeds[key].next_message()
            if message is not None:
                yield self.numbered(message)

    def _states(self, now: int) -> list[Message | None]:
        """Of all but queries: when it is time to say it."""
        messages: list[Message | None] = []
        if time.monotonic() >= self._state_due:
            self._state_due = time.monotonic() + STATE_SECONDS
            state = feed.shared(self._hub, "state", lambda: feed.state_message(self._hub, now))
            messages.append(
                state.own(clock=now, failing=[key for key in state["failing"] if key in self.may_name])
            )
            messages += [self._source(key, now) for key in self._sources]
            messages += [self._new_throughput(key) for key in self._throughput_of]
            messages.append(self._new_warnings(now))
        if self._hub.caught_up and time.monotonic() >= self._health_due:
            self._health_due = time.monotonic() + HEALTH_SECONDS
            messages += [feed.health_message(self._hub, key, now) for key in self._health_of]
        if self._rows and self._hub.caught_up and time.monotonic() >= self._rows_due:
            self._rows_due = time.monotonic() + ROWS_SECONDS
            warnings = self._warnings(self._rows.values(), now)
            messages.append(rows.rows_message(self._hub, self._rows.values(), now, warnings))
        messages.append(self._new_alerts())
        return messages

    def _source(self, key: str, now: int) -> Message:
        make = partial(feed.source_message, self._hub, key, now)
        return feed.shared(self._hub, ("source", key), make).own(clock=now)

    def _new_alerts(self) -> Message | None:
        if self._hub.bells is self._bells:
            return None
        self._bells = self._hub.bells
        message = self._bells.message(self.watched, self.may_name)
        if message == self._rung:
            return None
        self._rung = message
        return message

    def _new_warnings(self, now: int) -> Message | None:
        """Of the queries that are watched; rows have their own."""
        if not (self._feeds and self._hub.caught_up):
            return None
        watched = (known.query for known in self._feeds.values())
        message = {"type": "warnings", "queries": self._warnings(watched, now)}
        if message == self._warned:
            return None
        self._warned = message
        return message

    def _warnings(self, queries: Iterable[feed.WatchedQuery], now: int) -> dict[str, str]:
        said = {query.key: self._warning(query, now) for query in queries}
        return {key: words for key, words in said.items() if words}

    def _warning(self, query: feed.WatchedQuery, now: int) -> str:
        found = left_out_of(self._hub, query.source, now)
        places = self.places.get(query.key, frozenset())
        return warning_of(found, places, with_why=query.source in self.may_name)

    def _new_throughput(self, key: str) -> Message | None:
        message = feed.throughput_message(self._hub, key)
        newest = message["points"][-1][0] if message["points"] else 0
        if newest == self._throughput_sent.get(key):
            return None
        self._throughput_sent[key] = newest
        return message
