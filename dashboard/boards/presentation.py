"""Panels and dashboards in words, for pages."""

import json
from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from dashboard.boards.kinds import KINDS
from dashboard.boards.models import Panel
from dashboard.boards.sight import Sight
from dashboard.queries.aggregate_words import approximate
from dashboard.queries.models import SavedQuery


def panel_view(panel: Panel, sight: Sight) -> dict[str, Any]:
    """What the template of a panel needs; of queries that its viewer may not see, nothing but that."""
    shown = {query.key: query for query in sight.shown(panel)}
    hidden = sight.hidden(panel)
    words = _words(panel, list(shown.values()))
    if shown and hidden:
        words += f" · {len(hidden)} more that you may not see"
    return {
        "panel": panel,
        "query": next(iter(shown.values()), None),
        "queries": list(shown.values()),
        "unseen": sight.unseen(panel),
        "unseen_query": hidden[0] if hidden else None,
        "words": words,
        "approximate": _approximate(panel, shown),
        "told": json.dumps(told(panel, shown)),
    }


def told(panel: Panel, queries: Mapping[str, SavedQuery]) -> dict[str, Any]:
    """What the browser has to know to draw it. A kind with one axis does not heed which one was chosen."""
    kind = KINDS.get(panel.kind)
    ignored = {"axis"} if kind and "axis" not in kind.settings else set()
    named = [
        {name: value for name, value in shown.items() if name not in ignored}
        | {"name": queries[shown["query"]].name}
        for shown in panel.shown
        if shown["query"] in queries
    ]
    return {"kind": panel.kind, "shows": [] if kind and not kind.is_query else named, **panel.settings}


def _words(panel: Panel, queries: list[SavedQuery]) -> str:
    """What the panel shows, in short, beside its title."""
    if not queries:
        return ""
    sources = ", ".join(dict.fromkeys(query.source.name for query in queries))
    if len(queries) > 1:
        return f"{len(queries)} queries · {sources}"
    (query,) = queries
    shown = next(one for one in panel.shown if one["query"] == query.key)
    groups = f" by {', '.join(query.group_by)}" if query.group_by else ""
    windows = "".join(f", {window}" for window in shown.get("windows", []))
    return f"{shown.get('computation') or query.computes}{groups}{windows} · {sources}"


def _approximate(panel: Panel, queries: Mapping[str, SavedQuery]) -> str:
    """How far off what it shows may be; empty where that is exact."""
    computed = [
        one
        for shown in panel.shown
        if shown["query"] in queries
        for one in queries[shown["query"]].spec().computations
        if shown.get("computation") in (None, "", one.words)
    ]
    return approximate(dict.fromkeys(computed))


def choices(queries: QuerySet[SavedQuery]) -> dict[str, dict[str, Any]]:
    """What the editor offers of each query: its windows and what it computes."""
    found = {}
    for query in queries.select_related("source"):
        spec = query.spec()
        found[query.key] = {
            "name": f"{query.name} · {query.source.name}",
            "windows": [window.words for window in spec.windows],
            "computations": [one.words for one in spec.computations],
        }
    return found
