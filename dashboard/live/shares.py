"""The share of each query in what all queries take: measured over a minute, and together the whole."""

from collections.abc import Mapping, Sequence

from dashboard.live.batches import Batch
from dashboard.live.history import query_key

SPAN_MS = 60_000  # that rates and shares are measured over


def of_late(batches: Sequence[Batch], now: int) -> list[Batch]:
    return [batch for batch in batches if batch.clock > now - SPAN_MS]


def measured_shares(sources: Mapping[str, Sequence[Batch]]) -> dict[str, float]:
    """By key of a saved query; `sources` are the batches of late of all that share the cores.

    What is not told apart, such as reading events, is split among a source's queries as their answers are.
    """
    shares: dict[str, float] = {}
    for batches in sources.values():
        seconds = _answer_seconds(batches)
        answers, busy = sum(seconds.values()), sum(batch.busy_seconds for batch in batches)
        for key, own in seconds.items():
            shares[key] = shares.get(key, 0.0) + (own / answers * busy if answers else 0.0)
    whole = sum(shares.values())
    return {key: share / whole for key, share in shares.items()} if whole else {}


def _answer_seconds(batches: Sequence[Batch]) -> dict[str, float]:
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
        part = seconds.get(tree, 0.0) * count / windows[tree] if windows[tree] else 0.0
        found[key] = found.get(key, 0.0) + part
    return found
