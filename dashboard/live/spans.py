"""A source's last quarter of an hour in equal spans, as its page draws them small: lines and bars."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from dashboard.live.batches import Batch

T = TypeVar("T")

KEPT_MS = 15 * 60_000
STEP_MS = 15_000
MINUTE_MS = 60_000
HOUR_MS = 3_600_000
PEAK_SPAN_MS = 5_000
PEAK_HOURS = 24


def rates(batches: Sequence[Batch], now: int) -> list[float | None]:
    """Messages per second of every quarter of a minute; None where no batch was heard of."""
    found = _by_span(((batch.clock, batch.events) for batch in batches), now, STEP_MS)
    return [sum(events) / (STEP_MS / 1000) if events else None for events in found]


def delays(batches: Sequence[Batch], now: int) -> list[int | None]:
    """How far the watermark was behind the wall clock at the end of every quarter of a minute, in ms."""
    known = ((b.clock, b.clock - b.watermark) for b in batches if b.watermark is not None)
    return newest(known, now)


def newest(measured: Iterable[tuple[int, T]], now: int) -> list[T | None]:
    """The last of the measured values, by wall clock, in every quarter of a minute."""
    return [values[-1] if values else None for values in _by_span(measured, now, STEP_MS)]


def counts(counted: Iterable[tuple[int, int]], now: int) -> list[int]:
    """What was counted in each of the last minutes, the current one last."""
    return [sum(values) for values in _by_span(counted, now + MINUTE_MS, MINUTE_MS)]


def _by_span(measured: Iterable[tuple[int, T]], now: int, step: int) -> list[list[T]]:
    """Values by the span in which they were measured, oldest first; the span of `now` is not over yet."""
    spans: list[list[T]] = [[] for _ in range(KEPT_MS // step)]
    first = now // step - len(spans)
    for clock, value in measured:
        at = clock // step - first
        if 0 <= at < len(spans):
            spans[at].append(value)
    return spans


class Peak:
    """The greatest rate of the last day, as far as it was heard of."""

    def __init__(self) -> None:
        self._by_hour: dict[int, float] = {}
        self.since: int | None = None  # wall clock of the first span

    def note(self, batches: Iterable[Batch], clock: int) -> None:
        """Take in the five seconds before the span of `clock`."""
        end = clock // PEAK_SPAN_MS * PEAK_SPAN_MS
        events = sum(batch.events for batch in batches if end - PEAK_SPAN_MS <= batch.clock < end)
        hour = end // HOUR_MS
        self.since = end if self.since is None else max(self.since, end - PEAK_HOURS * HOUR_MS)
        self._by_hour[hour] = max(events / (PEAK_SPAN_MS / 1000), self._by_hour.get(hour, 0.0))
        for old in [known for known in self._by_hour if known <= hour - PEAK_HOURS]:
            del self._by_hour[old]

    @property
    def value(self) -> float | None:
        return max(self._by_hour.values(), default=None)
