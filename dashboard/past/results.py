"""The past of a saved query as charts take it, and as a file."""

import csv
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from dashboard.live.feed import WatchedQuery, Wish, series_id
from dashboard.past import reading
from dashboard.past.asked import Asked
from dashboard.past.levels import DAY, FULL
from dashboard.past.models import HistoryPlace, Segment
from dashboard.queries.models import SavedQuery
from optimizer.queries import AnyQuery

FILE_PART = DAY  # how much of the past is in memory at a time
COLUMNS = ("window_end", "window", "computation")
LAST_COLUMNS = ("value", "detail")
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")
Row = tuple[tuple[str, str, str], tuple[Any, ...], tuple[float | None, str]]  # of one result, by its columns


def past_of(saved: SavedQuery, asked: Asked) -> dict[str, Any]:
    """What a chart draws of a range: series as the socket has them, times as differences."""
    watched = WatchedQuery.listed(saved, Wish(windows=asked.windows))
    queries = {query.id: query for query in saved.queries()}
    series, groups = [], 0
    wanted = reading.Wanted(
        asked.start,
        asked.until,
        most_groups=asked.top,
        groups=asked.groups if saved.group_by else [()],
    )
    pasts = reading.read_all([queries[window.id] for window in watched.windows], wanted)
    for window in watched.windows:
        past = pasts[window.id]
        groups = max(groups, past.groups)
        for group, (ends, values) in past.lines.items():
            series.append(
                {
                    "id": series_id(window.id, group),
                    "range": window.range,
                    "slide": window.slide,
                    "computation": window.computation,
                    "window": window.words,
                    "group": list(group),
                    "step": past.step,
                    "ends": _differences(ends.tolist()),
                    "values": [None if value != value else value for value in values.tolist()],
                }
            )
    first, last = reading.extent(queries)
    return {
        "query": saved.key,
        "from": asked.start,
        "to": asked.until,
        "series": series,
        "groups": groups if saved.group_by else 0,
        "first": first,
        "last": last,
        "written_at": written_at(),
    }


def written_at() -> int | None:
    """When the newest results were written down (ms); None: never."""
    newest = HistoryPlace.objects.order_by("-alive_at").values_list("alive_at", flat=True).first()
    return int(newest.timestamp() * 1000) if newest else None


def _differences(ends: list[int]) -> list[int]:
    return [ends[0], *(after - before for before, after in pairwise(ends))] if ends else []


class _Line:
    """What `csv` writes to: it gives each line back."""

    def write(self, line: str) -> str:
        return line


@dataclass(frozen=True)
class FilePart:
    """A query in a file, and which of its windows and computations, in words; None: all of them."""

    query: SavedQuery
    windows: Collection[str] | None = None
    computations: Collection[str] | None = None

    def members(self) -> Iterator[tuple[str, str, AnyQuery]]:
        """Window, computation, and the query whose results are kept."""
        for computation, window, query in self.query.spec().members(self.query.key):
            is_window = self.windows is None or window.words in self.windows
            if is_window and (self.computations is None or computation.words in self.computations):
                yield window.written, computation.words, query


def query_lines(saved: SavedQuery, start: int, until: int) -> Iterator[str]:
    """Of one query every kept result of a range, all groups, in order of time within a day and window."""
    writer = csv.writer(_Line())
    yield writer.writerow([*COLUMNS, *saved.group_by, *LAST_COLUMNS])
    for named, group, value in _results(FilePart(saved), start, until):
        yield writer.writerow([*named, *map(_safe, group), *value])


def panel_lines(parts: Sequence[FilePart], start: int, until: int) -> Iterator[str]:
    """The same of several queries, one after the other, each under its name."""
    writer = csv.writer(_Line())
    fields = list(dict.fromkeys(field for part in parts for field in part.query.group_by))
    yield writer.writerow(["query", *COLUMNS, *fields, *LAST_COLUMNS])
    for part in parts:
        for named, group, value in _results(part, start, until):
            by_field = dict(zip(part.query.group_by, group, strict=False))
            groups = [_safe(by_field.get(field)) for field in fields]
            yield writer.writerow([_safe(part.query.name), *named, *groups, *value])


def _results(part: FilePart, start: int, until: int) -> Iterator[Row]:
    for window, computation, query in part.members():
        first, last = reading.extent([query.id])
        if first is None or last is None:
            continue
        full_from = _full_from(query)
        low = max(start, first)
        while low < min(until, last + 1):
            high = min(until, (low // FILE_PART + 1) * FILE_PART)
            for end, group, value in _rows(query, low, high):
                detail = "full" if end >= full_from else "thinned"
                yield (_iso(end), window, computation), group, (value, detail)
            low = high


def _full_from(query: AnyQuery) -> int:
    full = Segment.objects.filter(window__query=query.id, level=FULL)
    return full.order_by("start").values_list("start", flat=True).first() or 0


def _rows(query: AnyQuery, start: int, until: int) -> list[tuple[int, tuple[Any, ...], float | None]]:
    lines = reading.read(query, start, until, in_full=True).lines
    rows = [
        (end, group, None if value != value else value)
        for group, (ends, values) in lines.items()
        for end, value in zip(ends.tolist(), values.tolist(), strict=True)
    ]
    return sorted(rows, key=lambda row: (row[0], tuple(map(str, row[1]))))


def _iso(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")


def _safe(part: Any) -> Any:
    """A text that a spreadsheet would take for a formula is quoted."""
    return f"'{part}" if isinstance(part, str) and part.startswith(FORMULA_SIGNS) else part
