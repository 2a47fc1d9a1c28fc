"""Numbers for the groups of one group-by in a shard."""

import msgspec
import numpy as np

from streaming.group_keys import GroupKeys, Numbering

GROUP_LIMIT = 1_000_000  # of a group-by in one shard: an identifier in a group-by must not end the job
OTHER = "…other"  # in every field of the group that takes what is beyond the limit


class GroupIndex:
    """In order of appearance; groups beyond the limit share one number."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._numbering = Numbering()
        self._told: tuple[np.ndarray, msgspec.Raw] | None = None

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

    def numbers(self, keys: GroupKeys) -> np.ndarray:
        numbers = self._numbering.numbers(keys, self._limit)
        beyond = np.flatnonzero(numbers < 0)
        if len(beyond):
            fields = len(keys.take(beyond[:1]).tuples()[0])
            other = GroupKeys.of_tuples([(OTHER,) * fields])
            numbers[beyond] = self._numbering.numbers(other, self._limit + 1)
        return numbers

    def raw(self, numbers: np.ndarray) -> msgspec.Raw:
        """The encoding of the list of some keys; mostly the same are asked for several times in a row."""
        if self._told is None or not np.array_equal(numbers, self._told[0]):
            self._told = numbers, self.keys.raw(numbers)
        return self._told[1]
