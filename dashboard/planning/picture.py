"""The plan as a picture: sources, their slice sequences, trees and queries, as wide as what they cost.

The browser draws it (static/js/live/flow.js). Here it is decided what is told apart: the costliest trees by
themselves and the rest of a source together; queries by name, or by owner where there are many.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from django.urls import reverse

from dashboard.accounts.people import first_name
from dashboard.live.history import query_key
from dashboard.planning.changes import window_length
from dashboard.planning.overview import SourcePlan, TreeRow
from dashboard.queries.models import SavedQuery
from optimizer.cost import answer_rate
from optimizer.queries import AnyQuery, Query

MANY_QUERIES = 60  # from here on the last column is by owner
MOST_TREES = 16  # of all sources, told apart


def picture(plans: Sequence[SourcePlan], selected: tuple[str, str]) -> dict[str, Any]:
    """Of sources that its viewer may see, and thereby their queries and whose they are.

    `selected` is a source's key and the id of one of its trees, which is always told apart.
    """
    owners = _owners(plans)
    many = sum(len(plan.plan.all_queries) for plan in plans) > MANY_QUERIES
    apart = _apart(plans, selected)
    return {
        "measured": all(plan.measures for plan in plans),
        "nodes": max((len(plan.plan.nodes) for plan in plans), default=1),
        "sources": [
            {
                "key": plan.source.key,
                "name": plan.source.topic,
                "rate": plan.statistics.rate if plan.is_measured else None,
                "results": _results(plan),
                "trees": _bands(plan, apart, owners if many else None),
            }
            for plan in plans
        ],
        "byOwner": many,
    }


def _owners(plans: Sequence[SourcePlan]) -> dict[str, str]:
    """By key of a saved query."""
    sources = [plan.source for plan in plans]
    saved = SavedQuery.with_deleted.filter(source__in=sources).select_related("owner")
    return {query.key: first_name(query.owner) for query in saved}


def _apart(plans: Sequence[SourcePlan], selected: tuple[str, str]) -> set[tuple[str, str]]:
    all_trees = [
        (plan.cost_of(row.tree.id), (plan.source.key, row.tree.id)) for plan in plans for row in plan.rows
    ]
    if len(all_trees) <= MOST_TREES:
        return {place for _, place in all_trees}
    costliest = sorted(all_trees, reverse=True)[: MOST_TREES - 1]
    return {place for _, place in costliest} | {selected}


def _bands(
    plan: SourcePlan, apart: set[tuple[str, str]], owners: dict[str, str] | None
) -> list[dict[str, Any]]:
    key = plan.source.key
    own = [row for row in plan.rows if (key, row.tree.id) in apart]
    rest = [row for row in plan.rows if (key, row.tree.id) not in apart]
    bands = [
        _band(plan, row, owners) for row in sorted(own, key=lambda row: (row.tree.node, int(row.tree.id)))
    ]
    return [*bands, _rest(plan, rest, owners)] if rest else bands


def _band(plan: SourcePlan, row: TreeRow, owners: dict[str, str] | None) -> dict[str, Any]:
    tree = row.tree
    return {
        "id": tree.id,
        "label": f"Tree {tree.id}",
        "kernel": row.kernel or ("windows of groups" if not row.has_slices else "feeds other trees"),
        "edges": row.edge_rate * 60 if row.has_slices else None,
        "node": tree.node + 1,
        "cost": plan.cost_of(tree.id),
        "queries": _named(tree.queries, owners),
        "count": len(tree.queries),
        "address": f"{reverse('plan')}?source={plan.source.key}&tree={tree.id}",
        "fedBy": getattr(tree, "fed_by", None),
    }


def _rest(plan: SourcePlan, rows: Sequence[TreeRow], owners: dict[str, str] | None) -> dict[str, Any]:
    queries = [query for row in rows for query in row.tree.queries]
    return {
        "id": None,
        "label": f"{len(rows)} more trees",
        "kernel": "",
        "edges": sum(row.edge_rate for row in rows) * 60,
        "node": None,
        "cost": sum(plan.cost_of(row.tree.id) for row in rows),
        "queries": _named(queries, owners),
        "count": len(queries),
        "trees": len(rows),
        "address": None,
        "fedBy": None,
    }


def _named(queries: Iterable[AnyQuery], owners: dict[str, str] | None) -> list[dict[str, Any]]:
    """Each saved query once with its windows, or each owner once; those with most windows first."""
    if owners is not None:
        counted = Counter(owners.get(query_key(query.id), "") for query in queries)
        return [
            {"label": f"{name}, {count} window{'' if count == 1 else 's'}", "count": count}
            for name, count in counted.most_common()
        ]
    families: dict[str, list[AnyQuery]] = {}
    for query in queries:
        families.setdefault(query_key(query.id), []).append(query)
    found = [
        {"label": f"{family[0].name}, {' '.join(_lengths(family))}", "count": len(family)}
        for family in families.values()
    ]
    return sorted(found, key=lambda one: -int(str(one["count"])))


def _lengths(family: Sequence[AnyQuery]) -> list[str]:
    return list(dict.fromkeys(window_length(query) for query in family))


def _results(plan: SourcePlan) -> float | None:
    """A second: measured, else as many as windows of time end."""
    if plan.measures:
        return sum(measure.results for measure in plan.measures.values())
    return sum(answer_rate([query.window]) for query in plan.plan.all_queries if isinstance(query, Query))
