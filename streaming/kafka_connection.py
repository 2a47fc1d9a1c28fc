"""One connection to a Kafka broker that waits for each answer, and receives large ones without copying them.

kafka-python makes the connection: name lookup, TLS, SASL, proxies, versions. Its event loop would then take
bytes 4 KB at a time and copy them five times, at ten times the cost of the network itself; so the socket is
read here, into one buffer that is kept, and answers to fetches stay as they came.
"""

import socket
import struct
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from kafka.errors import CorrelationIdError, KafkaConnectionError, for_code
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.protocol.consumer import FetchRequest

from streaming.sources import Isolation

ANSWER_SECONDS = 4.0  # a cluster that takes longer counts as unreachable
FETCH_BYTES = 4 << 20  # more is no faster, less is slower
FETCH_WAIT_MS = 500  # how long a broker may wait for the first message
MOST_BYTES = 1 << 30  # of an answer; a broker that announces more is none

UNKNOWN = -1
LEVELS: dict[Isolation, int] = {"read_uncommitted": 0, "read_committed": 1}  # as Kafka numbers them

# Brokers from Kafka 2.1 on know this version, and what it answers has no parts of variable length but one.
_FETCH_VERSION = 10
_FETCH_START = struct.Struct(">iihi")  # correlation, throttle, error, session
_FETCH_PARTITION = struct.Struct(">ihqqqi")  # number, error, high watermark, last stable, log start, aborted
_ABORTED = struct.Struct(">qq")  # producer, first offset
_INT16, _INT32 = struct.Struct(">h"), struct.Struct(">i")


class Aborted(NamedTuple):
    """A transaction that was aborted."""

    producer: int
    first_offset: int


@dataclass(frozen=True)
class Fetched:
    """What a broker answered to a fetch."""

    end: int  # up to where messages can be read, or UNKNOWN
    is_throttled: bool  # the broker may have left out what there is
    aborted: tuple[Aborted, ...]  # that the records may belong to, where committed ones were asked for
    records: memoryview  # until the next answer is received


class Connection:
    """To one broker; for one thread. After an error it can only be closed."""

    def __init__(self, address: str, options: dict[str, Any]) -> None:
        """Connect; `options` are kafka-python's."""
        self._loop = NetworkSelector()
        manager = KafkaConnectionManager(
            self._loop, **options, bootstrap_servers=address, receive_message_max_bytes=MOST_BYTES
        )
        broker = manager.cluster.bootstrap_brokers()[0]
        limit = ANSWER_SECONDS * 1000
        self._made = manager.get_connection(broker.node_id, timeout_ms=limit, refresh_metadata_on_err=False)
        try:
            self._loop.run(manager.wait_for, self._made.init_future, limit)
        except BaseException:
            self.close()
            raise
        self._socket: socket.socket = self._made.transport._sock
        self._parser = self._made.parser
        self._answer = bytearray(FETCH_BYTES + (64 << 10))
        self._silent_until = 0.0  # a broker that throttles does not look at the connection for a while

    def close(self) -> None:
        with suppress(OSError):
            self._made.close()
        self._loop.close()

    def ask(self, request: Any) -> Any:
        """The answer to any request of kafka-python's."""
        self._send(request)
        answer = self._receive()
        ((_, response),) = self._parser.receive_bytes(_INT32.pack(len(answer)) + answer)
        return response

    def send_fetch(
        self, topic: str, partition: int, epoch: int, position: int, size: int, isolation: Isolation
    ) -> None:
        """Ask for about `size` bytes from an offset on; `receive_fetch` comes next, when they are needed."""
        part = FetchRequest.FetchTopic.FetchPartition(
            partition=partition,
            current_leader_epoch=epoch,
            fetch_offset=position,
            log_start_offset=-1,
            partition_max_bytes=size,
        )
        request = FetchRequest(
            version=_FETCH_VERSION,
            max_wait_ms=FETCH_WAIT_MS,
            min_bytes=1,
            max_bytes=size,
            isolation_level=LEVELS[isolation],
            session_id=0,
            session_epoch=-1,
            topics=[FetchRequest.FetchTopic(topic=topic, partitions=[part])],
            forgotten_topics_data=[],
        )
        self._send(request)

    def receive_fetch(self) -> Fetched:
        """The answer to what was sent last; raises kafka-python's error of the code that the broker gave."""
        answer = self._receive()
        try:
            correlation, throttled_ms, error, _ = _FETCH_START.unpack_from(answer)
            if correlation != self._parser.in_flight_requests.popleft().correlation_id:
                raise CorrelationIdError("A broker answered something else than what it was asked.")
            self._silent_until = time.monotonic() + throttled_ms / 1000
            raise_for(error)
            end, aborted, records = _partition(answer, _FETCH_START.size)
        except struct.error as cut:
            raise KafkaConnectionError("A broker's answer ends too early.") from cut
        return Fetched(end, throttled_ms > 0, aborted, records)

    def _send(self, request: Any) -> None:
        if request.API_VERSION is None:
            request.API_VERSION = self._made.broker_version_data.api_version(request)
        self._parser.send_request(request)
        self._socket.settimeout(ANSWER_SECONDS)
        self._socket.sendall(self._parser.send_bytes())

    def _receive(self) -> memoryview:
        """One answer, without its length; the same buffer every time."""
        self._socket.settimeout(ANSWER_SECONDS + max(self._silent_until - time.monotonic(), 0))
        size = _INT32.unpack(self._fill(_INT32.size))[0]
        if not 0 < size <= MOST_BYTES:
            raise KafkaConnectionError(f"A broker announced an answer of {size} bytes.")
        return self._fill(size)

    def _fill(self, size: int) -> memoryview:
        if size > len(self._answer):
            self._answer = bytearray(size)
        view = memoryview(self._answer)[:size]
        filled = 0
        while filled < size:
            received = self._socket.recv_into(view[filled:])
            if not received:
                raise KafkaConnectionError("The broker closed the connection.")
            filled += received
        return view


def _partition(answer: memoryview, position: int) -> tuple[int, tuple[Aborted, ...], memoryview]:
    """The end, the aborted transactions and the records of the one partition that was asked for."""
    if not _INT32.unpack_from(answer, position)[0]:  # no topic at all: so answers a broker that throttles
        return UNKNOWN, (), answer[:0]
    position += _INT32.size
    position += _INT16.size + _INT16.unpack_from(answer, position)[0] + _INT32.size  # one partition
    number, error, end, last_stable, _, count = _FETCH_PARTITION.unpack_from(answer, position)
    raise_for(error, number)
    position += _FETCH_PARTITION.size
    records_at = position + max(count, 0) * _ABORTED.size
    size = max(_INT32.unpack_from(answer, records_at)[0], 0)
    aborted = tuple(map(Aborted._make, _ABORTED.iter_unpack(answer[position:records_at])))
    records_at += _INT32.size
    records = answer[records_at : records_at + size]
    return end if last_stable == UNKNOWN else min(end, last_stable), aborted, records


def raise_for(error: int, partition: int | None = None) -> None:
    """Raise kafka-python's error of a code that a broker gave."""
    if error:
        raise for_code(error)(partition)
