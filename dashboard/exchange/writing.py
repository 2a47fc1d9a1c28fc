"""`export`: everything that people defined, as YAML, without secrets. What `import` reads back."""

from typing import Any

import yaml

from dashboard.alerts.forms import as_typed as alert_as_typed
from dashboard.api.board_shapes import panel_shape
from dashboard.api.shapes import connection_shape, query_shape, source_shape
from dashboard.boards.sight import queries_of
from dashboard.models import Alert, Board, Connection, SavedQuery, Source
from dashboard.past.known import days_kept

VERSION = 1
HEADER = "# Written by `./millrace export`, without passwords and keys; `./millrace import` reads it.\n"


def exported() -> str:
    """The same text for the same things: in the order of their keys, which never change."""
    content = {
        "millrace": VERSION,
        "connections": [connection_entry(one) for one in Connection.objects.order_by("key")],
        "sources": [source_entry(one) for one in Source.objects.order_by("key")],
        "queries": [query_entry(one) for one in SavedQuery.objects.order_by("key")],
        "dashboards": [board_entry(one) for one in Board.objects.order_by("slug")],
        "alerts": [alert_entry(one) for one in Alert.objects.order_by("key")],
    }
    return HEADER + yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def connection_entry(connection: Connection) -> dict[str, Any]:
    return _entry(connection.key, connection_shape(connection), connection.created_by)


def source_entry(source: Source) -> dict[str, Any]:
    return _entry(source.key, source_shape(source), source.created_by)


def query_entry(query: SavedQuery) -> dict[str, Any]:
    detail_days, kept_days = days_kept(query)
    shape = query_shape(query) | {
        "paused": query.paused_at is not None,
        "detail_days": detail_days,
        "kept_days": kept_days,
    }
    return _entry(query.key, shape, query.owner)


def board_entry(board: Board) -> dict[str, Any]:
    found = list(board.panels.select_related("query"))
    queries = queries_of(found)  # those that were deleted could not be taken over
    panels = [panel_shape(panel, queries) for panel in found]
    return _entry(board.slug, {"name": board.name, "tags": board.tags, "panels": panels}, board.owner)


def alert_entry(alert: Alert) -> dict[str, Any]:
    shape = {"query": alert.query.key, **alert_as_typed(alert), "paused": alert.paused_at is not None}
    return _entry(alert.key, shape, alert.owner)


def _entry(key: str, shape: dict[str, Any], owner: Any) -> dict[str, Any]:
    return {"key": key, **shape, "owner": owner.username if owner else None}


class _Dumper(yaml.SafeDumper):
    """Texts of several lines stay lines, so that a change in them shows as one."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)
