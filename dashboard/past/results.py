"""The past of a saved query as charts take it, and as a file."""

import csv
from collections.abc import Iterator
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
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


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


def csv_lines(saved: SavedQuery, start: int, until: int) -> Iterator[str]:
    """Every kept result of a range, all groups, in order of time within a day and window."""
    writer = csv.writer(_Line())
    yield writer.writerow(["window_end", "window", "computation", *saved.group_by, "value", "detail"])
    for computation, spec, query in saved.spec().members(saved.key):
        first, last = reading.extent([query.id])
        if first is None or last is None:
            continue
        full_from = _full_from(query)
        window = [spec.written, computation.words]
        low = max(start, first)
        while low < min(until, last + 1):
            high = min(until, (low // FILE_PART + 1) * FILE_PART)
            for end, group, value in _rows(query, low, high):
                detail = "full" if end >= full_from else "thinned"
                yield writer.writerow([_iso(end), *window, *map(_safe, group), value, detail])
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
