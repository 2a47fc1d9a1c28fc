"""Carries results from Kafka to the sockets of this web process.

The first socket starts the relay: a process that shows nothing reads nothing. Kafka is polled in a
thread of its own; all else happens in the event loop. Every process relays for its own sockets, one after the
other and without a queue between: a socket that cannot keep up is told less often, and no other one waits.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime

from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone

from dashboard.accounts.attention import NO_SIGN_IN, rights_version, sign_ins_alive
from dashboard.alerts.bells import Bells, listen
from dashboard.live.garbage import QuietCollection
from dashboard.live.hub import Hub, Listener, process_hub
from dashboard.live.reader import BrokerLost, Places, Reader
from dashboard.models import PlanVersion, SavedQuery, Source
from streaming.topics import Topics

logger = logging.getLogger(__name__)

PUSH_SECONDS = 1.0  # at least
GATHER_SECONDS = 0.05  # after the first result of a batch: the others are on their way
PAUSE_SECONDS = 0.2  # after results were told, at least: what comes meanwhile is told together
AT_ONCE = 25  # sockets, before others may do something in the event loop
LOOK_SECONDS = 0.5
ALERTS_SECONDS = 1.0
RETRY_SECONDS = 2.0
TIDY_SECONDS = 60.0
IDLE_SECONDS = 15.0  # between two looks for sessions that ended by themselves


def wall_clock() -> int:
    return int(time.time() * 1000)


def newest_plan() -> int:
    """Grows with every plan that is made."""
    return PlanVersion.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


class Relay:
    """Reads into a hub, and tells the channel groups once a second what has changed."""

    def __init__(
        self,
        hub: Hub,
        open_reader: Callable[[], Reader],
        newest_plan: Callable[[], int] = newest_plan,
        newest_rights: Callable[[], int] = rights_version,
        listen: Callable[[datetime], Bells] = listen,
        nobody_waits: Callable[[], object] = lambda: None,
        sign_ins_alive: Callable[[], set[int]] = sign_ins_alive,
    ) -> None:
        self.hub = hub
        self._open_reader = open_reader
        self._newest_plan = newest_plan
        self._newest_rights = newest_rights
        self._news = asyncio.Event()
        self._telling = asyncio.Lock()  # meanwhile nothing new is taken in: all viewers are told the same
        self._places: Places = {}
        self._listen = listen
        self._nobody_waits = nobody_waits
        self._sign_ins_alive = sign_ins_alive

    async def run(self) -> None:
        """Until cancelled. One part that fails must not silently leave the others running."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._read())
            tasks.create_task(self._push())
            # Whatever people do to queries makes a plan, whatever they do to rights is recorded, in this
            # process or another: then viewers look again.
            tasks.create_task(self._follow_number(self._newest_plan, lambda one: one.plan_made()))
            tasks.create_task(self._follow_number(self._newest_rights, lambda one: one.rights_changed()))
            tasks.create_task(self._follow_alerts())
            tasks.create_task(self._tidy())
            tasks.create_task(self._end_idle())

    async def _read(self) -> None:
        with ThreadPoolExecutor(1, thread_name_prefix="relay") as thread:
            loop = asyncio.get_running_loop()
            while True:
                reader = self._open_reader()
                try:
                    await loop.run_in_executor(thread, reader.open, self._places)
                    await self._follow(reader, loop, thread)
                except BrokerLost as lost:
                    if self.hub.state.broker()["state"] != "down":
                        logger.warning("%s Trying again every %d s.", lost, RETRY_SECONDS)
                    self.hub.state.broker_down(wall_clock())
                finally:
                    # Not awaited, as a cancellation would cut that short; the thread closes it when free.
                    thread.submit(reader.close)
                await asyncio.sleep(RETRY_SECONDS)

    async def _follow(
        self, reader: Reader, loop: asyncio.AbstractEventLoop, thread: ThreadPoolExecutor
    ) -> None:
        self.hub.state.broker_reachable(wall_clock())
        while True:
            arrivals = await loop.run_in_executor(thread, reader.poll)
            async with self._telling:
                self.hub.take(arrivals)
            self._places = reader.places
            if self.hub.changed:
                self._news.set()
            if not self.hub.caught_up:
                self.hub.caught_up = await loop.run_in_executor(thread, reader.caught_up)

    async def _push(self) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), PUSH_SECONDS)
                await asyncio.sleep(GATHER_SECONDS)
            async with self._telling:
                self._news.clear()
                self.hub.shared.clear()
                changed = frozenset(self.hub.take_changed() if self.hub.caught_up else ())
                await self._tell(lambda listener: listener.told(changed))  # noqa: B023  (awaited here)
            if changed:
                self._nobody_waits()
                await asyncio.sleep(PAUSE_SECONDS)

    async def _tell(
        self, tell: Callable[[Listener], Awaitable[None]], whom: Iterable[Listener] | None = None
    ) -> None:
        for number, listener in enumerate(tuple(self.hub.listeners if whom is None else whom), 1):
            try:
                await tell(listener)
            except Exception:  # its connection is gone: the others must not suffer
                logger.debug("A socket could not be told anything.", exc_info=True)
                self.hub.listeners.discard(listener)
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)

    async def _follow_number(
        self, newest_number: Callable[[], int], tell: Callable[[Listener], Awaitable[None]]
    ) -> None:
        seen = None
        while True:
            try:
                newest = await sync_to_async(newest_number, thread_sensitive=False)()
                if seen not in (None, newest):
                    await self._tell(tell)
                seen = newest
            except Exception:
                logger.exception("%s failed; trying again.", newest_number.__name__)
            await asyncio.sleep(LOOK_SECONDS)

    async def _follow_alerts(self) -> None:
        """Another process evaluates them and writes what comes of it."""
        while True:
            try:
                bells = await sync_to_async(self._listen, thread_sensitive=False)(timezone.now())
                if bells != self.hub.bells:
                    self.hub.bells = bells
            except Exception:
                logger.exception("Could not look for alerts; trying again.")
            await asyncio.sleep(ALERTS_SECONDS)

    async def _end_idle(self) -> None:
        """A page that is left open asks for nothing: its session ends by itself, and its socket with it."""
        while True:
            await asyncio.sleep(IDLE_SECONDS)
            try:
                alive = await sync_to_async(self._sign_ins_alive)() | {NO_SIGN_IN}
            except Exception:
                logger.exception("Could not look for idle sessions; trying again.")
                continue
            over = [one for one in self.hub.listeners if one.sign_in not in alive]
            await self._tell(lambda one: one.rights_changed(), over)

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(TIDY_SECONDS)
            try:
                self.hub.keep_only(*await sync_to_async(_known_keys)())
            except Exception:
                logger.exception("Could not look up which queries exist; trying again in a minute.")


def _known_keys() -> tuple[set[str], set[str]]:
    queries = SavedQuery.with_deleted.values_list("key", flat=True)
    return set(queries), set(Source.objects.values_list("key", flat=True))


def _configured_reader() -> Reader:
    return Reader(settings.KAFKA_BOOTSTRAP, Topics(settings.TOPIC_PREFIX))


_running: asyncio.Task[None] | None = None


def ensure_running() -> Hub:
    """Start this process' relay unless it runs; the hub that it fills."""
    global _running
    loop = asyncio.get_running_loop()
    if _running is None or _running.done() or _running.get_loop() is not loop:
        relay = Relay(process_hub, _configured_reader, nobody_waits=QuietCollection().nobody_waits)
        _running = loop.create_task(relay.run(), name="relay")
    return process_hub
