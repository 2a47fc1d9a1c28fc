"""Parts of windows that reach over several lanes: closed slices from an instant on, or up to one.

Windows that change lanes at an instant ask, slide after slide, for what one lane holds up to there and what
the next one holds from there on. Both are kept as they grow, so that such a window costs no more than a few
combinations, however long it is.
"""

from collections.abc import Callable, Sequence

from streaming.aggregates.base import Part
from streaming.columns import Columns


class Head:
    """The aggregate of slices from one number on; it grows with the asking."""

    def __init__(self, first: int) -> None:
        self.first = first
        self._next = first
        self._columns: Columns | None = None

    def until(self, number: int, slice_of: Callable[[int], Columns], parts: Sequence[Part]) -> Columns | None:
        """Of the slices before `number`; None where there are none."""
        if number < self._next:
            self._next, self._columns = self.first, None
        for at in range(self._next, number):
            self._columns = _joined(self._columns, slice_of(at), parts)
        self._next = max(self._next, number)
        return self._columns


class Tails:
    """The aggregates of the newest slices before one number: of the last one, the last two and so on."""

    def __init__(self, end: int) -> None:
        self.end = end
        self._tails: list[Columns] = []

    def since(self, number: int, slice_of: Callable[[int], Columns], parts: Sequence[Part]) -> Columns | None:
        """Of the slices from `number` on; None where there are none."""
        while len(self._tails) < self.end - number:
            newer = self._tails[-1] if self._tails else None
            slice_ = slice_of(self.end - len(self._tails) - 1)
            self._tails.append(slice_.copied() if newer is None else _joined(slice_, newer, parts))
        return self._tails[self.end - number - 1] if number < self.end else None

    def forget_before(self, number: int) -> None:
        del self._tails[max(0, self.end - number) :]


def _joined(older: Columns | None, newer: Columns, parts: Sequence[Part]) -> Columns:
    if older is None:
        return newer.copied()
    width = max(older.width, newer.width)
    return older.widened(width, parts).combined(newer.widened(width, parts), parts)
