"""A filter that is asked about groups, not events, has the same answer: values are of their fields' types."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from optimizer import Statistics, optimize
from optimizer.plan import Plan
from optimizer.queries import Query
from optimizer.windows import Window
from tests.streaming.engine import SOURCE, Engine, Event, plan_of

BASE = 1_700_000_000_000
BY = ("site", "code", "load", "ok")
SCHEMA = (("ts", "integer"), ("code", "integer"), ("load", "number"), ("ok", "boolean"), ("site", "text"))
SPEC = replace(SOURCE, schema=(*SCHEMA, ("temp", "number")))
VALUES: tuple[tuple[Any, ...], ...] = (
    ("a", None, "404"),
    (404, -3, None, 2**40),
    (1.5, 2.0, None),
    (True, False, None),
)
EVENTS = [
    {"ts": BASE + at * 100, "temp": 1.0, **dict(zip(BY, values, strict=True))}
    for at, values in enumerate(product(*VALUES))
]
WITHOUT_VALUES = [{"ts": BASE + at, "temp": 1.0} for at in range(5)]  # of which no type could be guessed
FILTERS = (
    "ok",
    "NOT ok",
    "ok AND load > 1",
    "CAST(ok AS TEXT) = 'true'",
    "CAST(code AS TEXT) = '404'",
    "CAST(load AS TEXT) LIKE '2%'",
    "code * code * code * code > 5",
    "code % 2 = 0",
    "code / 2 = 202",
    "code IS NULL",
    "coalesce(site, 'x') = 'x'",
    "CAST(site AS INT) = 404",
    "CASE WHEN ok THEN code ELSE load END > 2",
)


def query(name: str, group_by: tuple[str, ...], seconds: int, where: str | None = None) -> Query:
    return Query(name, "q", "sum", "temp", Window(seconds * 1_000, 2_000), group_by, where)


def answers(plan: Plan, events: list[Event]) -> dict[Any, Any]:
    engine = Engine(plan, source=SPEC)
    engine.batch({0: events})
    engine.batch(end=True)
    return {key: answer for key, answer in engine.finals().items() if key[0] == "one"}


@pytest.mark.parametrize("where", FILTERS)
@pytest.mark.parametrize("events", [EVENTS, WITHOUT_VALUES], ids=["values", "nulls"])
def test_a_filter_asked_about_groups_keeps_what_it_keeps_of_events(where: str, events: list[Event]) -> None:
    queries = [query("all", BY, 4), query("one", ("site",), 6, where)]
    statistics = Statistics(rate=1e6, groups={("site",): 3, BY: 20})
    together = optimize(queries, statistics, source="s", strategy="best")
    assert any(tree.fed_by for tree in together.trees)
    assert answers(together, events) == answers(plan_of([[each] for each in queries]), events)
