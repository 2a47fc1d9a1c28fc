"""Nexmark's queries as windows, over an auction site of persons, auctions and bids: DuckDB has the answers.

Windows of ten seconds are of ten minutes, as so many times fewer bids come in a second. Of q1 and q2, which
transform rows, a window gathers what they give; of q8, which joins two windows, there are both sides; q18 and
q19 are the values of their rows.
"""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

from streaming.replay import Replay
from streaming.replay.files import open_file
from streaming.spec import Spec

START = 1_767_312_000_000  # 2026-01-02T00:00:00Z
DAY = 86_400_000
EVENTS = 20_000  # over 36 hours: two calendar days
SPAN = 3 * DAY // 2
CHANNELS = ("Google", "Facebook", "Baidu", "Apple")

Event = dict[str, Any]
Row = tuple[Any, ...]  # group…, start, end, value


class Question(NamedTuple):
    """A query in Millrace's words, and in SQL over `placed`: each event with the starts of its windows."""

    name: str
    aggregate: str
    sql: str
    range: str = "1d"
    slide: str = "1d"
    field: str | None = None
    group_by: tuple[str, ...] = ()
    where: str = "event_type = 'bid'"


BID = "event_type = 'bid'"
RANKS = {"rank1": "price < 10000", "rank2": "price >= 10000 AND price < 1000000", "rank3": "price >= 1000000"}
QUESTIONS = [
    Question("q1: prices in euros", "sum", "sum(0.908e0 * price)", "10m", "10m", "0.908 * price"),
    Question("q2: some auctions", "sum", "sum(price)", "1h", "1h", "price", ("auction",),
             f"{BID} AND auction % 123 = 0"),
    Question("q5: bids per auction, of which the hottest are the greatest", "count", "count(*)", "10m", "2m",
             group_by=("auction",)),
    Question("q7: the highest bid", "max", "max(price)", "10m", "10m", "price"),
    Question("q7: when it was made", "argmax", "arg_max(ts, (price, -place))", "10m", "10m", "price"),
    Question("q8: new persons", "count", "count(*)", "10m", "10m", None, ("id", "name"),
             "event_type = 'person'"),
    Question("q8: sellers", "count", "count(*)", "10m", "10m", None, ("seller",), "event_type = 'auction'"),
    *(
        Question(f"q15, q16: {what} by day, {by}", aggregate, sql, field=field, group_by=groups, where=where)
        for by, groups in (("in all", ()), ("by channel", ("channel",)))
        for what, aggregate, sql, field, where in (
            ("bids", "count", "count(*)", None, BID),
            ("bidders", "distinct_count", "count(DISTINCT bidder)", "bidder", BID),
            ("auctions", "distinct_count", "count(DISTINCT auction)", "auction", BID),
            *(
                (f"{aggregate} {rank}", aggregate, sql, field, f"{BID} AND {condition}")
                for rank, condition in RANKS.items()
                for aggregate, sql, field in (
                    ("count", "count(*)", None),
                    ("distinct_count", "count(DISTINCT bidder)", "bidder"),
                )
            ),
        )
    ),
    *(
        Question(f"q17: {aggregate} by auction and day", aggregate, sql, field="price", group_by=("auction",))
        for aggregate, sql in (
            ("min", "min(price)"), ("max", "max(price)"), ("mean", "avg(price)"), ("sum", "sum(price)")
        )
    ),
    Question("q18: the last bid", "last", "arg_max(price, (ts, place))", field="price",
             group_by=("bidder", "auction")),
    Question(
        "q19: the ten highest bids", "top_k", "list(price ORDER BY price DESC)[:10]", field="price",
        group_by=("auction",),
    ),
]  # fmt: skip


@cache
def site() -> list[Event]:
    """Of every 50 events one person, three auctions and 46 bids, as in Nexmark; hot auctions and bidders."""
    draw = random.Random(11)
    events: list[Event] = []
    for number in range(EVENTS):
        ts = START + number * SPAN // EVENTS
        persons, auctions = number // 50 + 1, 3 * (number // 50) + 3
        if number % 50 == 0:
            events.append({"event_type": "person", "ts": ts, "id": persons, "name": f"person {persons}"})
        elif number % 50 < 4:
            events.append(
                {"event_type": "auction", "ts": ts, "id": auctions, "seller": _one_of(draw, persons, 4)}
            )
        else:
            bid = {"auction": _one_of(draw, auctions, 2), "bidder": _one_of(draw, persons, 4)}
            price = int(10 ** draw.uniform(2, 8))
            events.append(
                {"event_type": "bid", "ts": ts, **bid, "price": price, "channel": draw.choice(CHANNELS)}
            )
    return events


def _one_of(draw: random.Random, newest: int, hot: int) -> int:
    """Mostly the newest that is a hundredth one, else any of the last hundred."""
    if draw.randrange(hot):
        return max(1, newest // 100 * 100)
    return draw.randrange(max(1, newest - 100), newest + 1)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nexmark")
    (path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in site()))
    return path


@pytest.fixture(scope="module")
def told(directory: Path) -> dict[str, dict[Row, Any]]:
    """What one replay of all of the questions tells: by name, the answer of each group and window."""
    queries = [
        {
            "name": each.name,
            "aggregate": each.aggregate,
            "windows": [{"range": each.range, "slide": each.slide}],
            "group_by": list(each.group_by),
            "where": each.where,
        }
        | ({"field": each.field} if each.field else {})
        for each in QUESTIONS
    ]
    sessions = {"name": "q11", "aggregate": "count", "windows": [{"gap": "10m"}], "group_by": ["bidder"]}
    return _replayed(directory, [*queries, sessions | {"where": BID}])


def _replayed(directory: Path, queries: list[dict[str, Any]]) -> dict[str, dict[Row, Any]]:
    source = {"event_time": "ts", "time_unit": "ms", "allowed_lateness": "1s", "future_bound": None}
    spec = Spec.read(json.dumps({"source": source, "queries": queries}).encode())
    out = directory / "results.jsonl"
    Replay.planned(open_file(directory / "events.jsonl", spec.time_zone), spec).run(out, lambda _: None)
    found: dict[str, dict[Row, Any]] = {query["name"]: {} for query in queries}
    for line in out.read_text().splitlines():
        row = json.loads(line)
        found[row["query"]][(*row["group"].values(), row["start"], row["end"])] = row["value"]
    return found


@pytest.fixture(scope="module")
def oracle(directory: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(
            "CREATE TABLE events AS SELECT *, row_number() OVER () AS place FROM "
            f"read_json('{directory / 'events.jsonl'}', format='newline_delimited')"
        )
        yield connection


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_a_window_of_nexmark_has_duckdbs_answer(
    question: Question, told: dict[str, dict[Row, Any]], oracle: duckdb.DuckDBPyConnection
) -> None:
    expected = dict(_expected(question, oracle))
    found = told[question.name]
    assert expected
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, rel=1e-12), key


def _expected(question: Question, oracle: duckdb.DuckDBPyConnection) -> Iterator[tuple[Row, Any]]:
    groups = "".join(f"{name}, " for name in question.group_by)
    rows = oracle.execute(f"""
        WITH placed AS (
            SELECT *, unnest(generate_series(
                time_bucket(INTERVAL '{question.slide}', make_timestamp(ts * 1000)) -
                    (INTERVAL '{question.range}' - INTERVAL '{question.slide}'),
                make_timestamp(ts * 1000), INTERVAL '{question.slide}')) AS start
            FROM events WHERE {question.where}
        )
        SELECT {groups} strftime(start, '%Y-%m-%dT%H:%M:%SZ'),
            strftime(start + INTERVAL '{question.range}', '%Y-%m-%dT%H:%M:%SZ'), {question.sql}
        FROM placed GROUP BY {groups} start
    """).fetchall()
    return ((row[:-1], row[-1]) for row in rows)


def test_q11_sessions_of_bidders_are_gaps_and_islands(
    told: dict[str, dict[Row, Any]], oracle: duckdb.DuckDBPyConnection
) -> None:
    rows = oracle.execute(f"""
        WITH marked AS (
            SELECT *, coalesce(ts - lag(ts) OVER by_bidder > 600000, true)::INT AS begins
            FROM events WHERE {BID} WINDOW by_bidder AS (PARTITION BY bidder ORDER BY ts, place)
        ), numbered AS (
            SELECT *, sum(begins) OVER (PARTITION BY bidder ORDER BY ts, place) AS session FROM marked
        )
        SELECT bidder, min(ts), max(ts) + 600000, count(*) FROM numbered GROUP BY bidder, session
    """).fetchall()
    assert len(rows) > 100
    found = {(bidder, start, end): value for (bidder, start, end), value in told["q11"].items()}
    assert found == {(bidder, _text(start), _text(end)): count for bidder, start, end, count in rows}


def _text(ms: int) -> str:
    text = datetime.fromtimestamp(ms / 1000, UTC).isoformat(
        timespec="milliseconds" if ms % 1000 else "seconds"
    )
    return text.replace("+00:00", "Z")
