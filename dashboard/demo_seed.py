"""The demo's source, queries and dashboard: made once, and not again after somebody deleted them."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.db.migrations.recorder import MigrationRecorder

from dashboard.connections.keys import free_key
from dashboard.models import Board, Connection, FirstBoard, Panel, SavedQuery, Source
from dashboard.planning.service import replan
from streaming import demo

SOURCE_KEY = "demo-sensors"
SCHEMA = [
    ["device", "text"],
    ["site", "text"],
    ["ts", "integer"],
    ["temp", "number"],
    ["humidity", "number"],
    ["status", "text"],
]


def _window(size: str, slide: str) -> dict[str, str]:
    return {"range": size, "slide": slide}


def _of(aggregate: str, field: str | None = None) -> dict[str, str | None]:
    return {"aggregate": aggregate, "field": field}


QUERIES = (
    {
        "name": "Temperature, average",
        "computations": [_of("mean", "temp")],
        "windows": [_window("10s", "1s"), _window("1m", "5s"), _window("5m", "10s")],
    },
    {
        "name": "Temperature, trend",
        "computations": [_of("mean", "temp")],
        "windows": [_window("15m", "30s"), _window("30m", "1m")],
    },
    {
        "name": "Hottest reading by site",
        "computations": [_of("max", "temp")],
        "windows": [_window("1m", "5s")],
        "group_by": ["site"],
    },
    {"name": "Events", "computations": [_of("count")], "windows": [_window("10s", "1s")]},
    {
        "name": "Readings not ok by site",
        "computations": [_of("count")],
        "windows": [_window("1m", "5s")],
        "group_by": ["site"],
        "where": "status <> 'ok'",
    },
)

# “Temperature, trend” is not among them: its windows take half an hour to fill; it shows what sharing saves.
PANELS: tuple[dict[str, Any], ...] = (
    {"query": "Temperature, average", "kind": "line", "x": 0, "y": 0, "w": 6, "h": 19},
    {"query": "Events", "kind": "number", "x": 6, "y": 0, "w": 3, "h": 9},
    {
        "query": "Temperature, average",
        "title": "Temperature",
        "kind": "gauge",
        "windows": ["1m every 5s"],
        "settings": {"least": 0.0, "greatest": 40.0},
        "x": 6,
        "y": 9,
        "w": 3,
        "h": 10,
    },
    {"query": "Readings not ok by site", "kind": "top", "x": 9, "y": 0, "w": 3, "h": 19},
    {"query": "Hottest reading by site", "kind": "heat", "x": 0, "y": 19, "w": 6, "h": 12},
    {
        "query": "Readings not ok by site",
        "kind": "bar",
        "settings": {"stack": True},
        "x": 6,
        "y": 19,
        "w": 6,
        "h": 12,
    },
)


def seed(bootstrap_servers: str) -> bool:
    """Make the demo's rows if this database never had them; whether it did."""
    source = Source.objects.filter(key=SOURCE_KEY).first()
    if source is not None:
        _follow_broker(source, bootstrap_servers)
        return False
    marker = Path(settings.VAR_DIR) / "demo-seeded"
    identity = _database_identity()
    if marker.exists() and marker.read_text() == identity:
        return False  # it was here and somebody deleted it
    with transaction.atomic():
        _create(bootstrap_servers)
    marker.write_text(identity)
    return True


def _create(bootstrap_servers: str) -> None:
    owner = get_user_model().objects.filter(is_superuser=True).order_by("pk").first()
    source = Source.objects.create(
        key=SOURCE_KEY,
        name=demo.TOPIC,
        connection=_connection(bootstrap_servers, owner),
        topic=demo.TOPIC,
        schema=SCHEMA,
        event_time="ts",
        time_unit="ms",
        allowed_lateness=demo.LATENESS_MS,
        created_by=owner,
    )
    board = Board.objects.create(slug="demo", name="Demo", owner=owner)
    queries = [SavedQuery.objects.create(source=source, owner=owner, **definition) for definition in QUERIES]
    by_name = {query.name: query for query in queries}
    for panel in PANELS:
        query = by_name[panel["query"]]
        windows = panel.get("windows")
        shows = [{"query": query.key, "windows": windows}] if windows else []
        own = {name: value for name, value in panel.items() if name != "windows"}
        Panel.objects.create(**{"board": board, "title": query.name, **own, "query": query, "shows": shows})
    if owner is not None:
        FirstBoard.objects.get_or_create(person=owner, defaults={"board": board})
    replan(source, "The demo was set up")


def _connection(bootstrap_servers: str, owner: User | None) -> Connection:
    """The plain one to this address, if there is none yet a new one."""
    known = Connection.objects.filter(bootstrap_servers=bootstrap_servers, protocol="PLAINTEXT").first()
    return known or Connection.objects.create(
        key=free_key(Connection, bootstrap_servers),
        name=bootstrap_servers[:80],
        bootstrap_servers=bootstrap_servers,
        created_by=owner,
    )


def _follow_broker(source: Source, bootstrap_servers: str) -> None:
    """The demo runs wherever Millrace's own broker does, also after that moved to another port."""
    if source.bootstrap_servers != bootstrap_servers:
        source.connection = _connection(bootstrap_servers, source.created_by)
        source.save(update_fields=["connection"])
        replan(source, f"The demo moved to {bootstrap_servers}")


def _database_identity() -> str:
    """When the database was made: a marker left by one that was thrown away does not count."""
    first = MigrationRecorder.Migration.objects.order_by("id").first()
    return first.applied.isoformat() if first else ""
