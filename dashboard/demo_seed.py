"""The demo's source, queries and dashboards: made once, and not again after somebody deleted them."""

from collections.abc import Sequence
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

WARM = [{"value": None, "colour": "ok"}, {"value": 24.0, "colour": "warn"}, {"value": 26.0, "colour": "bad"}]
CELSIUS = {"unit": "°C", "decimals": 1}


def _panel(kind: str, query: str | None, place: tuple[int, int, int, int], **more: Any) -> dict[str, Any]:
    return {"kind": kind, "query": query, **dict(zip("xywh", place, strict=True)), **more}


# “Temperature, trend” is not among them: its windows take half an hour to fill; it shows what sharing saves.
PANELS = (
    _panel("line", "Temperature, average", (0, 0, 6, 19), settings=CELSIUS),
    _panel("number", "Events", (6, 0, 3, 9)),
    _panel(
        "gauge",
        "Temperature, average",
        (6, 9, 3, 10),
        title="Temperature",
        windows=["1m every 5s"],
        settings={**CELSIUS, "least": 0.0, "greatest": 40.0},
    ),
    _panel("top", "Readings not ok by site", (9, 0, 3, 19)),
    _panel("heat", "Hottest reading by site", (0, 19, 6, 12), settings=CELSIUS),
    _panel("bar", "Readings not ok by site", (6, 19, 6, 12), settings={"stack": True}),
)

ABOUT = """## Every kind of panel
A thousand sensors in twelve plants. *Edit panel* in a panel’s menu shows how it is made.
"""
ALL_KINDS = (
    _panel("text", None, (0, 0, 3, 9), title="About", settings={"text": ABOUT}),
    _panel(
        "number",
        "Temperature, average",
        (3, 0, 3, 9),
        title="Temperature now",
        windows=["1m every 5s"],
        settings={**CELSIUS, "thresholds": WARM, "change": "5m"},
    ),
    _panel(
        "gauge",
        "Temperature, average",
        (6, 0, 3, 9),
        title="Temperature of five minutes",
        windows=["5m every 10s"],
        settings={**CELSIUS, "least": 10.0, "greatest": 30.0, "thresholds": WARM},
    ),
    _panel("top", "Hottest reading by site", (9, 0, 3, 28), settings={**CELSIUS, "groups": 12}),
    _panel("line", "Temperature, average", (0, 9, 5, 19), settings={**CELSIUS, "thresholds": WARM}),
    _panel("area", "Events", (5, 9, 4, 19), title="Events in ten seconds"),
    _panel("stacked", "Readings not ok by site", (0, 28, 6, 16)),
    _panel("heat", "Readings not ok by site", (6, 28, 6, 16), title="Where readings are not ok"),
    _panel("bar", "Hottest reading by site", (0, 44, 12, 14), settings={**CELSIUS, "groups": 4}),
)
BOARDS = {"demo": ("Demo", PANELS), "panels": ("Every kind of panel", ALL_KINDS)}


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
    for definition in QUERIES:
        SavedQuery.objects.create(source=source, owner=owner, **definition)
    by_name = {query.name: query for query in source.queries.all()}
    for slug, (name, panels) in BOARDS.items():
        board = Board.objects.create(slug=slug, name=name, owner=owner)
        Panel.objects.bulk_create(_made(board, by_name, **panel) for panel in panels)
    if owner is not None:
        first = Board.objects.get(slug=next(iter(BOARDS)))
        FirstBoard.objects.get_or_create(person=owner, defaults={"board": first})
    replan(source, "The demo was set up")


def _made(
    board: Board, queries: dict[str, SavedQuery], query: str | None, windows: Sequence[str] = (), **own: Any
) -> Panel:
    panel = Panel(**{"title": query, **own, "board": board})
    if query:
        panel.query = queries[query]
        panel.shows = [{"query": panel.query.key, "windows": windows}] if windows else []
    return panel


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
