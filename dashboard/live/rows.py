"""What a list of queries is told of each: its state, rate of results, share of the cost, and a small line."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dashboard.live import spans
from dashboard.live.batches import Batch
from dashboard.live.feed import Message, WatchedQuery
from dashboard.live.history import query_key
from dashboard.live.hub import Hub

SPAN_MS = 60_000  # that rates and shares are measured over


def rows_message(
    hub: Hub, queries: Collection[WatchedQuery], now: int, warnings: Mapping[str, str]
) -> Message:
    """`warnings` are by key, of those queries that there is one of."""
    by_source: dict[str, list[WatchedQuery]] = {}
    for query in queries:
        by_source.setdefault(query.source, []).append(query)
    rows: dict[str, Message] = {}
    for source, watched in by_source.items():
        batches = [b for b in hub.meters.source(source).batches() if b.clock > now - SPAN_MS]
        results, seconds = _results(batches), _seconds(batches)
        whole = sum(seconds.values())
        told = hub.state.source(source)
        for query in watched:
            rows[query.key] = {
                "state": "paused" if query.paused else told["state"],
                "error": told["error"],
                "paused": query.paused,
                "warning": warnings.get(query.key, ""),
                "rate": results.get(query.key, 0) / _span(batches) if batches else None,
                "share": seconds.get(query.key, 0.0) / whole if whole else None,
                **_warmth(query, batches),
                "line": _line(hub, query, now),
            }
    return {"type": "rows", "clock": now, "rows": rows}


def _span(batches: Sequence[Batch]) -> float:
    """Seconds of which these batches tell; one alone says nothing of how long it took."""
    return max(1.0, (batches[-1].clock - batches[0].clock) / 1000)


def _results(batches: Sequence[Batch]) -> dict[str, int]:
    """By key of a saved query, over all but the first batch, with which the span begins."""
    found: dict[str, int] = {}
    for batch in batches[1:] or batches:
        for query, work in batch.queries.items():
            found[query_key(query)] = found.get(query_key(query), 0) + work.results
    return found


def _seconds(batches: Sequence[Batch]) -> dict[str, float]:
    """By key: of every tree's seconds the part that its windows are of all windows it answered."""
    seconds: dict[str, float] = {}
    windows: dict[str, int] = {}
    own: dict[tuple[str, str], int] = {}  # by tree and key
    for batch in batches:
        for tree, work in batch.trees.items():
            seconds[tree] = seconds.get(tree, 0.0) + work.seconds
        for query, answered in batch.queries.items():
            windows[answered.tree] = windows.get(answered.tree, 0) + answered.windows
            place = (answered.tree, query_key(query))
            own[place] = own.get(place, 0) + answered.windows
    found: dict[str, float] = {}
    for (tree, key), count in own.items():
        part = seconds.get(tree, 0.0) * count / windows[tree]
        found[key] = found.get(key, 0.0) + part
    return found


def _warmth(query: WatchedQuery, batches: Sequence[Batch]) -> dict[str, Any]:
    """When its last window will have a first result (ms), and how much of the past is read back for it."""
    if not batches:
        return {"due": None, "recalled": None}
    newest = batches[-1]
    ends = [end for id_, end in newest.waiting.items() if query_key(id_) == query.key]
    reads = any(query_key(id_) == query.key for id_ in newest.recalled_for)
    return {
        "due": max(ends) + query.lateness if ends else None,
        "recalled": newest.recalled if reads else None,
    }


def _line(hub: Hub, query: WatchedQuery, now: int) -> list[float | None]:
    """The first window's newest value in every 15 s; where there are groups, of the greatest."""
    history = hub.history.windows.get(query.windows[0].id)
    if history is None:
        return []
    group = next(iter(history.top(1)), None) if query.group_by else ()
    if group is None:
        return []
    points = [(p.end, p.value) for p in history.points(group) if p.final and p.value is not None]
    return _bridged(spans.newest(points, now), query.windows[0].slide)


def _bridged(line: list[float | None], slide: int) -> list[float | None]:
    """A window that answers less often than the line has values holds until its next answer."""
    held, age = None, 0
    found: list[float | None] = []
    for value in line:
        held, age = (value, 0) if value is not None else (held, age + spans.STEP_MS)
        found.append(held if age < slide else None)
    return found
