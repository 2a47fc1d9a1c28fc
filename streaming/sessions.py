"""Session windows: runs of a group's events of which each follows the one before within a gap.

As Spark's `session_window`: an event exactly one gap after another is in the same session, which ends one gap
after its last event. So it is final when the watermark is later than its end: until then an event may join
it, or join two of them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numba import njit

from optimizer.group_windows import SessionWindow
from streaming.aggregates.base import Part
from streaming.group_rows import Rows, closed, merged
from streaming.group_steps import Step, Tables


class Sessions:
    """Keeps open sessions in one table, with gathered states."""

    def __init__(self, window: SessionWindow, parts: Sequence[Part]) -> None:
        self._gap = window.gap
        self._parts = parts
        self.tables = ([part.gathering.algebra for part in parts],)
        self.reach_back = window.gap  # before its start, where an event would have made it another window

    def step(self, held: Tables, arrived: Rows, now: int) -> Step:
        rows = Rows.together([*held, arrived])
        rows = rows.only(np.lexsort((rows.first, rows.group)))
        sessions = merged(rows, session_numbers(rows.group, rows.first, rows.last, self._gap), self._parts)
        final = sessions.last + self._gap < now
        ended = sessions.only(final)
        answers = replace(ended, mark=ended.last + self._gap, parts=closed(self._parts, ended))
        return Step((sessions.only(~final),), answers, len(rows))

    def due(self, held: Tables, watermark: int) -> int:
        """The watermark that nothing needs to be done before, unless events come."""
        return int(held[0].last.min()) + self._gap + 1


def session_numbers(group: np.ndarray, first: np.ndarray, last: np.ndarray, gap: int) -> np.ndarray:
    """Which session each row is in; rows come in order of groups, then of their first events."""
    return _session_numbers(group, first, last, gap)


@njit(cache=True, nogil=True)
def _session_numbers(group, first, last, gap):  # type: ignore[no-untyped-def]
    numbers = np.empty(len(group), np.int64)
    number, reach = -1, 0
    for i in range(len(group)):
        if i == 0 or group[i] != group[i - 1] or first[i] > reach:
            number += 1
            reach = last[i] + gap
        else:
            reach = max(reach, last[i] + gap)
        numbers[i] = number
    return numbers
