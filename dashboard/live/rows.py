"""What a list of queries is told of each: its state, rate of results, share of the cost, and a small line."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dashboard.live import spans
from dashboard.live.batches import Batch
from dashboard.live.feed import Message, WatchedQuery
from dashboard.live.history import query_key
from dashboard.live.hub import Hub
from dashboard.live.shares import measured_shares, of_late


def rows_message(
    hub: Hub, queries: Collection[WatchedQuery], now: int, warnings: Mapping[str, str]
) -> Message:
    """`warnings` are by key, of those queries that there is one of."""
    by_source: dict[str, list[WatchedQuery]] = {}
    for query in queries:
        by_source.setdefault(query.source, []).append(query)
    rows: dict[str, Message] = {}
    recent = {key: of_late(meters.batches(), now) for key, meters in hub.meters.all_sources().items()}
    shares = measured_shares(recent)
    for source, watched in by_source.items():
        batches = recent.get(source, [])
        results = _results(batches)
        told = hub.state.source(source)
        for query in watched:
            rows[query.key] = {
                "state": "paused" if query.paused else told["state"],
                "error": told["error"],
                "paused": query.paused,
                "warning": warnings.get(query.key, ""),
                "rate": results.get(query.key, 0) / _span(batches) if batches else None,
                "share": shares.get(query.key, 0.0) if shares else None,
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
