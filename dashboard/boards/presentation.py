"""Panels and dashboards in words, for pages."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from dashboard.boards.kinds import KINDS
from dashboard.boards.models import Panel
from dashboard.queries.models import SavedQuery


def queries_of(panels: Iterable[Panel]) -> dict[str, SavedQuery]:
    """By key, all queries that the panels show and that exist."""
    keys = {shown["query"] for panel in panels for shown in panel.shown}
    return {query.key: query for query in SavedQuery.objects.select_related("source").filter(key__in=keys)}


def panel_view(panel: Panel, queries: Mapping[str, SavedQuery]) -> dict[str, Any]:
    """What the template of a panel needs."""
    found = [queries[shown["query"]] for shown in panel.shown if shown["query"] in queries]
    return {"panel": panel, "words": _words(panel, found), "told": json.dumps(told(panel, queries))}


def told(panel: Panel, queries: Mapping[str, SavedQuery]) -> dict[str, Any]:
    """What the browser has to know to draw it."""
    is_query = panel.kind not in KINDS or KINDS[panel.kind].is_query
    named = [
        {**shown, "name": queries[shown["query"]].name} for shown in panel.shown if shown["query"] in queries
    ]
    return {"kind": panel.kind, "shows": named if is_query else [], **panel.settings}


def _words(panel: Panel, queries: list[SavedQuery]) -> str:
    """What the panel shows, in short, beside its title."""
    if not queries:
        return ""
    sources = ", ".join(dict.fromkeys(query.source.name for query in queries))
    if len(queries) > 1:
        return f"{len(queries)} queries · {sources}"
    (query,) = queries
    shown = panel.shown[0]
    groups = f" by {', '.join(query.group_by)}" if query.group_by else ""
    windows = "".join(f", {window}" for window in shown.get("windows", []))
    return f"{shown.get('computation') or query.computes}{groups}{windows} · {sources}"


def choices() -> dict[str, dict[str, Any]]:
    """What the editor offers of each query: its windows and what it computes."""
    found = {}
    for query in SavedQuery.objects.select_related("source"):
        spec = query.spec()
        found[query.key] = {
            "name": f"{query.name} · {query.source.name}",
            "windows": [window.words for window in spec.windows],
            "computations": [one.words for one in spec.computations],
        }
    return found
