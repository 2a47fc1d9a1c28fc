"""What takes text and bytes of strangers, and what must hold of it whatever they are.

Each target is tried for a moment in every test run and for long by `./millrace bench fuzz`. What must not
happen besides what a target says itself: any error but the one that is made for people.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from asgiref.sync import async_to_sync
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from hypothesis import strategies as st

from dashboard.live.consumers import LiveConsumer
from dashboard.live.hub import Hub
from dashboard.queries.sql_text import read_sql
from dashboard.queries.windows_text import parse_windows, write_windows
from optimizer.durations import InvalidDuration, format_duration, parse_duration
from optimizer.queries import InvalidQuery
from streaming.expressions import InvalidExpression, check, check_value, decided
from tests.dashboard.conftest import open_as
from tests.streaming import test_record_batches as batches
from tests.streaming.formats import test_avro as avro
from tests.streaming.formats import test_csv as csv
from tests.streaming.formats import test_json as json

TYPES = {"temp": "number", "n": "integer", "status": "text", "ok": "boolean", "user.city": "text"}
ROWS = pa.table(
    {
        "temp": pa.array([1.5, None, -0.0, 1e308], pa.float64()),
        "n": pa.array([1, 2, None, -(2**62)], pa.int64()),
        "status": pa.array(["ok", "", None, "it's"], pa.string()),
        "ok": pa.array([True, False, None, True], pa.bool_()),
        "user.city": pa.array(["x", None, "é", "\U0001f600"], pa.string()),
    }
)


def text_of(*words: str) -> st.SearchStrategy[str]:
    """Texts of words that mean something here, mixed with any others."""
    pieces = st.sampled_from(words) | st.integers(-99, 10**6).map(str) | st.text(max_size=4)
    return st.lists(pieces, max_size=14).map(" ".join) | st.lists(pieces, max_size=8).map("".join)


EXPRESSIONS = text_of(
    *TYPES, '"user.city"', "'ok'", "(", ")", "+", "-", "*", "/", "%", "=", "<>", ">", "AND", "OR", "NOT",
    "IN", "LIKE", "IS NULL", "BETWEEN", "CASE WHEN", "THEN", "ELSE", "END", "CAST(n AS INTEGER)", "TRY_CAST(",
    "AS", "DECIMAL(10,2)", "INT[10]", "abs(", "lower(", "round(", "coalesce(", "sqrt(", "ln(", "pow(", ",",
    "1e999", "repeat(", "read_csv('x')", "--", "/*", ";", "SELECT", "\0", "'", '"', "::", "[1]", "{}",
    "$1", "?",
)  # fmt: skip
SQL = text_of(
    "SELECT", "max(temp)", "count(*)", "avg(n * 2)", "AS", "x", ",", "FROM", "sensors", '"a b"', "WHERE",
    "ok", "GROUP BY", "status", "WINDOWS", "TUMBLING (1m)", "HOPPING (1m, 10s)", "HOPPING (1m, 10s, 5s)",
    "COUNT (100)", "SESSION (30s)", "(", ")", "'", '"', ";", "--", "/*", "\n", "$$", "$a$", "E'\\x'",
)  # fmt: skip
DURATIONS = text_of(
    "s", "m", "min", "h", "ms", "d", "w", "1h30m", "5 minutes ago", "1M", "-", ".", "0.5", "٣", "e"
)
WINDOWS = text_of(
    "1m", "10s", "every", "tumbling", "offset", ",", "\n", "100 events", "gap", "session", "1d", "-5s"
)


def durations(text: str) -> None:
    try:
        milliseconds = parse_duration(text)
    except InvalidDuration:
        return
    assert milliseconds > 0
    assert parse_duration(format_duration(milliseconds)) == milliseconds


def windows(text: str) -> None:
    try:
        found = parse_windows(text)
    except InvalidQuery:
        return
    assert parse_windows(write_windows(found)) == found


def sql(text: str) -> None:
    try:
        read_sql(text)
    except InvalidQuery:
        return


def expressions(text: str) -> None:
    """What is accepted is evaluated, too: one answer a row."""
    try:
        check_value(text, TYPES)
        check(text, TYPES)
    except InvalidExpression:
        return
    assert len(decided(text, ROWS).holds) == ROWS.num_rows


damaged_batches = batches.test_damaged_bytes_are_refused_or_read_but_nothing_beyond_them.hypothesis.inner_test
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=6,
)
TEXTS = st.text(max_size=6)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["watch", "ack", "other"]) | JSON},
        optional={
            name: JSON
            | st.lists(st.text(max_size=6), max_size=4)
            | st.dictionaries(st.text(max_size=6), JSON)
            for name in ("queries", "shows", "sources", "rows", "board", "plan", "health", "count")
        },
    )
    | JSON,
    max_size=4,
)


def socket(messages: list[Any]) -> None:
    """A socket says something or ends; it does not fail."""
    person, _ = User.objects.get_or_create(username="fuzz")

    async def talk() -> None:
        page = WebsocketCommunicator(LiveConsumer.as_asgi(start_relay=Hub), "/ws/live/")
        await open_as(page, person)
        assert (await page.connect(timeout=10))[0]
        for message in messages:
            await page.send_json_to(message)
        await page.disconnect(timeout=10)  # raises what the consumer raised

    async_to_sync(talk)()


@dataclass(frozen=True)
class Target:
    """`check` raises what is a fault."""

    name: str
    inputs: st.SearchStrategy[Any]
    check: Callable[[Any], None]
    needs_database: bool = False


TARGETS = (
    Target("record batches, any bytes", st.binary(max_size=300), batches.read_or_refuse),
    Target(
        "record batches, damaged",
        st.fixed_dictionaries(
            {
                "changes": st.lists(
                    st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4
                ),
                "compression": st.integers(0, 4),
                "seal": st.booleans(),
            }
        ),
        lambda asked: (
            batches.test_damaged_bytes_are_refused_or_read_but_nothing_beyond_them.hypothesis.inner_test(
                **asked
            )
        ),
    ),
    Target(
        "JSON, scan against reader",
        st.lists(json.plain | json.objects | json.damaged() | st.binary(max_size=20), max_size=6),
        json.assert_same,
    ),
    Target(
        "CSV, scan against reader",
        st.tuples(st.lists(st.none() | csv.lines | st.binary(max_size=12), max_size=6), csv.formats),
        lambda asked: csv.assert_same(*asked),
    ),
    Target(
        "Avro, scan against reader",
        st.data(),
        avro.test_random_schemas_and_records.hypothesis.inner_test,
    ),
    Target("expressions", EXPRESSIONS, expressions),
    Target("durations", DURATIONS, durations),
    Target("windows as text", WINDOWS, windows),
    Target("SQL", SQL, sql),
    Target("socket messages", MESSAGES, socket, needs_database=True),
)
