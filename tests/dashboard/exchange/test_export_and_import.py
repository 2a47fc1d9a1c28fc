"""What `export` writes `import` reads back, on a real database; a second time it changes nothing."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from dashboard import demo_seed
from dashboard.bin.actions import delete
from dashboard.models import Connection, PlanVersion, SavedQuery, Source
from dashboard.planning import service, wire
from dashboard.platform.problems import Problem
from streaming.security import Security, seal, unseal
from tests.dashboard.places import connection_to

SECRET = "heron-at-the-weir-8"
Edit = Callable[[dict[str, Any]], None]


@pytest.fixture(autouse=True)
def no_kafka(settings: LazySettings) -> None:
    settings.KAFKA_BOOTSTRAP = "127.0.0.1:1"
    wire._forget_producer()


@pytest.fixture
def everything(hot: SavedQuery, ana: User, bo: User) -> SavedQuery:
    """A guarded connection, two sources, three queries of all kinds of windows, one of them paused."""
    how = Security("SASL_PLAINTEXT", "PLAIN", username="ana", sealed_password=seal(SECRET))
    guarded = connection_to("kafka:9092", how, name="Guarded", created_by=ana)
    web = Source.objects.create(
        key="web",
        name="web.requests",
        connection=guarded,
        topic="web.requests",
        schema=[["at", "text"], ["user.name", "text"], ["ms", "number"]],
        event_time="at",
        time_unit="pattern",
        time_pattern="%d/%m/%Y %H:%M:%S",
        time_zone="Europe/Vienna",
        future_bound=None,
        past_bound=86_400_000,
        isolation="read_uncommitted",
        created_by=bo,
    )
    SavedQuery.objects.create(
        source=web,
        name="Slow: “p95” by user",
        computations=[{"aggregate": "count", "field": None}, {"aggregate": "max", "field": "ms * 2"}],
        windows=[
            {"range": "1h", "slide": "1h", "offset": "15m"},
            {"count": 100, "every": 10},
            {"gap": "30s"},
        ],
        where="ms > 1.5\n  AND ms < 1e6",
        tags=["web", "no"],
        paused_at=timezone.now(),
        paused_by=bo,
    )
    SavedQuery.objects.create(
        source=web,
        name="All",
        computations=[{"aggregate": "count", "field": None}],
        windows=[{"range": "1m", "slide": "1m"}],
        owner=bo,
    )
    return hot


def export(path: Path) -> dict[str, Any]:
    call_command("export", out=path)
    content: dict[str, Any] = yaml.safe_load(path.read_text())
    return content


def taken(path: Path, **options: Any) -> list[str]:
    out = StringIO()
    call_command("import", str(path), stdout=out, **options)
    return out.getvalue().splitlines()


def edited(path: Path, edit: Edit) -> Path:
    content = yaml.safe_load(path.read_text())
    edit(content)
    path.write_text(yaml.safe_dump(content, allow_unicode=True))
    return path


def one(content: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    return next(entry for entry in content[kind] if entry["name"] == name)


AS_IT_WAS = ["2 connections as they were.", "2 sources as they were.", "3 queries as they were."]


def test_an_empty_millrace_takes_over_all_of_another(everything: SavedQuery, tmp_path: Path) -> None:
    file = tmp_path / "millrace.yaml"
    before = export(file)
    specs = {query.key: query.spec() for query in SavedQuery.objects.all()}
    sources = {source.key: source.spec() for source in Source.objects.all()}
    assert SECRET not in file.read_text()
    assert Connection.objects.get(name="Guarded").sealed_password not in file.read_text()
    SavedQuery.with_deleted.all().delete()
    Source.objects.all().delete()
    Connection.objects.all().delete()
    assert taken(file) == [
        "2 connections added.",
        "2 sources added.",
        "3 queries added.",
        "“Guarded” has no password here: type it on the page of the connection.",
    ]
    assert export(tmp_path / "again.yaml") == before
    assert {query.key: query.spec() for query in SavedQuery.objects.all()} == specs
    for source in Source.objects.all():
        assert source.spec().schema == sources[source.key].schema
        assert source.spec().time_pattern == sources[source.key].time_pattern
    planned = {
        query.id for source in Source.objects.all() for query in service.newest(source).value().all_queries
    }
    assert planned == {
        query.id for row in SavedQuery.objects.filter(paused_at=None) for query in row.queries()
    }
    assert taken(file) == AS_IT_WAS


def test_importing_what_was_exported_changes_nothing(everything: SavedQuery, tmp_path: Path) -> None:
    file = tmp_path / "millrace.yaml"
    export(file)
    assert taken(file) == AS_IT_WAS
    assert not PlanVersion.objects.exists()
    assert unseal(Connection.objects.get(name="Guarded").sealed_password) == SECRET


def test_an_edit_changes_just_what_it_says(everything: SavedQuery, tmp_path: Path) -> None:
    file = tmp_path / "millrace.yaml"
    export(file)

    def edit(content: dict[str, Any]) -> None:
        one(content, "queries", "Hot devices")["windows"] = "1m, 5m, 1h every 10s"
        new = {**one(content, "queries", "Hot devices"), "key": "colder", "name": "Cold devices"}
        content["queries"].append(new)

    edited(file, edit)
    would = [
        "2 connections as they were.",
        "2 sources as they were.",
        "1 query changed, 1 added, 2 as they were.",
    ]
    assert taken(file, dry_run=True) == [*would, "Only looked: nothing was changed."]
    assert SavedQuery.objects.count() == 3
    assert not PlanVersion.objects.exists()
    assert taken(file) == would
    everything.refresh_from_db()
    assert everything.windows[-1] == {"range": "1h", "slide": "10s"}
    assert SavedQuery.objects.get(key="colder").name == "Cold devices"
    plan = PlanVersion.objects.get()
    assert (plan.source.key, plan.cause) == ("sensors", "Import of 2 queries")
    assert taken(file) == [*would[:2], "4 queries as they were."]


def test_a_changed_connection_keeps_its_password_and_tells_its_sources(
    everything: SavedQuery, tmp_path: Path
) -> None:
    file = tmp_path / "millrace.yaml"
    web = Source.objects.get(key="web")
    service.replan(web, "first")
    export(file)

    def edit(content: dict[str, Any]) -> None:
        one(content, "connections", "Guarded")["username"] = "bo"

    assert taken(edited(file, edit))[0] == "1 connection changed, 1 as it was."
    guarded = Connection.objects.get(name="Guarded")
    assert (guarded.username, unseal(guarded.sealed_password)) == ("bo", SECRET)
    assert service.newest(web).cause == "Import changed the settings of web.requests"


def test_pausing_and_deleting_are_undone_by_a_file(everything: SavedQuery, tmp_path: Path) -> None:
    file = tmp_path / "millrace.yaml"
    export(file)
    SavedQuery.objects.filter(key=everything.key).update(deleted_at=timezone.now())
    SavedQuery.objects.filter(name="All").update(paused_at=timezone.now())
    assert taken(file)[2] == "1 query changed, 1 added, 1 as it was."
    assert SavedQuery.objects.get(name="All").paused_at is None
    assert SavedQuery.objects.filter(key=everything.key).exists()


def test_what_is_in_the_bin_is_not_exported_and_is_restored_by_a_file(
    everything: SavedQuery, tmp_path: Path
) -> None:
    file = tmp_path / "millrace.yaml"
    export(file)
    content = file.read_text()
    delete([Source.objects.get(key="web")], None)
    delete([Connection.objects.get(name="Guarded")], None)
    export(tmp_path / "less.yaml")
    assert "Guarded" not in (tmp_path / "less.yaml").read_text()
    file.write_text(content)
    taken(file)
    assert Connection.objects.filter(name="Guarded").exists()
    assert Source.objects.filter(key="web").exists()
    assert SavedQuery.objects.filter(name="All").exists()


def test_who_is_not_known_here_is_named(everything: SavedQuery, tmp_path: Path) -> None:
    file = tmp_path / "millrace.yaml"
    export(file)

    def edit(content: dict[str, Any]) -> None:
        one(content, "queries", "All")["owner"] = "zoe"

    note = "There is no user “zoe” here: what is theirs can be changed by administrators alone."
    for _ in range(2):
        assert note in taken(edited(file, edit))
    assert SavedQuery.objects.get(name="All").owner.username == "bo"


@pytest.mark.parametrize(
    ("kind", "name", "change", "sentence"),
    [
        (
            "queries",
            "All",
            {"where": "mss > 1"},
            "query “All”, where: No field “mss” in web.requests (character 1).",
        ),
        ("queries", "All", {"windows": "soon"}, "query “All”, windows: “soon” is not a duration"),
        ("queries", "All", {"group_by": "ms"}, "query “All”, group_by: “group_by” must be a list."),
        ("queries", "All", {"colour": 1}, "query “All”, colour: There is no “colour” here."),
        ("queries", "All", {"source": "sensors"}, "query “All”, source: A query stays with its source"),
        ("queries", "All", {"key": "no key"}, "query “All”, key: “key”: "),
        ("sources", "sensors", {"topic": "other"}, "source “sensors”, topic: A source keeps its topic"),
        (
            "sources",
            "sensors",
            {"registry": "http://registry:8081"},
            "source “sensors”, registry: “sensors” is read as JSON: it has no schema registry.",
        ),
        ("sources", "sensors", {"name": "web.requests"}, "There is a source “web.requests” already"),
        (
            "connections",
            "Guarded",
            {"bootstrap_servers": "evil:1"},
            "The servers changed: type the password again",
        ),
        (
            "connections",
            "Guarded",
            {"password": "x"},
            "connection “Guarded”, password: There is no “password” here.",
        ),
    ],
)
def test_a_mistake_is_named_and_nothing_is_changed(
    everything: SavedQuery, tmp_path: Path, kind: str, name: str, change: dict[str, Any], sentence: str
) -> None:
    file = tmp_path / "millrace.yaml"
    before = export(file)

    def edit(content: dict[str, Any]) -> None:
        one(content, "queries", "Hot devices")["name"] = "Renamed"
        one(content, kind, name).update(change)

    with pytest.raises(Problem) as refused:
        taken(edited(file, edit))
    assert sentence in str(refused.value)
    assert str(refused.value).endswith("\nNothing was changed.")
    assert export(tmp_path / "after.yaml") == before


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [", "This is not YAML"),
        ("- 1", "This is no file of `./millrace export`"),
        ("millrace: 2", "This is no file of `./millrace export`"),
        ("a: 1\nb: [", "This is not YAML: expected the node content, but found '<stream end>' (line 2)."),
        ("a: 1\nb: \x07", "This is not YAML: special characters are not allowed (line 2)."),
        ("a: 2026-13-45", "This is not YAML that can be read: month must be in 1..12."),
        ("[" * 5_000, "This is not YAML that can be read"),
        ("", "This is no file of `./millrace export`"),
        ("millrace: 1\nboards: []", "Line 2: There is no “boards”"),
        ("millrace: 1\n\nqueries: 5", "Line 3: “queries” must be a list of objects."),
        ("millrace: 1\nqueries:\n- key: a\n- key: a", "Line 4: “a” is in “queries” twice"),
        ("millrace: 1\nqueries: [{}]", "Line 2, query, key: “key” is missing."),
    ],
)
@pytest.mark.django_db
def test_what_is_no_such_file_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(text)
    with pytest.raises(Problem) as refused:
        taken(file)
    assert sentence in str(refused.value)


BROKEN = """\
millrace: 1
connections:
- key: plant
  name: Plant
  bootstrap_servers: kafka
sources: []
queries:
- key: hot
  source: sensors
  name: Hot
  windows: 1m every soon
  computations:
  - aggregate: count
  - {aggregate: max, field: tmep}
- key: cold
  source: sensors
  computations: [{aggregate: count}]
  windows: 1m
  tags: ["a\\0b"]
"""


def test_every_mistake_is_named_with_its_line_and_field(sensors: Source, tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(BROKEN)
    with pytest.raises(Problem) as refused:
        taken(file)
    assert str(refused.value).splitlines() == [
        "Line 5, connection “Plant”, bootstrap_servers: “kafka” is not an address: write host:port, "
        "several separated by commas.",
        "Line 11, query “Hot”, windows: “soon” is not a duration: write it as 90s, 5m or 1h30m.",
        "Line 12, query “Hot”, computations: No field “tmep” in sensors.",
        "Line 19, query “cold”, tags: Remove the control character U+0000 after “a”.",
        "Nothing was changed.",
    ]
    assert not SavedQuery.objects.exists()


def test_the_demo_is_the_same_after_a_journey(tmp_path: Path, settings: LazySettings, ana: User) -> None:
    settings.VAR_DIR = tmp_path
    User.objects.filter(pk=ana.pk).update(is_superuser=True)
    assert demo_seed.seed("127.0.0.1:1")
    call_command("export", out=tmp_path / "first.yaml")
    SavedQuery.with_deleted.all().delete()
    Source.objects.all().delete()
    Connection.objects.all().delete()
    assert taken(tmp_path / "first.yaml")[2] == "5 queries added."
    for _ in range(2):
        call_command("export", out=tmp_path / "again.yaml")
        assert (tmp_path / "again.yaml").read_bytes() == (tmp_path / "first.yaml").read_bytes()
        plans = PlanVersion.objects.count()
        assert taken(tmp_path / "again.yaml")[2] == "5 queries as they were."
        assert PlanVersion.objects.count() == plans


def test_a_file_that_is_not_there_is_named(tmp_path: Path, db: None) -> None:
    with pytest.raises(Problem, match="There is no file"):
        taken(tmp_path / "missing.yaml")
    with pytest.raises(Problem, match="cannot be written"):
        export(tmp_path / "no" / "such.yaml")


def test_a_mended_avro_schema_makes_a_new_plan(everything: SavedQuery, tmp_path: Path) -> None:
    schema = '{\n "type": "record", "name": "R", "fields": [{"name": "ts", "type": "long"}]\n}'
    Source.objects.filter(name="sensors").update(format="avro", avro_schema=schema)
    service.replan(everything.source, "first")
    file = tmp_path / "millrace.yaml"
    export(file)
    assert "2 sources as they were." in taken(file)

    def edit(content: dict[str, Any]) -> None:
        one(content, "sources", "sensors")["avro_schema"] = schema.replace("long", "int")

    assert "1 source changed, 1 as it was." in taken(edited(file, edit))
    newest = service.newest(everything.source)
    assert newest is not None
    assert (newest.version, newest.cause) == (2, "Import changed the settings of sensors")
    assert newest.source.spec().avro_schema == schema.replace("long", "int")
