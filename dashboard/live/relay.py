"""Carries results from Kafka to the sockets of this web process.

Daphne has no hook for the start of a server, so the first socket starts the relay. Kafka is polled in a
thread of its own; all else happens in the event loop, as the in-memory channel layer is not thread-safe.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings

from dashboard.live.hub import Hub, process_hub
from dashboard.live.reader import BrokerLost, Reader
from dashboard.models import PlanVersion, SavedQuery, Source
from dashboard.planning.calibration import note_throughput
from dashboard.planning.service import publish_pending
from streaming.topics import Topics

logger = logging.getLogger(__name__)

PUSH_SECONDS = 1.0
PLANS_SECONDS = 0.5
RETRY_SECONDS = 2.0
PUBLISH_SECONDS = 4.0
TIDY_SECONDS = 60.0
SAMPLE_SECONDS = 30.0

# Every process relays for its own sockets: with a shared channel layer others must not hear it.
_PROCESS = secrets.token_hex(4)
EVERYONE = f"live.{_PROCESS}"


def query_group(key: str) -> str:
    return f"live.{_PROCESS}.query.{key}"


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
        publish: Callable[[], object] = publish_pending,
        newest_plan: Callable[[], int] = newest_plan,
        note_throughput: Callable[[], object] = note_throughput,
    ) -> None:
        self.hub = hub
        self._open_reader = open_reader
        self._publish = publish
        self._newest_plan = newest_plan
        self._note_throughput = note_throughput

    async def run(self) -> None:
        """Until cancelled. One part that fails must not silently leave the others running."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._read())
            tasks.create_task(self._push())
            tasks.create_task(self._every(PUBLISH_SECONDS, self._publish))
            tasks.create_task(self._every(SAMPLE_SECONDS, self._note_throughput))
            tasks.create_task(self._follow_plans())
            tasks.create_task(self._tidy())

    async def _read(self) -> None:
        with ThreadPoolExecutor(1, thread_name_prefix="relay") as thread:
            loop = asyncio.get_running_loop()
            while True:
                reader = self._open_reader()
                try:
                    await loop.run_in_executor(thread, reader.open)
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
            self.hub.take(await loop.run_in_executor(thread, reader.poll))
            if not self.hub.caught_up:
                self.hub.caught_up = await loop.run_in_executor(thread, reader.caught_up)

    async def _push(self) -> None:
        layer = get_channel_layer()
        while True:
            if self.hub.caught_up:
                for key in self.hub.take_changed():
                    await layer.group_send(query_group(key), {"type": "query.changed", "query": key})
            await layer.group_send(EVERYONE, {"type": "clock.tick"})
            await asyncio.sleep(PUSH_SECONDS)

    async def _follow_plans(self) -> None:
        """Whatever people do to queries makes a plan, in this process or another: then viewers look again."""
        layer, seen = get_channel_layer(), None
        while True:
            try:
                newest = await sync_to_async(self._newest_plan, thread_sensitive=False)()
                if seen not in (None, newest):
                    await layer.group_send(EVERYONE, {"type": "plan.made"})
                seen = newest
            except Exception:
                logger.exception("Could not look for new plans; trying again.")
            await asyncio.sleep(PLANS_SECONDS)

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(TIDY_SECONDS)
            try:
                self.hub.keep_only(*await sync_to_async(_known_keys)())
            except Exception:
                logger.exception("Could not look up which queries exist; trying again in a minute.")

    async def _every(self, seconds: float, task: Callable[[], object]) -> None:
        while True:
            try:
                await sync_to_async(task, thread_sensitive=False)()
            except Exception:
                logger.exception("%s failed; trying again in %d s.", task.__name__, seconds)
            await asyncio.sleep(seconds)


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
        _running = loop.create_task(Relay(process_hub, _configured_reader).run(), name="relay")
    return process_hub
