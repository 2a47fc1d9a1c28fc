"""State that survives: a log of what each batch changed, as files that only one process ever writes.

A log is a chain of segments. Whoever opens it begins a segment of its own, which names the segments before it
and how much of each counts, and makes it the head. So a process that was given up but still writes harms
nobody: its segment is not in the chain any more, or not beyond what counted. A batch that is run again begins
from the state after the one before; what its first run wrote is cut off.

By hand, because a key-value store wants a disk of its own and transactions to undo, where this is read whole
and once, by any machine that sees the directory.
"""

import os
import struct
import uuid
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import msgspec

Key = tuple[str, str, int]  # kind, name, number

SEGMENT_BYTES = 32 << 20  # a segment that has grown beyond this is followed by another
HEAD = "head"
_FRAME = struct.Struct("<II")  # length and checksum of what follows


class StateLost(RuntimeError):
    """The state that a batch needs is not there."""


class Change(msgspec.Struct, array_like=True):
    """What one batch changed; `note` is what it leaves for the next."""

    batch: int
    note: bytes
    values: list[tuple[Key, bytes]]
    removed: list[Key] = []


class Header(msgspec.Struct, array_like=True):
    """The segments before this one, oldest first, and how many bytes of each count."""

    chain: list[tuple[str, int]]


@dataclass
class State:
    """Everything there is after some batch."""

    note: bytes = b""
    values: dict[Key, bytes] = field(default_factory=dict)


class StateLog:
    """The log of one shard, as its owner sees it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._chain: list[tuple[str, int]] = []  # the segments before the own one
        self._name = ""
        self._file = -1
        self._size = 0
        self._newest_note = b""
        self.live_bytes = 0  # what there would be to read back
        self.written_bytes = 0  # for the last batch
        self._live: dict[Key, tuple[str, int]] = {}  # segment and size of every value

    @classmethod
    def open(cls, directory: Path, batch: int) -> tuple["StateLog", State]:
        """Become the owner of a log, with the state after `batch`; −1: before the first."""
        directory.mkdir(parents=True, exist_ok=True)
        log = cls(directory)
        state = log._read_back(batch)
        log._begin_segment(batch)
        log._make_head()
        return log, state

    def is_owned(self) -> bool:
        """Whether nobody has opened the log since."""
        return self._file >= 0 and _head_of(self._directory) == self._name

    def append(self, change: Change) -> None:
        """Write down what a batch changed. After an error the log must be opened anew."""
        if self._size > SEGMENT_BYTES:
            self._rotate(change.batch - 1)
        before = self._size
        self._write(msgspec.msgpack.encode(change))
        self._keep_account(self._name, change)
        self.written_bytes = self._size - before

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __del__(self) -> None:
        """Whatever failed while it was open: a keeper that tries for days must not run out of files."""
        self.close()

    # --- reading --------------------------------------------------------------------------------------

    def _read_back(self, batch: int) -> State:
        state, newest = State(), -1
        head = _head_of(self._directory)
        chain = [] if head is None else _header_of(self._directory / head).chain
        parts: list[tuple[str, int | None]] = [*chain, *([(head, None)] if head else [])]
        for name, limit in parts:
            used, counts = 0, False
            for end, change in _changes(self._directory / name, limit):
                if change is not None and change.batch > batch:
                    break
                used = end
                if change is not None:
                    newest = max(newest, change.batch)
                    self._take(name, change, state)
                    counts = True
            if counts:
                self._chain.append((name, used))
        if newest != batch:
            raise StateLost(f"{self._directory} holds the state after batch {newest}, not after {batch}.")
        return state

    def _take(self, name: str, change: Change, state: State) -> None:
        self._keep_account(name, change)
        state.note = change.note
        state.values.update(change.values)
        for key in change.removed:
            state.values.pop(key, None)

    def _keep_account(self, name: str, change: Change) -> None:
        self._newest_note = change.note
        for key, value in change.values:
            self.live_bytes += len(value) - self._live.get(key, ("", 0))[1]
            self._live[key] = (name, len(value))
        for key in change.removed:
            self.live_bytes -= self._live.pop(key, ("", 0))[1]

    # --- writing --------------------------------------------------------------------------------------

    def _begin_segment(self, batch: int) -> None:
        self._name = f"{batch + 1:012d}-{uuid.uuid4().hex}.log"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        self._file = os.open(self._directory / self._name, flags, 0o600)
        self._size = 0
        self._write(msgspec.msgpack.encode(Header(self._chain)))

    def _write(self, data: bytes) -> None:
        frame = _FRAME.pack(len(data), zlib.crc32(data)) + data
        written = 0
        try:
            while written < len(frame):
                written += os.write(self._file, memoryview(frame)[written:])
        except OSError:
            self.close()  # half a frame must be the last that this segment gets
            raise
        self._size += len(frame)

    def _make_head(self) -> None:
        """Let the chain end in the own segment, and remove what is not in it."""
        part = self._directory / f"{self._name}.part"
        part.write_text(self._name)
        part.replace(self._directory / HEAD)
        kept = {HEAD, self._name, *(name for name, _ in self._chain)}
        for path in self._directory.iterdir():
            if path.name not in kept:
                path.unlink(missing_ok=True)

    def _rotate(self, batch: int) -> None:
        """Go on in a new segment; the oldest are let go as long as less than half of all is of use.

        The oldest only: a newer one may say that values in older ones are gone.
        """
        if not self.is_owned():
            raise StateLost(f"{self._directory} has another owner by now.")
        self.close()
        self._chain.append((self._name, self._size))
        total = sum(size for _, size in self._chain)
        forward: dict[Key, bytes] = {}
        while total > 2 * self.live_bytes + 2 * SEGMENT_BYTES:
            name, size = self._chain.pop(0)
            forward |= self._live_in(name, size)
            total -= size
        self._begin_segment(batch)
        change = Change(batch, self._newest_note, list(forward.items()))
        self._write(msgspec.msgpack.encode(change))
        self._keep_account(self._name, change)
        self._make_head()

    def _live_in(self, name: str, size: int) -> dict[Key, bytes]:
        """The values that are nowhere else."""
        found: dict[Key, bytes] = {}
        for _, change in _changes(self._directory / name, size):
            found |= dict(change.values) if change is not None else {}
        return {key: value for key, value in found.items() if self._live.get(key, ("",))[0] == name}


def _head_of(directory: Path) -> str | None:
    try:
        return (directory / HEAD).read_text()
    except FileNotFoundError:
        return None


def _header_of(path: Path) -> Header:
    with path.open("rb") as file:
        data = _frame(file)
    if data is None:
        raise StateLost(f"{path} has no beginning.")
    return msgspec.msgpack.decode(data, type=Header)


def _frame(file: BinaryIO) -> bytes | None:
    """The next frame; None where there is no whole one."""
    head = file.read(_FRAME.size)
    if len(head) < _FRAME.size:
        return None
    length, checksum = _FRAME.unpack(head)
    data = file.read(length)
    return data if len(data) == length and zlib.crc32(data) == checksum else None


def _changes(path: Path, limit: int | None) -> Iterator[tuple[int, Change | None]]:
    """Every change of a segment with the place where it ends, first the header's as None.

    Without a limit it may end in half a change, which never counted; below a limit everything did.
    """
    place = 0
    decoder = msgspec.msgpack.Decoder(Change)
    with path.open("rb") as file:
        while limit is None or place < limit:
            data = _frame(file)
            if data is None:
                if limit is not None:
                    raise StateLost(f"{path} is damaged at byte {place}.")
                return
            change = decoder.decode(data) if place else None
            place += _FRAME.size + len(data)
            yield place, change
