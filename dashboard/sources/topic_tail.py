"""The newest messages of a topic as they come, once a second: all of them, or an honest sample."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from math import ceil
from typing import Any

from channels.db import database_sync_to_async
from django.http import QueryDict
from django.template.loader import render_to_string
from kafka import TopicPartition
from kafka.errors import KafkaError

from dashboard.accounts.attention import NO_SIGN_IN, sign_in_of, still_there
from dashboard.accounts.rights import visible_sources
from dashboard.live.sockets import BoundedSocket
from dashboard.sources.kafka import KafkaProblem, TopicReader, consumer_of
from dashboard.sources.models import Source
from dashboard.sources.presentation import Line
from dashboard.sources.topic_pages import Asked, BadRequest, Search, lines_of, write_places
from dashboard.sources.topic_walk import extent, read_ranges

EVERY_SECONDS = 1.0
SHOWN = 20  # messages a second
SEARCHED = 400  # that are looked at each second when something is searched for
READ_SECONDS = 2.0
UNHEARD = 3  # messages to a browser that has not answered yet


@dataclass(frozen=True)
class Glimpse:
    """What came since the last one."""

    lines: list[Line]  # newest first
    arrived: int
    looked_at: int
    seconds: float
    after: str  # places up to which all this is


class Tail:
    """Follows a topic from outside any consumer group. Blocking, and used by one thread at a time."""

    def __init__(self, source: Source, asked: Asked) -> None:
        self._source = source
        self._asked = asked
        self._search = Search.typed(asked.q, source)
        self._stack = ExitStack()
        self._consumer: TopicReader | None = None
        self._at: dict[int, int] = {}
        self._looked = time.monotonic()

    def open(self) -> TopicReader:
        consumer = self._consumer = self._stack.enter_context(consumer_of(self._source))
        known = extent(consumer, self._source)
        wanted = [part for part in known.end if self._asked.partition in (None, part)]
        start = self._asked.after or {}
        self._at = {part: min(known.end[part], start.get(part, known.end[part])) for part in wanted}
        return consumer

    def close(self) -> None:
        self._stack.close()

    def next(self) -> Glimpse:
        consumer = self._consumer or self.open()
        topic = self._source.topic
        ends = {
            part.partition: end
            for part, end in consumer.end_offsets([TopicPartition(topic, p) for p in self._at]).items()
        }
        news = {part: range(self._at[part], end) for part, end in ends.items() if end > self._at[part]}
        quota = ceil((SEARCHED if self._search else SHOWN) / max(1, len(news)))
        sampled = {part: piece[-quota:] for part, piece in news.items()}
        deadline = time.monotonic() + READ_SECONDS
        found, _ = read_ranges(consumer, topic, sampled, deadline, self._asked.aborted)
        messages = sorted(
            (message for part in found.values() for message in part), key=lambda m: (m.timestamp, m.offset)
        )
        looked_at = len(messages)
        if self._search:
            messages = self._search.matching(self._source, messages)
        shown = messages[-SHOWN:][::-1]
        since, self._looked, self._at = self._looked, time.monotonic(), ends
        return Glimpse(
            lines=lines_of(self._source, shown),
            arrived=sum(map(len, news.values())),
            looked_at=looked_at,
            seconds=self._looked - since,
            after=write_places(ends),
        )


class TailConsumer(BoundedSocket):
    """One browser tab that follows one topic. Server messages: `rows`, `problem`; the client answers each."""

    def __init__(self) -> None:
        super().__init__()
        self._task: asyncio.Task[None] | None = None
        self._sign_in = NO_SIGN_IN
        self._sent = self._heard = 0

    async def connect(self) -> None:
        if not self.scope["user"].is_authenticated:
            await self.close()  # before accepting: the handshake is refused
            return
        self._sign_in = await _sign_in_of(self.scope["session"])
        source = await self._seen_source()
        if source is None:
            await self.close()
            return
        if not await self.admit(self.scope["user"]):
            return
        try:
            asked = Asked.of(QueryDict(self.scope["query_string"]))
        except BadRequest as problem:
            await self._end(str(problem))
            return
        self._task = asyncio.create_task(self._follow(source, asked))

    async def _seen_source(self) -> Source | None:
        """The source, as long as this viewer may see it."""
        found: Source | None = await _look_up(
            self.scope["user"].pk, self._sign_in, self.scope["url_route"]["kwargs"]["key"]
        )
        return found

    async def disconnect(self, code: int) -> None:
        if self._task is not None:
            self._task.cancel()

    async def receive_json(self, content: Any, **kwargs: Any) -> None:
        self._heard += 1

    async def _follow(self, source: Source, asked: Asked) -> None:
        tail, loop = Tail(source, asked), asyncio.get_running_loop()
        thread = ThreadPoolExecutor(1, thread_name_prefix=f"tail {source.key}")
        try:
            while True:
                if self._sent - self._heard < UNHEARD:  # a slow browser gets fewer rows, and no queue grows
                    message = await loop.run_in_executor(thread, lambda: _told(tail, source))
                    if await self._seen_source() is None:
                        await self._end("You may not see this source any more.")
                        return
                    await self.send_json(message)
                    self._sent += 1
                await asyncio.sleep(EVERY_SECONDS)
        except KafkaProblem as problem:
            await self._end(problem.sentence)
        except (KafkaError, OSError):
            await self._end(f"{source.bootstrap_servers} stopped answering.")
        finally:
            # Not awaited, as a cancellation would cut that short; the thread closes it when free.
            thread.submit(tail.close)
            thread.shutdown(wait=False)

    async def _end(self, sentence: str) -> None:
        await self.send_json({"type": "problem", "sentence": sentence})
        await self.close()


def _told(tail: Tail, source: Source) -> dict[str, Any]:
    glimpse = tail.next()
    context = {"lines": glimpse.lines, "source": source}
    return {
        "type": "rows",
        "html": render_to_string("sources/_message_lines.html", context),
        "shown": len(glimpse.lines),
        "arrived": glimpse.arrived,
        "looked_at": glimpse.looked_at,
        "seconds": glimpse.seconds,
        "after": glimpse.after,
    }


_sign_in_of = database_sync_to_async(sign_in_of)


@database_sync_to_async  # type: ignore[untyped-decorator]
def _look_up(person: int, sign_in: int, key: str) -> Source | None:
    found = still_there(person, sign_in)
    return visible_sources(found).filter(key=key).first() if found else None
