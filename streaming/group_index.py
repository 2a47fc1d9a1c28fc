"""Numbers for the groups of one group-by in a shard."""

import msgspec
import numpy as np

from streaming.group_keys import GroupKeys, Numbering

GROUP_LIMIT = 1_000_000  # of a group-by in one shard: an identifier in a group-by must not end the job
FEW_GROUPS = 1_000  # so many may stay for ever
LOOK_EVERY = 64  # batches, at the limit: it costs a pass over all slices
TOLD_AT_MOST = 100_000  # groups, in encoded lists of them that are kept
OTHER = "…other"  # in every field of the group that takes what is beyond the limit


class GroupIndex:
    """In order of appearance; groups beyond the limit share one number.

    Numbers are places in rows, and move up when groups leave; what is stored has ids instead, which stay.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._numbering = Numbering()
        self._ids = np.empty(0, np.int64)  # by number, ascending
        self._next_id = 0
        self._look_at = FEW_GROUPS
        self.chunks: list[int] = []  # under which ids the state log has its groups
        self._told: dict[bytes, msgspec.Raw] = {}  # by the numbers of their groups

    def __len__(self) -> int:
        return len(self._numbering)

    @property
    def keys(self) -> GroupKeys:
        """By number. Keys that come later are not seen in it."""
        values = self._numbering.values
        return GroupKeys(values.data, values.bounds)

    @property
    def is_full(self) -> bool:
        return len(self) > self._limit

    @property
    def ids(self) -> np.ndarray:
        """By number."""
        missing = len(self) - len(self._ids)
        if missing:
            self._ids = np.concatenate([self._ids, np.arange(self._next_id, self._next_id + missing)])
            self._next_id += missing
        return self._ids

    def numbers_of(self, ids: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.ids, ids)

    def stored(self, first: int = 0) -> tuple[int, bytes]:
        """The groups from a number on, as the state log keeps them: under the id of the first of them."""
        ids = self.ids[first:]
        self.chunks.append(int(ids[0]))
        return self.chunks[-1], msgspec.msgpack.encode((ids.tobytes(), self.keys.since(first).packed()))

    def restore(self, data: bytes) -> None:
        """Take stored groups back, those with lesser ids before others."""
        ids, keys = msgspec.msgpack.decode(data, type=tuple[bytes, bytes])
        self._ids = np.concatenate([self.ids, np.frombuffer(ids, np.int64)])
        self._next_id = int(self._ids[-1]) + 1 if len(self._ids) else 0
        self._numbering.numbers(GroupKeys.unpacked(keys))
        self.chunks.append(int(self._ids[len(self) - len(ids) // 8]))
        self._look_at = max(FEW_GROUPS, 2 * len(self))

    def is_worth_a_look(self, batch: int) -> bool:
        """Whether there may be many groups that nobody has heard of for long."""
        return len(self) >= self._look_at or (len(self) >= self._limit and batch % LOOK_EVERY == 0)

    def keep(self, numbers: np.ndarray) -> bool:
        """Keep these groups only, in this order, if that is worth it; False: all stay."""
        self._look_at = max(FEW_GROUPS, 2 * len(numbers))
        if 2 * len(numbers) > len(self):
            return False
        kept, ids = self.keys.take(numbers), self.ids[numbers]
        self._numbering = Numbering()
        self._numbering.numbers(kept)
        self._ids, self.chunks, self._told = ids, [], {}
        return True

    def numbers(self, keys: GroupKeys) -> np.ndarray:
        numbers = self._numbering.numbers(keys, self._limit)
        beyond = np.flatnonzero(numbers < 0)
        if len(beyond):
            fields = len(keys.take(beyond[:1]).tuples()[0])
            other = GroupKeys.of_tuples([(OTHER,) * fields])
            numbers[beyond] = self._numbering.numbers(other, self._limit + 1)
        return numbers

    def raw(self, numbers: np.ndarray) -> msgspec.Raw:
        """The encoding of the list of some keys: the same object for the same keys, while it is known."""
        which = numbers.tobytes()
        if which not in self._told:
            if (len(self._told) + 1) * len(numbers) > TOLD_AT_MOST:
                self._told.clear()
            self._told[which] = self.keys.raw(numbers)
        return self._told[which]
