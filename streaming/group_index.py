"""Numbers for the groups of one group-by in a shard."""

from collections.abc import Sequence

import numpy as np

from streaming.results import GroupKey

GROUP_LIMIT = 1_000_000  # of a group-by in one shard: an identifier in a group-by must not end the job
OTHER = "…other"  # in every field of the group that takes what is beyond the limit


class GroupIndex:
    """In order of appearance; groups beyond the limit share one number."""

    def __init__(self, limit: int) -> None:
        self.keys: list[GroupKey] = []
        self._numbers: dict[GroupKey, int] = {}
        self._limit = limit

    def numbers(self, keys: Sequence[GroupKey]) -> np.ndarray:
        return np.array([self.number(key) for key in keys], np.int64)

    def number(self, key: GroupKey) -> int:
        number = self._numbers.get(key)
        if number is None and len(self.keys) >= self._limit:
            key = (OTHER,) * len(key)
            number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.keys)
            self.keys.append(key)
        return number

    @property
    def is_full(self) -> bool:
        return len(self.keys) > self._limit
