"""Follows the results topic and has it written down, for as long as this process is the one to do so.

Who writes results also keeps samples of estimated and actual throughput: it runs whether or not anybody
watches, and is the only one. It reads the meters for that.
"""

import logging
import time
from collections.abc import Callable, Mapping

import msgspec
from django.db import OperationalError, close_old_connections
from django.utils import timezone
from kafka import KafkaConsumer, TopicPartition

from dashboard.bin.actions import empty as empty_bin
from dashboard.live.messages import MeterMessage
from dashboard.live.meters import process_meters
from dashboard.past.known import known_windows
from dashboard.past.writing import Displaced, Writer, new_owner
from dashboard.planning.samples import note_throughput
from dashboard.queries.actions import pause_stopped
from dashboard.sources.models import Source
from streaming.results import decode
from streaming.topics import Topics, create_topics

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 15.0  # a writer that is silent for twice as long has lost its place
FLUSH_RESULTS = 400_000
SAMPLE_SECONDS = 30.0
LOOK_BACK_MS = 15 * 60_000  # to the meters of before this process: as far as they are kept in memory
ROLL_UP_SECONDS = 60.0
TIDY_SECONDS = 900.0
RETRY_SECONDS = 5.0
POLL_MS = 500
REQUEST_MS = 10_000

_meter = msgspec.json.Decoder(MeterMessage)


class Follower:
    """One results topic, one writer. `run` returns when `stopping` says so."""

    def __init__(self, bootstrap_servers: str, topics: Topics, stopping: Callable[[], bool]) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._topics = topics
        self._stopping = stopping
        self._owner = new_owner()  # the same after an error: nobody has to be silent first
        self._writer = Writer(topics.results, self._owner)
        self._waits = False

    def run(self) -> None:
        while not self._stopping():
            try:
                self._follow()
            except Displaced as problem:
                logger.warning("%s Waiting until it ends.", problem)
            except OperationalError as problem:
                logger.warning("The database does not answer (%s). Trying again.", str(problem).strip())
            except Exception as problem:  # kafka-python raises errors of several families
                logger.warning("History is not written (%s). Trying again in %d s.", problem, RETRY_SECONDS)
            self._wait(RETRY_SECONDS)
        self._writer.release()

    def _follow(self) -> None:
        close_old_connections()
        self._writer = Writer(self._topics.results, self._owner)
        offset = self._writer.claim()
        if offset is None:
            if not self._waits:
                logger.info("Another process writes the history; waiting for its place.")
            self._waits = True
            return
        self._waits = False
        consumer = self._consumer()
        try:
            self._write_from(consumer, self._placed(consumer, offset))
        finally:
            consumer.close()

    def _consumer(self) -> KafkaConsumer:
        return KafkaConsumer(
            bootstrap_servers=self._bootstrap_servers,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_poll_records=500,
            check_crcs=False,  # TCP has checked already
            request_timeout_ms=REQUEST_MS,
            bootstrap_timeout_ms=REQUEST_MS,
        )

    def _placed(self, consumer: KafkaConsumer, offset: int) -> int:
        """Go to the offset, or to what is left where retention or a new topic took it away."""
        topic = self._topics.results
        if not {topic, self._topics.meters} <= consumer.topics():
            create_topics(self._bootstrap_servers, self._topics.shared())
        partition = TopicPartition(topic, 0)  # each is made with one
        meters = TopicPartition(self._topics.meters, 0)
        consumer.assign([partition, meters])
        _look_back(consumer, meters)
        first = consumer.beginning_offsets([partition])[partition]
        end = consumer.end_offsets([partition])[partition]
        if offset > end:
            logger.warning("%s was made anew: its history begins again at its first message.", topic)
        elif offset < first and offset:
            logger.warning("Kafka removed %d messages of %s before they were kept.", first - offset, topic)
        place = offset if first <= offset <= end else first
        consumer.seek(partition, place)
        return int(place)

    def _write_from(self, consumer: KafkaConsumer, place: int) -> None:
        known = known_windows()
        flushed_at = rolled_at = noted_at = time.monotonic()
        tidied_at = 0.0
        while not self._stopping():
            place = self._read(consumer, place)
            now = time.monotonic()
            if now - flushed_at >= FLUSH_SECONDS or self._writer.pending >= FLUSH_RESULTS:
                known = known_windows()
                self._writer.flush(place, known)
                flushed_at = now
                if now - noted_at >= SAMPLE_SECONDS:  # just after a flush: nobody else has the place
                    _note_throughput()
                    noted_at = now
            if now - rolled_at >= ROLL_UP_SECONDS:
                self._writer.roll_up(known, _wall_clock())
                rolled_at = now
            if now - tidied_at >= TIDY_SECONDS:
                self._writer.tidy(known, _wall_clock())
                process_meters.keep_only(set(Source.objects.values_list("key", flat=True)))
                empty_bin(timezone.now())
                tidied_at = now
        self._writer.flush(place, known_windows())

    def _read(self, consumer: KafkaConsumer, place: int) -> int:
        """Take in what has come; the offset after the results."""
        for partition, messages in consumer.poll(timeout_ms=POLL_MS).items():
            is_result = partition.topic == self._topics.results
            for message in messages:
                place = message.offset + 1 if is_result else place
                try:
                    if is_result:
                        self._writer.take(decode(message.value))
                    else:
                        _take_meter(_meter.decode(message.value))
                except (msgspec.DecodeError, TypeError):
                    logger.warning(
                        "Skipped a message that is not ours: %s, offset %s.", partition.topic, message.offset
                    )
        return place

    def _wait(self, seconds: float) -> None:
        ends = time.monotonic() + seconds
        while not self._stopping() and time.monotonic() < ends:
            time.sleep(0.2)


def _look_back(consumer: KafkaConsumer, meters: TopicPartition) -> None:
    found = consumer.offsets_for_times({meters: _wall_clock() - LOOK_BACK_MS})[meters]
    if found is None:
        consumer.seek_to_end(meters)
    else:
        consumer.seek(meters, found.offset)


def _take_meter(message: MeterMessage) -> None:
    process_meters.add(message)
    if stopped := message.get("stopped"):
        _pause_stopped(message["source"], message["plan"], stopped)


def _pause_stopped(source_key: str, plan: int, stopped: Mapping[str, str]) -> None:
    """Results are written whatever becomes of this; the next batch says it again."""
    try:
        source = Source.objects.filter(key=source_key).first()
        version = pause_stopped(source, plan, stopped) if source is not None else None
        if version is not None:
            logger.warning("%s of %s.", version.cause, source_key)
    except Exception:
        logger.exception("Queries of %s that take too much could not be paused.", source_key)


def _note_throughput() -> None:
    """Results are written whatever becomes of the samples."""
    try:
        note_throughput()
    except Exception:
        logger.exception("Throughput was not noted; trying again in %d s.", SAMPLE_SECONDS)


def _wall_clock() -> int:
    return int(time.time() * 1000)
