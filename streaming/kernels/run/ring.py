"""A ring of slices: the partials of all groups of a shard, by slice number. Kernels are derived from it.

New groups get columns, groups that have gone lose theirs; both are rare, so columns are added in bulk.
"""

from collections.abc import Iterator

import numpy as np

from streaming.aggregates.algebra import Algebra, State, identity_rows

LEAST_DEPTH = 16


class SliceRing:
    def __init__(self, algebra: Algebra, groups: int = 0, depth: int = LEAST_DEPTH, first: int = 0) -> None:
        self.algebra = algebra
        self.groups = groups
        self.first = first  # the oldest slice that is kept
        self.intact = first  # rows of evicted slices stay until others take their place
        self.next = first
        self._nothing = identity_rows(algebra, 1, 1)
        self.rows = self._room(depth, roomy(groups))

    @property
    def depth(self) -> int:
        return self.rows.shape[1]

    def row(self, number: int) -> np.ndarray:
        """The partials of a kept slice: (columns, groups)."""
        return self.rows[:, number % self.depth, : self.groups]

    def append(self, partials: np.ndarray) -> None:
        """One more slice: (columns, groups), or several: (columns, slices, groups)."""
        if partials.ndim == 2:
            partials = partials[:, None, :]
        count, groups = partials.shape[1:]
        self.widen(groups)
        self._resize(max(self.depth, room_for(self.next + count - self.first)))
        at = self.next % self.depth
        # A span is written many times faster than rows that are named one by one, as where the ring ends.
        places: slice | np.ndarray = slice(at, at + count)
        if at + count > self.depth:
            places = np.arange(at, at + count) % self.depth
        self.rows[:, places, :groups] = partials
        if groups < self.rows.shape[2]:
            self.rows[:, places, groups:] = self._nothing
        self.next += count
        self.intact = max(self.intact, self.next - self.depth)

    def fold(self, number: int, group: int, partial: State) -> None:
        """Fold a late partial into the slice that it belongs to."""
        at = number % self.depth
        if self.algebra.dtype is object:
            self.rows[0, at, group] = self.algebra.combine(self.rows[0, at, group], partial)
        else:
            self.rows[:, at, group] = self.algebra.combine(tuple(self.rows[:, at, group]), partial)

    def evict_before(self, number: int) -> None:
        self.first = max(self.first, min(number, self.next))

    def widen(self, groups: int) -> None:
        """Make room for more groups, which hold nothing in the slices so far."""
        self.groups = max(self.groups, groups)
        known = self.rows.shape[2]
        if self.groups > known:
            wider = self._room(self.depth, roomy(self.groups))
            for span in self._written():
                wider[:, span, :known] = self.rows[:, span]
                wider[:, span, known:] = self._nothing
            self.rows = wider

    def keep(self, groups: np.ndarray) -> None:
        """Keep these groups only, in this order."""
        self.groups = len(groups)
        kept = self._room(self.depth, roomy(self.groups))
        for span in self._written():
            kept[:, span, : self.groups] = self.rows[:, span, groups]
            kept[:, span, self.groups :] = self._nothing
        self.rows = kept

    def fit(self) -> None:
        """Let go of room that the slices which are kept do not need."""
        self._resize(min(self.depth, room_for(self.next - self.first)))

    def _resize(self, depth: int) -> None:
        if depth == self.depth:
            return
        resized = self._room(depth, self.rows.shape[2])
        self.intact = max(self.intact, self.next - depth)
        numbers = np.arange(self.intact, self.next)
        resized[:, numbers % depth] = self.rows[:, numbers % self.depth]
        self.rows = resized

    def _written(self) -> list[slice]:
        """Where the rows are that hold something: up to where the ring ends, and from where it begins."""
        low = self.intact % self.depth
        high = low + self.next - self.intact
        return [slice(low, min(high, self.depth)), slice(0, max(high - self.depth, 0))]

    def _room(self, slices: int, groups: int) -> np.ndarray:
        """Rows that are not written yet: of many groups they would take most of the time and memory."""
        return np.empty((len(self._nothing), slices, groups), self._nothing.dtype)


class RingColumn:
    """One group's slices, as a mapping."""

    def __init__(self, ring: SliceRing, group: int) -> None:
        self._ring = ring
        self._group = group

    def get(self, number: int, default: State) -> State:
        ring = self._ring
        if not ring.first <= number < ring.next:
            return default
        state = ring.rows[:, number % ring.depth, self._group]
        return state[0] if ring.algebra.dtype is object else tuple(state)

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._ring.first, self._ring.next))


def room_for(slices: int) -> int:
    """A power of two; a quarter of the slices stay for a while after they were evicted."""
    return max(LEAST_DEPTH, 1 << (slices + slices // 4 - 1).bit_length())


def roomy(groups: int) -> int:
    """A quarter more, in whole cache lines; one group stays one, for which there is faster code."""
    return groups if groups <= 1 else -(-(groups + groups // 4) // 8) * 8
