"""A query as form, SQL and JSON: the same query, whichever way it is written."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from dashboard.models import Connection, Source
from dashboard.queries.drafts import Draft, TypedComputation
from dashboard.queries.sql_text import read_sql, write_sql
from dashboard.queries.windows_text import parse_windows
from dashboard.queries.written import JSON, SQL, read_written, shown_text
from optimizer.durations import format_duration
from optimizer.queries import Computation, CountSpec, InvalidQuery, QuerySpec, SessionSpec, WindowSpec
from streaming.replay import by_message_times
from streaming.spec import Spec

LONG = (
    "SELECT max(temp), p95(temp * 2), count(*) FROM sensors WHERE ok AND device <> 'x' GROUP BY device "
    "WINDOW HOPPING (5m, 10s), TUMBLING (1h, OFFSET 15m), LAST (100, 10), SESSION (30s)"
)

lengths = st.integers(1, 100_000).map(lambda number: format_duration(number * 500))
offsets = st.one_of(st.just(""), lengths)
windows = st.one_of(
    st.builds(WindowSpec, lengths, lengths, offsets),
    lengths.flatmap(lambda size: st.builds(WindowSpec, st.just(size), st.just(size), offsets)),
    st.builds(CountSpec, st.integers(1, 1000), st.integers(1, 1000)),
    st.builds(SessionSpec, lengths),
)
fields = st.sampled_from(
    [
        "temp",
        "temp * 2",
        "coalesce(temp, 0)",
        "CASE WHEN ok THEN temp ELSE 0 END",
        "a.b",
        "from_",
        "(temp + 1) / 3",
    ]
)
computations = st.one_of(
    st.builds(Computation, st.sampled_from(["max", "p95", "mean", "distinct_count"]), fields),
    st.builds(Computation, st.just("percentile"), fields, st.floats(0, 1)),
    st.builds(Computation, st.just("top_k"), fields, st.integers(1, 1000)),
    st.just(Computation("count")),
)
filters = st.sampled_from(
    [
        None,
        "ok",
        "device = 'WINDOW HOPPING (1m)'",
        "device = 'it''s' AND temp > 1",
        "window > 3",
        "device IN ('a, b', 'FROM x')",
        "temp BETWEEN 1 AND 2\n  OR ok",
        "\"WHERE\" = 'GROUP BY'",
    ]
)
specs = st.builds(
    QuerySpec,
    name=st.just("q"),
    computations=st.lists(computations, min_size=1, max_size=4, unique=True).map(tuple),
    windows=st.lists(windows, min_size=1, max_size=4, unique_by=lambda one: one.window()).map(tuple),
    group_by=st.lists(
        st.sampled_from(["device", "site", "web request", 'a"b', "group"]), max_size=3, unique=True
    ).map(tuple),
    where=filters,
)
COUNTED = {"name": "q", "aggregate": "count", "windows": [{"range": "1m", "slide": "1m"}]}
SETTINGS = (
    "format",
    "event_time",
    "time_unit",
    "allowed_lateness",
    "time_pattern",
    "time_zone",
    "future_bound",
    "past_bound",
)
bounds = st.one_of(st.none(), st.just(300_000), st.integers(0, 10**12))
times = st.one_of(
    st.just({"event_time": None}),
    st.just({"event_time": None, "processing_time": True}),
    st.sampled_from(["s", "ms", "us", "ns", "iso"]).map(lambda unit: {"event_time": "ts", "time_unit": unit}),
    st.sampled_from(["%d/%m/%Y %H:%M", "%Y-%m-%d “%H”"]).map(
        lambda pattern: {"event_time": "ts", "time_unit": "pattern", "time_pattern": pattern}
    ),
)
readings = st.builds(
    lambda time, **rest: Source(
        connection=Connection(bootstrap_servers="127.0.0.1:1"), schema=[["ts", "text"]], **time, **rest
    ),
    times,
    format=st.sampled_from(["json", "csv", "tsv"]),
    time_zone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York"]),
    allowed_lateness=st.integers(0, 10**12),
    future_bound=bounds,
    past_bound=bounds,
)


@given(specs, st.sampled_from(["sensors", "web.requests", "my source", 'a "b"']))
def test_form_to_sql_to_form_is_the_identity(spec: QuerySpec, source: str) -> None:
    read = read_sql(write_sql(spec, source))
    assert read.source == source
    again = QuerySpec(
        "q",
        tuple(Computation.typed(*one) for one in read.computations),
        parse_windows(read.windows_text),
        read.group_by,
        read.where or None,
    )
    assert again == spec


def sent(**values: str) -> QueryDict:
    data = QueryDict(mutable=True)
    data.update(values)
    return data


def test_sql_is_read_as_the_form_would_have_it(sensors: Source) -> None:
    written = read_written(sent(view=SQL, sql=LONG, name="All"), None)
    assert written.checked.is_good
    assert written.draft.source == sensors
    assert written.draft.spec() == QuerySpec(
        "All",
        (Computation("max", "temp"), Computation("p95", "temp * 2"), Computation("count")),
        (
            WindowSpec("5m", "10s"),
            WindowSpec("1h", "1h", "15m"),
            CountSpec(100, 10),
            SessionSpec("30s"),
        ),
        ("device",),
        "ok AND device <> 'x'",
    )
    again = read_written(sent(view=SQL, sql=shown_text(SQL, written.draft), name="All"), None)
    assert again.draft == written.draft


@pytest.mark.parametrize(
    ("text", "sentence", "marked"),
    [
        (
            "SELECT max(tmep) FROM sensors WINDOW TUMBLING (1m)",
            "No field “tmep” in sensors (character 12).",
            "tmep",
        ),
        (
            "SELECT max(temp) FROM sensors WHERE ok AND tmep > 1 WINDOW TUMBLING (1m)",
            "No field “tmep” in sensors (character 44).",
            "tmep",
        ),
        (
            "SELECT temp FROM sensors WINDOW TUMBLING (1m)",
            "“temp” is not an aggregate of a field, such as max(temp).",
            "temp",
        ),
        (
            "SELECT max(temp) FROM sensors WINDOW HOPPING (1m)",
            "HOPPING takes a size and a slide: HOPPING (5m, 10s).",
            "HOPPING (1m)",
        ),
        (
            "SELECT max(temp) FROM sensors WINDOW TUMBLING (1m) SESSION (1s)",
            "Put a comma between windows.",
            "S",
        ),
        (
            "SELECT max(temp) FROM sensors GROUP BY device WHERE ok WINDOW TUMBLING (1m)",
            "“WHERE” is not expected here: write SELECT count(*) FROM source WHERE condition GROUP BY field "
            "WINDOW HOPPING (5m, 10s).",
            "WHERE",
        ),
        ("SELECT max(temp) FROM nowhere WINDOW TUMBLING (1m)", "No source “nowhere”.", None),
        (
            "SELECT max(temp) FROM sensors",
            "Say the windows at the end, such as WINDOW HOPPING (5m, 10s), TUMBLING (1h).",
            None,
        ),
        (
            "SELECT max(temp) FROM sensors WHERE device = 'x WINDOW TUMBLING (1m)",
            "A quote is not closed.",
            None,
        ),
    ],
)
def test_a_slip_in_sql_is_told_with_its_place(
    sensors: Source, text: str, sentence: str, marked: str | None
) -> None:
    [problem] = read_written(sent(view=SQL, sql=text, name="q"), sensors).checked.problems.values()
    assert problem.sentence == sentence
    assert (text[slice(*problem.span)] if problem.span else None) == marked


def test_json_is_what_replay_reads_and_comes_back_the_same(sensors: Source) -> None:
    draft = read_written(sent(view=SQL, sql=LONG, name="All"), None).draft
    text = shown_text(JSON, draft)
    assert Spec.read(text.encode()).queries == (draft.spec(),)
    assert read_written(sent(view=JSON, json=text), sensors).draft == draft


@given(readings)
def test_json_says_how_the_source_is_read(source: Source) -> None:
    text = shown_text(JSON, Draft(source, "q", (TypedComputation("count"),), "1m"))
    spec, read = Spec.read(text.encode()), by_message_times(source.spec())
    for setting in SETTINGS:
        assert getattr(spec, setting) == getattr(read, setting), setting
    assert read_written(sent(view=JSON, json=text), source).checked.problems == {}


@pytest.mark.parametrize(
    "typed",
    [
        {"event_time": "ts"},
        {"event_time": "ts", "time_unit": "ms", "allowed_lateness": "10s"},
        {"event_time": "ts", "allowed_lateness": "10000ms", "future_bound": "300s", "past_bound": None},
        {"format": "json", "event_time": "ts", "time_zone": "UTC", "time_pattern": ""},
    ],
)
def test_a_source_may_be_spelled_out_as_little_as_replay_needs(
    sensors: Source, typed: dict[str, Any]
) -> None:
    text = json.dumps({"source": typed, "queries": [COUNTED]})
    assert read_written(sent(view=JSON, json=text), sensors).checked.problems == {}


@pytest.mark.parametrize(
    "typed",
    [
        {},
        {"event_time": "at"},
        {"event_time": "ts", "time_unit": "s"},
        {"event_time": "ts", "allowed_lateness": "11s"},
        {"event_time": "ts", "time_zone": "Europe/Berlin"},
        {"event_time": "ts", "future_bound": None},
        {"event_time": "ts", "past_bound": "1d"},
        {"event_time": "ts", "past_bound": "soon"},
        "sensors",
    ],
)
def test_another_reading_of_the_source_is_refused(sensors: Source, typed: Any) -> None:
    text = json.dumps({"source": typed, "queries": [COUNTED]})
    [problem] = read_written(sent(view=JSON, json=text), sensors).checked.problems.values()
    assert problem.sentence == "The source is changed on its own page: leave “source” as it is."


def test_the_unit_of_no_event_time_is_no_difference(sensors: Source) -> None:
    sensors.event_time, sensors.time_unit = None, "s"
    text = json.dumps({"source": {}, "queries": [COUNTED]})
    assert read_written(sent(view=JSON, json=text), sensors).checked.problems == {}


def test_the_example_of_the_document_can_be_pasted(sensors: Source) -> None:
    document = (Path(__file__).resolve().parents[3] / "docs" / "replay.md").read_text()
    text = document.split("`spec.json`:")[1].split("```")[1].removeprefix("json\n")
    written = read_written(sent(view=JSON, json=text), sensors)
    assert written.checked.problems == {}
    assert written.draft.spec() == Spec.read(text.encode()).queries[0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "This is not JSON: expecting property name enclosed in double quotes (character 2)."),
        ("[]", "Write an object with one query in “queries”."),
        ('{"queries": []}', "Write one query in “queries”: others are saved by themselves."),
        (
            '{"source": {"format": "csv"}, "queries": [{}]}',
            "The source is changed on its own page: leave “source” as it is.",
        ),
        ('{"name": "a", "aggregate": "max", "windows": []}', "Choose the field to compute the max of."),
        (
            '{"name": "a", "computations": [{"aggregate": "max", "filed": "temp"}], "windows": []}',
            "A computation has no “filed”. Did you mean “field”?",
        ),
        (
            '{"name": "a", "aggregate": "top_k", "field": "temp", "k": 0, "windows": [{"range": "1m"}]}',
            "The k of a top_k is a whole number from 1 to 1,000, such as 5, not 0.",
        ),
    ],
)
def test_a_slip_in_json_is_told_in_a_sentence(sensors: Source, text: str, sentence: str) -> None:
    written = read_written(sent(view=JSON, json=text), sensors)
    assert [problem.sentence for problem in written.checked.problems.values()] == [sentence]


def test_a_draft_with_a_slip_cannot_be_shown_as_text(sensors: Source) -> None:
    with pytest.raises(InvalidQuery):
        shown_text(SQL, replace(Draft.first(sensors), windows_text="soon"))


@given(st.text(alphabet="SELECTFROMWHERE ()'\",*10smWINDOWTUMBLING", max_size=60))
def test_any_text_is_read_or_refused_in_a_sentence(text: str) -> None:
    try:
        read_sql(text)
    except InvalidQuery as refusal:
        assert refusal.sentence.endswith(".")


def test_paths_are_fields_in_every_clause_of_sql_and_are_written_as_they_are_read() -> None:
    text = (
        "SELECT max(order.total * 1.1), count(user.city), p95(order.total)\n"
        "FROM shop\n"
        "WHERE user.city = 'Oslo' AND \"a b\".c > 1\n"
        'GROUP BY user.city, "a b".c\n'
        "WINDOW TUMBLING (1m)"
    )
    read = read_sql(text)
    fields = ("order.total * 1.1", "user.city", "order.total")
    assert tuple(field for _, field, _ in read.computations) == fields
    assert read.group_by == ("user.city", "a b.c")
    computations = tuple(Computation.typed(*one) for one in read.computations)
    spec = QuerySpec("Q", computations, parse_windows(read.windows_text), read.group_by, read.where)
    assert write_sql(spec, "shop") == text
