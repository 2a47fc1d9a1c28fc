"""What each new plan changed for the queries of its source: which joined, which left, what was edited.

A plan may hold a thousand queries, and every page that opens asks: each plan is read once and compared once.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise

from dashboard.planning.models import PlanVersion
from dashboard.sources.models import Source
from optimizer.queries import AnyQuery, Query

SLACK_MS = 60_000  # for a job that takes the plan up late
VERBS = (" changed ", " paused ", " resumed ")
PARTS: dict[str, Callable[[AnyQuery], object]] = {
    "filter": lambda query: query.where,
    "grouping": lambda query: query.group_by,
    "computation": lambda query: (query.aggregate, query.field),
    "windows": lambda query: query.window,
}


@dataclass(frozen=True)
class Change:
    """From one plan to the next, by ids of single-window queries and keys of saved queries."""

    joined: frozenset[str]
    left: frozenset[str]
    edits: Mapping[str, str]  # what changed, in words


@dataclass(frozen=True)
class Step:
    """A change, when it was made (ms) and by whom."""

    at: int
    who: str
    change: Change


def steps_of(source: Source, since: int) -> list[Step]:
    """Since then (ms), in order. A source's first plan is no step: with it, the job reads the past."""
    versions = PlanVersion.objects.filter(source=source).order_by("version")
    start = datetime.fromtimestamp(since / 1000, UTC)
    rows = versions.values_list("pk", "created_at", "cause")
    before = rows.filter(created_at__lt=start).last()
    made = [*([before] if before else []), *rows.filter(created_at__gte=start)]
    return [
        Step(int(at.timestamp() * 1000), _who(cause), _change(old, pk))
        for (old, _, _), (pk, at, cause) in pairwise(made)
    ]


def joined_at(steps: Iterable[Step], queries: Sequence[AnyQuery], lateness: int, now: int) -> dict[str, int]:
    """When each of these queries joined the plan (ms), for those that may still wait for a whole window."""
    since = warm_since(queries, lateness, now)
    joined: dict[str, int] = {}
    for step in steps:
        if step.at < since:
            continue
        for query in queries:
            if query.id in step.change.joined:
                joined[query.id] = step.at
            elif query.id in step.change.left:
                joined.pop(query.id, None)
    return joined


def warm_since(queries: Iterable[AnyQuery], lateness: int, now: int) -> int:
    """These queries have nothing to wait for if they are in a plan since then (ms)."""
    timed = (query.window for query in queries if isinstance(query, Query))
    longest = max((window.range + window.slide for window in timed), default=0)
    return now - longest - lateness - SLACK_MS


def edits_of(steps: Iterable[Step], key: str, since: int) -> tuple[tuple[int, str], ...]:
    """When (ms) and how a saved query was changed: `Ana: filter changed`."""
    return tuple(
        (step.at, f"{step.who}: {what}" if step.who else what)
        for step in steps
        if step.at >= since and (what := step.change.edits.get(key))
    )


@lru_cache(maxsize=4096)
def _change(before: int, after: int) -> Change:
    old, new = _queries(before), _queries(after)
    ids_before, ids_after = {query.id for query in old}, {query.id for query in new}
    new_by_key = _by_key(new)
    differences = {key: _difference(of, new_by_key.get(key, [])) for key, of in _by_key(old).items()}
    return Change(
        joined=frozenset(ids_after - ids_before),
        left=frozenset(ids_before - ids_after),
        edits={key: what for key, what in differences.items() if what},
    )


@lru_cache(maxsize=4)  # the next change begins where the last one ended
def _queries(version: int) -> tuple[AnyQuery, ...]:
    return PlanVersion.objects.get(pk=version).value().all_queries


def _by_key(queries: Iterable[AnyQuery]) -> dict[str, list[AnyQuery]]:
    members: dict[str, list[AnyQuery]] = defaultdict(list)
    for query in queries:
        members[query.id.partition("@")[0]].append(query)
    return members


def _difference(before: list[AnyQuery], after: list[AnyQuery]) -> str:
    """In words. A query that is new or was brought back needs none: it begins where its line does."""
    if not after:
        return "paused"
    changed = [part for part, of in PARTS.items() if set(map(of, before)) != set(map(of, after))]
    if not changed:
        return ""  # its name alone
    return f"{changed[0] if len(changed) == 1 else 'query'} changed"


def _who(cause: str) -> str:
    return next((cause.partition(verb)[0] for verb in VERBS if verb in cause), "")
