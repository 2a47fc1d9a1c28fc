"""A field of the wrong type has no value there; whoever reads it is told, and nobody else notices."""

import io
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import fastavro
import msgspec
import pytest

from optimizer.group_trees import GroupTree
from optimizer.group_windows import CountWindow, GroupQuery, SessionWindow
from optimizer.queries import Query
from optimizer.windows import Window
from tests.streaming.engine import SOURCE, Engine, Event, Message, plan_of

TUMBLING = Window(10_000, 10_000)
SENSORS = replace(SOURCE, schema=(*SOURCE.schema, ("site", "text"), ("ok", "boolean")))
COUNT = Query("all", "all", "count", None, TUMBLING)
NOT_A_NUMBER = "temp is text, not a number."

EVENTS: list[Event] = [
    {"ts": 1_000, "device": "a", "temp": 1.0, "site": "x", "ok": True},
    {"ts": 2_000, "device": "a", "temp": "n/a", "site": "x", "ok": True},
    {"ts": 3_000, "device": "a", "temp": 4.0, "site": 7, "ok": False},
    {"ts": 4_000, "device": "b", "temp": [], "site": "y", "ok": 1},
    {"ts": 5_000, "device": "b", "temp": 16.0, "site": "y", "ok": False},
    {"ts": 6_000, "device": "b", "temp": "n/a", "site": 7, "ok": False},
]


def without_wrong_values(event: Event) -> Event:
    """The same event with no value where one is of the wrong type."""
    types = {"device": str, "temp": float, "site": str, "ok": bool, "ts": int}
    return {name: value if type(value) is types[name] else None for name, value in event.items()}


def run(queries: Sequence[Query], messages: Sequence[Message], source=SENSORS) -> Engine:
    engine = Engine(plan_of([[query] for query in queries], kernel="flatfit"), source=source)
    engine.batch({0: messages[:2], 1: messages[2:4]})
    engine.batch({0: messages[4:]})
    engine.batch(end=True)
    return engine


def left_out(engine: Engine) -> dict[str, int]:
    """By tree, how many values."""
    told: Counter[str] = Counter()
    for meter in engine.meters:
        told.update({tree: work["failed_values"] for tree, work in meter["trees"].items()})
    return dict(told)


def reasons(engine: Engine, tree: str) -> set[str]:
    return {meter["trees"][tree]["failure"] for meter in engine.meters} - {""}


def asked(
    aggregate: str = "count", field: str | None = None, where: str | None = None, by: tuple[str, ...] = ()
) -> Query:
    return Query("q", "q", aggregate, field, TUMBLING, by, where)


def named(queries: Iterable[Query]) -> list[Query]:
    return [replace(query, id=f"q{number}") for number, query in enumerate(queries)]


READING = {
    "a value": (asked("sum", "temp"), 3),
    "a value in an expression": (asked("sum", "temp * 2"), 3),
    "an expression of two fields": (asked("sum", "CASE WHEN ok THEN temp ELSE 0 END"), 3),
    "an expression that takes null": (asked("sum", "coalesce(temp, 100)"), 3),
    "a filter": (asked(where="temp > 2"), 3),
    "a filter that takes null": (asked(where="temp IS NULL"), 3),
    "two fields of a filter, once an event": (asked(where="temp > 2 OR site = 'x'"), 4),
    "a group-by": (asked(by=("temp",)), 3),
    "two group-bys, once an event": (asked(by=("temp", "site")), 4),
    "a filter and a value, once an event": (asked("sum", "temp", "temp > 2"), 3),
    "a value where the filter lets it pass": (asked("sum", "temp", "site = 'x' OR site = 'y'"), 2 + 2),
    "a group-by where the filter lets it pass": (asked(where="device = 'a'", by=("site",)), 1),
    "only the field that it reads": (asked("sum", "temp", "device = 'a'"), 1),
    "no such field": (asked(by=("device",)), 0),
    "no field": (asked(), 0),
}


@pytest.mark.parametrize(("query", "told"), READING.values(), ids=READING)
def test_a_wrong_value_is_null_and_noted_for_who_reads_it(query: Query, told: int) -> None:
    engine = run([COUNT, query], EVENTS)
    plain = run([COUNT, query], [without_wrong_values(event) for event in EVENTS])
    assert engine.finals() == plain.finals()
    assert left_out(engine) == {"1": 0, "2": told}
    assert left_out(plain) == {"1": 0, "2": 0}
    assert not engine.dead_letters


def test_no_query_makes_another_ones_events_drop() -> None:
    alone = run([COUNT], EVENTS)
    together = run([COUNT, *named(query for query, _ in READING.values())], EVENTS)
    assert alone.finals() == {key: value for key, value in together.finals().items() if key[0] == "all"}
    assert alone.finals() == {("all", 10_000, ()): (6.0, 6)}
    assert alone.totals == together.totals


def test_the_reason_says_what_the_field_holds() -> None:
    queries = [
        asked("sum", "temp"),
        asked("sum", "temp", "device = 'b'"),
        asked(by=("site",)),
        asked(where="ok"),
    ]
    engine = run(named(queries), EVENTS)
    assert reasons(engine, "1") == {NOT_A_NUMBER}
    assert reasons(engine, "2") == {NOT_A_NUMBER, "temp is a list, not a number."}  # the first of each batch
    assert reasons(engine, "3") == {"site is a number, not text."}
    assert reasons(engine, "4") == {"ok is a number, not true or false."}


def test_what_an_expression_fails_on_is_not_counted_twice() -> None:
    events = [{"ts": 1_000, "temp": "n/a", "site": "none"}, {"ts": 2_000, "temp": 1.0, "site": "2"}]
    value, where = "coalesce(temp, 0) + CAST(site AS INT)", "coalesce(temp, 1) + CAST(site AS INT) > 0"
    engine = run(named([asked("sum", value), asked(where=where)]), events)
    assert left_out(engine) == {"1": 1, "2": 1}
    assert not any(NOT_A_NUMBER in reasons(engine, tree) for tree in ("1", "2"))


def test_a_message_without_a_readable_event_time_is_malformed_whatever_is_asked() -> None:
    messages = [
        {"ts": "soon"},
        {"ts": True, "temp": "n/a"},
        {"ts": None},
        b'{"ts":1e999}',
        {"ts": 1_000},
        b"{",
    ]
    engines = [run([query], messages) for query in (COUNT, asked("sum", "temp"))]
    for engine in engines:
        letters = {(one.partition, one.offset, one.kind, one.reason) for one in engine.dead_letters}
        assert letters == {
            (0, 0, "malformed", "ts is text, not a number."),
            (0, 1, "malformed", "ts is true or false, not a number."),
            (1, 0, "malformed", "No event time in ts."),
            (1, 1, "malformed", "ts is a number out of range."),
            (0, 3, "malformed", "Not readable as JSON: Input data was truncated."),
        }
        assert left_out(engine) == {"1": 0}  # of messages that are refused nothing else is said
    assert engines[0].totals == engines[1].totals


def test_refused_messages_between_them_do_not_shift_wrong_values() -> None:
    late = {"ts": 0, "temp": "n/a", "device": "late"}
    messages: list[Message] = [{"ts": 9_000, "device": "a"}, late, b"?", {"ts": 9_001, "temp": "n/a"}, None]
    messages += [{"ts": 9_002, "temp": 1.0, "device": 1}]
    engine = Engine(plan_of([[asked("sum", "temp", "device IS NULL")]]), source=SENSORS)
    engine.batch({0: messages})
    engine.batch(end=True)
    assert engine.finals() == {("q", 10_000, ()): (1.0, 2)}
    assert left_out(engine) == {"1": 2}
    assert engine.totals.accepted == 3
    assert engine.totals.read == engine.totals.accepted + engine.totals.malformed + engine.totals.late


def test_count_and_session_windows_note_them_too() -> None:
    last = GroupQuery("last", "last", "sum", "temp", CountWindow(2, 1), ("device",), "ok")
    visit = GroupQuery("visit", "visit", "count", None, SessionWindow(5_000), ("site",))
    trees = (GroupTree("1", (last,), ""), GroupTree("2", (visit,), ""))
    plan = replace(plan_of([]), group_trees=trees)

    def done(events: Sequence[Event]) -> Engine:
        engine = Engine(plan, source=SENSORS)
        engine.batch({0: events})
        engine.batch(end=True)
        return engine

    engine, plain = done(EVENTS), done([without_wrong_values(event) for event in EVENTS])
    assert engine.finals() == plain.finals() != {}
    assert left_out(engine) == {"1": 2, "2": 2}  # “ok” that is none, and “temp” of one that is ok
    assert left_out(plain) == {"1": 0, "2": 0}


def test_a_query_is_told_of_no_event_from_before_it() -> None:
    engine = Engine(plan_of([[COUNT]]), source=SENSORS)
    engine.batch({0: EVENTS[:2]})
    engine.batch(plan=plan_of([[COUNT], [asked("sum", "temp")]], version=2))
    since = engine.timeline.lanes[-1].since
    early, later = {"ts": since - 1, "temp": "n/a"}, {"ts": since, "temp": "n/a"}
    engine.batch({0: [early, later]})
    engine.batch(end=True)
    assert left_out(engine) == {"1": 0, "2": 1}


def test_records_of_columns() -> None:
    source = replace(SENSORS, format="csv")
    lines = [
        b"1000,a,1.5,x,true",
        b"2000,a,n/a,x,true",
        b"x,b,4,x,true",
        b"4000,b,4,x,1",
        b"3000,b,1e999,x,",
        b"5",
    ]
    engine = run([COUNT, *named([asked("sum", "temp"), asked(where="ok")])], lines, source)
    assert engine.finals() == {
        ("all", 10_000, ()): (4.0, 4),
        ("q0", 10_000, ()): (5.5, 4),
        ("q1", 10_000, ()): (2.0, 2),
    }
    assert {letter.reason for letter in engine.dead_letters} == {
        "ts is text, not a number.",
        "The message has 1 column, not 5.",
    }
    assert left_out(engine) == {"1": 0, "2": 2, "3": 1}
    assert reasons(engine, "2") == {NOT_A_NUMBER, "temp is a number out of range."}


AVRO = {
    "type": "record",
    "name": "Event",
    "fields": [
        {"name": "ts", "type": "long"},
        {"name": "temp", "type": ["null", "double", "string"]},
        {"name": "site", "type": "bytes"},
    ],
}


def avro(ts: int, temp: float | str | None) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, AVRO, {"ts": ts, "temp": temp, "site": b"?"})
    return out.getvalue()


def test_avro_of_another_schema_than_the_source_says() -> None:
    source = replace(SENSORS, format="avro", avro_schema=msgspec.json.encode(AVRO).decode())
    messages = [avro(1_000, 1.5), avro(2_000, "n/a"), avro(3_000, None), avro(4_000, 2.0)]
    engine = run([COUNT, *named([asked("sum", "temp"), asked(by=("site",))])], messages, source)
    assert engine.finals()["all", 10_000, ()] == (4.0, 4)
    assert engine.finals()["q0", 10_000, ()] == (3.5, 4)
    assert engine.finals()["q1", 10_000, (None,)] == (4.0, 4)
    assert left_out(engine) == {"1": 0, "2": 1, "3": 4}
    assert reasons(engine, "2") == {NOT_A_NUMBER}
    assert reasons(engine, "3") == {"site is bytes, not text."}
