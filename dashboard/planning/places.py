"""In which trees of which plans a query was of late: the meters tell by plan and tree."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache

from dashboard.live.spans import KEPT_MS
from dashboard.live.warnings import Place, Places
from dashboard.planning.models import PlanVersion
from dashboard.planning.steps import PARTS, SLACK_MS
from dashboard.queries.models import SavedQuery
from optimizer.queries import AnyQuery

MOST_PLANS = 32  # of a source: while queries are imported, each makes a plan

Definition = tuple[object, ...]
Trees = Mapping[str, tuple[Definition, str]]  # by id of a single-window query, what it is and in which tree


def places_of(queries: Iterable[SavedQuery], now: int) -> dict[str, Places]:
    """By key, where each was in the last quarter of an hour as it is defined now.

    What an earlier definition left out is over: who mends an expression need not wait to see it.
    """
    by_source: dict[int, list[SavedQuery]] = defaultdict(list)
    for query in queries:
        by_source[query.source_id].append(query)
    return {
        query.key: frozenset(_places(query, plans))
        for source, own in by_source.items()
        for plans in [_plans(source, now - KEPT_MS - SLACK_MS)]
        for query in own
    }


def _places(saved: SavedQuery, plans: list[tuple[int, Trees]]) -> Iterator[Place]:
    defined = {query.id: _definition(query) for query in saved.queries()}
    for version, trees in plans:
        for query, definition in defined.items():
            known, tree = trees.get(query, (None, ""))
            if known == definition:
                yield version, tree


def _plans(source: int, since: int) -> list[tuple[int, Trees]]:
    """Those made since then (ms) and the one that was there, the newest first."""
    start = datetime.fromtimestamp(since / 1000, UTC)
    versions = PlanVersion.objects.filter(source=source).order_by("-version")
    plans = []
    for pk, version, made_at in versions.values_list("pk", "version", "created_at")[:MOST_PLANS]:
        plans.append((version, _trees(pk)))
        if made_at < start:
            break
    return plans


@lru_cache(maxsize=2 * MOST_PLANS)
def _trees(plan: int) -> Trees:
    trees = PlanVersion.objects.get(pk=plan).value().all_trees
    return {query.id: (_definition(query), tree.id) for tree in trees for query in tree.queries}


def _definition(query: AnyQuery) -> Definition:
    """All but its name."""
    return tuple(of(query) for of in PARTS.values())
