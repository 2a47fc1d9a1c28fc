"""Results that were computed for a page, not by the job: as series that it draws and lists."""

from collections.abc import Iterable, Sequence
from heapq import nlargest
from math import isfinite
from typing import Any

from optimizer.group_windows import SessionWindow
from optimizer.queries import AnyQuery, Query, QuerySpec
from streaming.results import GroupKey, ResultBlock

TOP_GROUPS = 8
MOST_POINTS = 1_200  # of a series: a chart is no wider than that
UNKNOWN_REACH_MS = 60_000

Message = dict[str, Any]
Point = list[Any]  # window end, value, whether it is final


def described(spec: QuerySpec, blocks: Iterable[ResultBlock]) -> Message:
    """All series of a query: of each window and computation, the groups that are greatest at the end."""
    by_query: dict[str, dict[int, ResultBlock]] = {}
    for block in blocks:
        by_query.setdefault(block.query, {})[block.end] = block
    series: list[Message] = []
    groups: dict[str, int] = {}
    for computation, window, query in spec.members():
        found = [block for _, block in sorted(by_query.get(query.id, {}).items())]
        place = {"computation": computation.words, "window": window.written}
        known, top = _groups(found) if spec.group_by else (1, [()])
        groups[f"{computation.words}|{window.written}"] = known
        for group in top:
            points = _points(found, group)
            if points or not spec.group_by:
                measures = _measures(query)
                thinned = _thinned(points, measures["slide"])
                series.append({**place, **measures, "group": list(group), **thinned})
    return {
        "group_by": list(spec.group_by),
        "computations": [one.words for one in spec.computations],
        "windows": [
            {"written": window.written, "words": window.words, **_measures(query)}
            for _, window, query in spec.members()[: len(spec.windows)]
        ],
        "series": series,
        "groups": groups,
    }


def _measures(query: AnyQuery) -> Message:
    """Range and slide; of windows that end when events say so, how far apart points are still one line."""
    if isinstance(query, Query):
        return {"range": query.window.range, "slide": query.window.slide, "timed": True}
    reach = query.window.gap if isinstance(query.window, SessionWindow) else UNKNOWN_REACH_MS
    return {"range": reach, "slide": reach, "timed": False}


def _groups(blocks: Sequence[ResultBlock]) -> tuple[int, list[GroupKey]]:
    """How many groups there are, and those with the greatest newest final values."""
    newest: dict[GroupKey, float] = {}
    keys = None
    for block in sorted(blocks, key=lambda block: (block.final, block.end), reverse=True):
        if block.keys == keys:
            continue  # mostly the groups are those of the block after it, which is newer
        keys = block.keys
        for group, value, _ in block.rows():
            newest.setdefault(tuple(group), _rank(value))
    return len(newest), [group for group, _ in nlargest(TOP_GROUPS, newest.items(), key=lambda one: one[1])]


def _rank(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and isfinite(value) else float("-inf")


def _points(blocks: Sequence[ResultBlock], group: GroupKey) -> list[Point]:
    points: list[Point] = []
    keys, place = None, None
    for block in blocks:
        if block.keys != keys:
            keys = block.keys
            # A group may have several count windows that end at once: the last of them counts.
            place = {tuple(key): at for at, key in enumerate(block.groups)}.get(group)
        if place is not None:
            points.append([block.end, _value(block, place), block.final])
    return points


def _value(block: ResultBlock, place: int) -> Any:
    if block.others is not None:
        return block.others[place]
    value = memoryview(block.values).cast("d")[place]
    return value if isfinite(value) else None


def _thinned(points: list[Point], slide: int) -> Message:
    """Few enough to draw: of every span its least and its greatest value, so that no peak is lost.

    `step` is how long a span is, 0 where all points are there: what lies nearer to each other is no gap.
    """
    if len(points) <= MOST_POINTS:
        return {"points": points, "of": len(points), "step": 0}
    size = -(-len(points) // (MOST_POINTS // 2))
    kept: list[Point] = []
    for low in range(0, len(points), size):
        span = points[low : low + size]
        ends = {min(span, key=_height)[0], max(span, key=_height)[0]}
        kept += [point for point in span if point[0] in ends]
    return {"points": kept, "of": len(points), "step": size * slide}


def _height(point: Point) -> float:
    return _rank(point[1])
