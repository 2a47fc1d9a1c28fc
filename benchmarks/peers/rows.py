"""Result rows: what a peer wrote, how fast it got there, and whether the rows are right."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb
import msgspec

from benchmarks.engine.events import Stream
from benchmarks.engine.kafka import Message
from streaming import results

PAUSE_MS, BURST_MS = 100, 500  # answers closer than a pause belong together, but not for longer than a burst

Key = tuple[int, str, int]  # range in seconds, device, end in seconds since the epoch


@dataclass(frozen=True)
class Told:
    """One final answer as it stood on the results topic."""

    key: Key
    value: float
    appended: int  # ms since the epoch


class _Row(msgspec.Struct):
    range: int
    device: str
    end: int
    max: float


_row = msgspec.json.Decoder(_Row)


def peer_rows(messages: Iterable[Message]) -> Iterator[Told]:
    """Rows of a peer's program: one JSON object for each."""
    for message in messages:
        row = _row.decode(message.value)
        yield Told((row.range, row.device, row.end), row.max, message.appended)


def millrace_rows(messages: Iterable[Message]) -> Iterator[Told]:
    """Rows of Millrace's blocks, final ones only: a peer's rows are final too."""
    blocks = ((block, message.appended) for message in messages for block in results.decode(message.value))
    for block, appended in blocks:
        if not block.final:
            continue
        seconds, end = (block.end - block.start) // 1000, block.end // 1000
        for group, value, _ in block.rows():
            if value is not None:
                yield Told((seconds, group[0], end), value, appended)


@dataclass(frozen=True)
class Pace:
    events_per_second: float
    full: bool  # whether all windows were full while it was measured


def pace(told: Iterable[Told], ranges: Sequence[int], stream: Stream, full_from: int) -> Pace | None:
    """Events per second, from the ends of windows that had been answered by when.

    Measured from `full_from` (ms of event time) on; where a peer did not get that far, over the later half of
    the time that it had.
    """
    curve = _bursts(_reached(told, ranges))
    if len(curve) < 2:
        return None
    measured = [point for point in curve if point[1] >= full_from]
    full = len(measured) > 1
    if not full:
        middle = (curve[0][0] + curve[-1][0]) / 2
        measured = [point for point in curve if point[0] >= middle]
    (began, first), (ended, last) = measured[0], measured[-1]
    if ended <= began:
        return None
    return Pace((stream.events_before(last) - stream.events_before(first)) * 1000 / (ended - began), full)


def _reached(told: Iterable[Told], ranges: Sequence[int]) -> list[tuple[int, int]]:
    """(when, the end in ms that windows of every range had reached by then), where it moved on."""
    newest: dict[int, int] = {}
    curve: list[tuple[int, int]] = []
    for row in told:
        seconds, _, end = row.key
        newest[seconds] = max(newest.get(seconds, 0), end)
        if len(newest) < len(ranges):
            continue
        reached = min(newest.values()) * 1000
        if not curve or reached > curve[-1][1]:
            curve.append((row.appended, reached))
    return curve


def _bursts(curve: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The last point of each burst: a batch's answers come all at once, after the work for them is done."""
    ends: list[tuple[int, int]] = []
    began = before = -BURST_MS
    for when, reached in curve:
        if ends and when - before < PAUSE_MS and when - began < BURST_MS:
            ends[-1] = (when, reached)
        else:
            ends.append((when, reached))
            began = when
        before = when
    return ends


@dataclass(frozen=True)
class Comparison:
    """A peer's rows beside the expected ones."""

    expected: int
    missing: int
    missing_silent: int  # of these, rows of devices that said nothing in the last second of the window
    wrong: int
    unexpected: int

    @property
    def sentence(self) -> str:
        """What the table says of it.

        >>> Comparison(10, 0, 0, 0, 0).sentence
        'all 10 equal'
        >>> Comparison(10, 2, 2, 0, 0).sentence
        'equal, but 2 of 10 missing: none for a device that was silent in the last second'
        """
        if not (self.missing or self.wrong or self.unexpected):
            return f"all {self.expected:,} equal"
        if self.missing == self.missing_silent and not (self.wrong or self.unexpected):
            return (
                f"equal, but {self.missing:,} of {self.expected:,} missing: none for a device that was "
                "silent in the last second"
            )
        return (
            f"of {self.expected:,}: {self.missing:,} missing, {self.wrong:,} wrong, "
            f"{self.unexpected:,} not expected"
        )


def compared(told: Iterable[Told], expected: Mapping[Key, float], stream: Stream, until: int) -> Comparison:
    """Rows of windows that end by `until` (seconds); a row told again counts by its last value."""
    found = {row.key: row.value for row in told if row.key[2] <= until}
    missing = expected.keys() - found.keys()
    spoke = {(device, second) for device, second, _ in _seconds(stream)}
    silent = sum((device, end - 1) not in spoke for _, device, end in missing)
    wrong = sum(found[key] != expected[key] for key in expected.keys() & found.keys())
    return Comparison(len(expected), len(missing), silent, wrong, len(found.keys() - expected.keys()))


def expected_rows(stream: Stream, ranges: Sequence[int], until: int) -> dict[Key, float]:
    """All windows that hold an event and end by `until`, by DuckDB, as windows are defined."""
    connection = duckdb.connect()
    events = stream.table(0, stream.events)
    connection.register("events", events)
    expected: dict[Key, float] = {}
    for seconds in ranges:
        rows = connection.execute(
            f"""
            WITH placed AS (
                SELECT device, temp, unnest(generate_series(ts // 1000 + 1, ts // 1000 + {seconds})) AS ending
                FROM events
            )
            SELECT device, ending, max(temp) FROM placed WHERE ending <= {until} GROUP BY device, ending
            """
        ).fetchall()
        expected |= {(seconds, device, end): value for device, end, value in rows}
    return expected


def _seconds(stream: Stream) -> list[tuple[str, int, int]]:
    connection = duckdb.connect()
    connection.register("events", stream.table(0, stream.events))
    return connection.execute(
        "SELECT device, ts // 1000, count(*) FROM events GROUP BY device, ts // 1000"
    ).fetchall()
