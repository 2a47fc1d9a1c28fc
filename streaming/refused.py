"""Which messages were refused for when they came: late, from the future, from the far past.

That was judged by all that had come before them, and by the clock of that day. Where they are read back
(`streaming/recall.py`) nobody can judge so again: they are refused by what is remembered here.
"""

import zlib
from collections.abc import Iterable, Iterator

import numpy as np

from streaming.accounting import DeadLetter

PAST_MESSAGES = 10_000_000  # that are read back at most; what was refused before them is forgotten
MOST = 500_000  # that are remembered
CHUNK = 10_000  # messages whose refused ones are stored together
NONE: np.ndarray = np.zeros(0, np.int64)

Place = tuple[int, int]  # a partition, and a chunk of it


class Refused:
    """Offsets in order, by place. One shard keeps them for all of its source."""

    def __init__(self) -> None:
        self._offsets: dict[Place, np.ndarray] = {}

    def note(self, letters: Iterable[DeadLetter]) -> list[Place]:
        """Take in what was refused in a batch; where it is kept."""
        found: dict[Place, list[int]] = {}
        for letter in letters:
            if letter.kind != "malformed":  # that needs no memory: it will be so again
                found.setdefault((letter.partition, letter.offset // CHUNK), []).append(letter.offset)
        for place, offsets in found.items():
            self._offsets[place] = np.union1d(self._offsets.get(place, NONE), offsets)
        return list(found)

    def forget(self) -> list[Place]:
        """Let go of what lies too far back, and of the oldest of too many; where that was kept."""
        newest: dict[int, int] = {}
        for partition, chunk in self._offsets:
            newest[partition] = max(newest.get(partition, 0), chunk)
        gone, kept = [], 0
        for age, place in sorted((newest[place[0]] - place[1], place) for place in self._offsets):
            kept += len(self._offsets[place])
            if kept > MOST or age * CHUNK > PAST_MESSAGES:
                gone.append(place)
        for place in gone:
            del self._offsets[place]
        return gone

    def restore(self, place: Place, stored: bytes) -> None:
        self._offsets[place] = np.frombuffer(stored, np.int64)

    def stored(self, places: Iterable[Place]) -> Iterator[tuple[Place, bytes]]:
        return ((place, self._offsets[place].tobytes()) for place in places if place in self._offsets)

    def packed(self) -> dict[int, bytes]:
        """By partition, for tasks that read back."""
        by_partition: dict[int, list[np.ndarray]] = {}
        for partition, chunk in sorted(self._offsets):
            by_partition.setdefault(partition, []).append(self._offsets[partition, chunk])
        return {partition: _packed(np.concatenate(parts)) for partition, parts in by_partition.items()}


def _packed(offsets: np.ndarray) -> bytes:
    """Steps from one to the next are small, and alike."""
    return zlib.compress(np.diff(offsets, prepend=0).tobytes(), 1)


def unpacked(packed: dict[int, bytes]) -> dict[int, np.ndarray]:
    return {
        partition: np.cumsum(np.frombuffer(zlib.decompress(offsets), np.int64))
        for partition, offsets in packed.items()
    }
