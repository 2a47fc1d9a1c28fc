"""Dashboards to begin with: what each template makes of the queries that are there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.boards.kinds import KINDS
from dashboard.models import Panel, SavedQuery

MOST_PANELS = 24


@dataclass(frozen=True)
class Template:
    key: str
    label: str
    note: str
    icon: str
    fill: Callable[[Sequence[SavedQuery]], list[Panel]]


def panel_of(query: SavedQuery, kind: str, title: str = "", **settings: Any) -> Panel:
    """A new panel of the kind's own size; not saved."""
    size = KINDS[kind]
    return Panel(
        query=query, title=title or query.name, kind=kind, w=size.width, h=size.height, settings=settings
    )


def of_one_query(query: SavedQuery) -> list[Panel]:
    """A query from all sides: its course, its newest values, and its groups where it has some."""
    if query.group_by:
        top, line = panel_of(query, "top"), panel_of(query, "line")
        line.w = 9
        return [line, top, panel_of(query, "heat"), panel_of(query, "bar", stack=True)]
    windows = [window.words for window in query.spec().windows]
    line, *numbers = [panel_of(query, "line"), *(_number(query, window) for window in windows[:4])]
    return [line, *numbers, panel_of(query, "bar")]


def _number(query: SavedQuery, window: str) -> Panel:
    panel = panel_of(query, "number", f"{query.name}, {window}"[:120])
    panel.shows = [{"query": query.key, "windows": [window]}]
    return panel


def _overview(queries: Sequence[SavedQuery]) -> list[Panel]:
    plain = [query for query in queries if not query.group_by]
    numbers = [panel_of(query, "number") for query in plain[:4]]
    return [*numbers, *(panel_of(query, "line") for query in queries)]


def _groups(queries: Sequence[SavedQuery]) -> list[Panel]:
    grouped = [query for query in queries if query.group_by]
    return [panel for query in grouped for panel in (panel_of(query, "top"), panel_of(query, "heat"))]


def _wall(queries: Sequence[SavedQuery]) -> list[Panel]:
    panels = [panel_of(query, "top" if query.group_by else "number") for query in queries]
    for panel in panels:
        panel.w, panel.h = 4, 12 if panel.kind == "number" else 19
    return panels


_ALL = (
    Template("", "Empty", "Add panels one by one.", "layout-grid-add", lambda queries: []),
    Template("overview", "Overview", "A number and a line for every query.", "layout-dashboard", _overview),
    Template(
        "groups", "Groups", "A top list and a heat map for every query by groups.", "list-numbers", _groups
    ),
    Template("wall", "Wall screen", "Large numbers that can be read from afar.", "device-tv", _wall),
)


TEMPLATES = {template.key: template for template in _ALL}


def filled(key: str, queries: Sequence[SavedQuery]) -> list[Panel]:
    return TEMPLATES[key].fill(queries)[:MOST_PANELS]
