"""Many open dashboards in one process: sockets that watch, acknowledge, and note when each result came.

Prints JSON: a histogram of milliseconds from a result's sending to its arrival, frames, bytes, lost sockets.
"""

import argparse
import asyncio
import base64
import json
import os
import struct
import time
from typing import Any

import msgspec

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
MOST_MS = 60_000
OPENED_AT_ONCE = 50
NO_MASK = bytes(4)


class Tally:
    """What all viewers of this process saw, from `counting` on."""

    def __init__(self) -> None:
        self.counting = False
        self.histogram = [0] * (MOST_MS + 1)
        self.frames = self.bytes = self.lost = self.gaps = self.ready = 0

    def result(self, sent: float) -> None:
        late = int(time.time() * 1000 - sent)
        self.histogram[min(MOST_MS, max(0, late))] += 1


class Viewer(asyncio.Protocol):
    """One tab. A slow one stops reading after its first frame."""

    def __init__(self, request: bytes, queries: list[str], tally: Tally, *, slow: bool = False) -> None:
        self._request, self._queries, self._tally, self._slow = request, queries, tally, slow
        self._buffer = bytearray()
        self._shaken = False
        self._sequences: dict[str, int] = {}
        self.closing = False

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._shaken:
            head, found, rest = bytes(self._buffer).partition(b"\r\n\r\n")
            if not found:
                return
            assert b" 101 " in head.split(b"\r\n")[0], head
            self._shaken, self._buffer = True, bytearray(rest)
            self._send({"type": "watch", "queries": self._queries})
            if self._slow:
                self._transport.pause_reading()
        while frame := self._frame():
            self._take(*frame)

    def connection_lost(self, problem: Exception | None) -> None:
        self._tally.lost += not self.closing and not self._slow

    def _frame(self) -> tuple[int, bytes] | None:
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        size, start = buffer[1] & 127, 2
        if size == 126:
            size, start = int.from_bytes(buffer[2:4], "big"), 4
        elif size == 127:
            size, start = int.from_bytes(buffer[2:10], "big"), 10
        if len(buffer) < start + size:
            return None
        code, payload = buffer[0] & 15, bytes(buffer[start : start + size])
        del buffer[: start + size]
        return code, payload

    def _take(self, code: int, payload: bytes) -> None:
        if code == PING:
            self._write(PONG, payload)
        elif code == CLOSE:
            self._transport.close()
        elif code == TEXT:
            self._take_messages(msgspec.json.decode(payload))
            if self._tally.counting:
                self._tally.frames += 1
                self._tally.bytes += len(payload)

    def _take_messages(self, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            if message["type"] not in ("snapshot", "update"):
                continue
            query, sequence = message["query"], message["sequence"]
            is_first = message["type"] == "snapshot"
            self._tally.ready += is_first
            self._tally.gaps += not is_first and sequence != self._sequences.get(query, 0) + 1
            self._sequences[query] = sequence
            if self._tally.counting and not is_first:
                for point in message["series"][0]["points"]:
                    self._tally.result(point[1])
        self._send({"type": "ack", "count": messages[-1]["count"]})

    def _send(self, message: dict[str, Any]) -> None:
        self._write(TEXT, json.dumps(message).encode())

    def _write(self, code: int, payload: bytes) -> None:
        size = len(payload)
        length = bytes([128 | size]) if size < 126 else b"\xfe" + struct.pack(">H", size)
        self._transport.write(bytes([128 | code]) + length + NO_MASK + payload)


def _request(host: str, port: int, session: str) -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [
        "GET /ws/live/ HTTP/1.1",
        f"Host: {host}:{port}",
        f"Origin: http://{host}:{port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
        f"Cookie: sessionid={session}",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def watch(arguments: argparse.Namespace) -> dict[str, Any]:
    boards = [[query["key"] for query in board["queries"]] for board in json.loads(arguments.boards)]
    loop, tally, viewers = asyncio.get_running_loop(), Tally(), []
    began = time.monotonic()
    for number in range(arguments.count):
        slow = number < arguments.slow
        viewer = Viewer(
            _request("127.0.0.1", arguments.port, arguments.session),
            boards[number % len(boards)],
            tally,
            slow=slow,
        )
        await loop.create_connection(lambda viewer=viewer: viewer, "127.0.0.1", arguments.port)
        viewers.append(viewer)
        if number % OPENED_AT_ONCE == OPENED_AT_ONCE - 1:
            await asyncio.sleep(0.3)
    wanted = sum(len(boards[number % len(boards)]) for number in range(arguments.slow, arguments.count))
    while tally.ready < wanted and time.monotonic() - began < arguments.patience:
        await asyncio.sleep(0.1)
    opened = time.monotonic() - began
    await asyncio.sleep(arguments.settle)
    tally.counting = True
    await asyncio.sleep(arguments.seconds)
    tally.counting = False
    for viewer in viewers:
        viewer.closing = True
    return {
        "histogram": tally.histogram,
        "frames": tally.frames,
        "bytes": tally.bytes,
        "lost": tally.lost,
        "gaps": tally.gaps,
        "missing": max(0, wanted - tally.ready),
        "opened_seconds": opened,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--session", required=True)
    parser.add_argument("--boards", required=True, help="as JSON")
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--slow", type=int, default=0)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--settle", type=float, default=5.0)
    parser.add_argument("--patience", type=float, default=120.0)
    print(json.dumps(asyncio.run(watch(parser.parse_args()))))


if __name__ == "__main__":
    main()
