"""What people write runs within bounds: what is too much for one evaluation is no matter to any other."""

import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from optimizer import Statistics, optimize
from optimizer.queries import Query
from optimizer.windows import Window
from streaming import expressions, sandbox
from streaming.expressions import InvalidExpression, StoppedOnes, check, check_value, decided, keeps, values
from tests.streaming.engine import Engine, brute_force

TYPES = {"status": "text", "temp": "number"}
TABLE = pa.table({"status": ["ok", "bad", "7"], "temp": [1.0, 2.0, 3.0]})
SLOW = "(SELECT count(*) FROM range(1_000_000) a, range(1_000_000) b)"
HUGE = "(SELECT len(list(r.range)) FROM range(20_000_000) r)"
FATAL = "CAST(status AS INT[100000][100000][100000]) IS NULL"


@pytest.fixture
def as_text(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everything runs as it is written, though `check` would refuse it; time and memory are short."""
    monkeypatch.setattr(expressions, "_sql", lambda text: text)
    monkeypatch.setattr(expressions, "with_unknowns", lambda text: text)
    monkeypatch.setattr(sandbox, "SECONDS", 0.6)
    monkeypatch.setattr(sandbox, "MEMORY", "50MB")
    sandbox._throw_away()
    monkeypatch.setattr(expressions, "stopped_ones", StoppedOnes())
    yield
    sandbox._throw_away()


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (f"{SLOW} > temp", "It was stopped after 1 s for 3 messages."),
        (f"{HUGE} > temp", "It was stopped: it needs more than 50MB of memory."),
        (FATAL, "It was stopped by an error of the database: "),
    ],
)
def test_what_is_too_much_is_stopped_and_the_next_evaluation_never_notices(as_text, expression, words):
    stopped = decided(expression, TABLE)
    assert stopped.stopped and stopped.why.startswith(words)
    assert stopped.holds.tolist() == [False, False, False] and stopped.failures()[0] == 3
    assert keeps("temp > 1", TABLE).tolist() == [False, True, True]


def test_what_was_stopped_is_not_tried_again_for_a_while(as_text, monkeypatch):
    decided(f"{SLOW} > temp", TABLE)
    began = time.perf_counter()
    assert decided(f"{SLOW} > temp", TABLE).stopped and values(f"{SLOW} > temp", TABLE).stopped
    assert time.perf_counter() - began < 0.1
    assert expressions.stopped_ones.among([f"{SLOW} > temp", "temp > 1", None]).keys() == {f"{SLOW} > temp"}
    monkeypatch.setattr(expressions, "FORGIVEN_SECONDS", 0.0)
    assert expressions.stopped_ones.among([f"{SLOW} > temp"]) == {}


def test_what_another_thread_runs_is_not_stopped(as_text):
    found: list[bool] = []

    def go_on() -> None:
        for _ in range(200):
            found.append(keeps("temp > 1", TABLE).tolist() == [False, True, True])

    other = threading.Thread(target=go_on)
    other.start()
    assert decided(f"{SLOW} > temp", TABLE).stopped and decided(FATAL, TABLE).stopped
    other.join()
    assert found == [True] * 200


def test_a_forked_process_has_a_watchdog_of_its_own(as_text):
    """Spark's workers are forked from a process that may have evaluated something."""
    keeps("temp > 1", TABLE)
    child = os.fork()
    if not child:
        os._exit(0 if decided(f"{SLOW} > temp", TABLE).stopped else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_files_and_the_network_are_out_of_reach(as_text):
    with sandbox.rows(TABLE) as rows, pytest.raises(duckdb.Error, match="disabled by configuration"):
        rows.project("(SELECT content FROM read_text('/etc/hostname')) AS x").fetchall()


@pytest.mark.parametrize(
    "kind",
    [
        *("BOOLEAN", "VARCHAR", "TEXT", "TINYINT", "SMALLINT", "INT", "BIGINT", "HUGEINT", "UTINYINT"),
        *("USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "DECIMAL(10, 2)"),
        *("DECIMAL(38, 0)", "DATE", "TIMESTAMP"),
    ],
)
def test_a_cast_goes_to_a_simple_type(kind):
    check(f"CAST(status AS {kind}) IS NULL AND TRY_CAST(status AS {kind}) IS NULL", TYPES)


@pytest.mark.parametrize(
    "kind",
    [
        *("INT[]", "INT[100]", "INT[100000][100000][100000]", "DOUBLE[3]", "JSON", "BIT", "BLOB", "UUID"),
        *(
            "STRUCT(a INT)",
            "MAP(INT, INT)",
            "UNION(a INT)",
            "ENUM('a')",
            "INTERVAL",
            "TIME",
            "BIGNUM",
            "geometry",
        ),
    ],
)
def test_a_cast_to_anything_else_is_refused_in_a_sentence(kind):
    for cast in ("CAST", "TRY_CAST"):
        with pytest.raises(InvalidExpression, match=r"^A filter cannot cast to .*: use BOOLEAN, VARCHAR, "):
            check(f"{cast}(status AS {kind}) IS NULL", TYPES)
        with pytest.raises(InvalidExpression, match=r"^A computed field cannot cast to "):
            check_value(f"length({cast}(status AS {kind}))", TYPES)


def test_what_was_saved_when_more_was_allowed_is_stopped_before_it_runs(monkeypatch):
    monkeypatch.setattr(expressions, "stopped_ones", StoppedOnes())
    assert decided(FATAL, TABLE).why.startswith("A query cannot cast to INT[100000]")


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        (f"status = '{'x' * 20_000}'", "is too long: 20,011 characters, of which 20,000 are allowed."),
        (" OR ".join(["temp > 1"] * 501), "has too many terms: 1,002, of which 1,000 are allowed."),
        ("abs(" * 31 + "temp" + ")" * 31 + " > 1", "is nested too deeply: write it with fewer brackets."),
        ("NOT " * 40 + "temp > 1", "is nested too deeply: write it with fewer brackets."),
        ("temp > " + "temp / " * 60 + "1", "is nested too deeply: write it with fewer brackets."),
    ],
)
def test_an_expression_has_a_greatest_size(expression, sentence):
    with pytest.raises(InvalidExpression) as refusal:
        check(expression, TYPES)
    assert refusal.value.sentence == f"The filter {sentence}"


def test_eight_hundred_terms_cost_what_eight_hundred_terms_cost():
    """Looking for what occurs twice took the cube of their number: 8 s."""
    expression = " + ".join(["temp"] * 800) + " > 3"
    check(expression, TYPES)
    began = time.process_time()
    assert keeps(expression, TABLE).all()
    assert time.process_time() - began < 1.0


def query(name: str, where: str | None, seconds: int, field: str = "temp") -> Query:
    return Query(name, "q", "sum", field, Window(seconds * 1_000, 1_000), ("device",), where)


EVENTS = [{"ts": 1_000_000 + 50 * at, "device": "ab"[at % 2], "temp": float(at % 7)} for at in range(200)]
GOOD = [query("warm", "temp > 2", 4), query("cold", "temp < 5", 6), query("all", None, 2)]
NO_CAST = "A query cannot cast to INT[100][1000]: use BOOLEAN, "


@pytest.mark.parametrize("strategy", ["no_share", "weave_share", "best", "best_woven"])
@pytest.mark.parametrize(
    "bad",
    [
        query("bad", "TRY_CAST(device AS INT[100][1000]) IS NULL AND temp > 1", 8),
        query("bad", None, 8, "temp + length(CAST(temp AS INT[100][1000]))"),
    ],
    ids=["filter", "computed field"],
)
def test_a_query_that_takes_too_much_is_told_and_no_other_notices(monkeypatch, strategy, bad):
    """Also where the plan has joined its filter with theirs."""
    monkeypatch.setattr(expressions, "stopped_ones", StoppedOnes())
    good = GOOD if bad.field != "temp" else GOOD[:-1]  # for all events there is no need to join filters
    plan = optimize([*good, bad], Statistics(rate=1e6), source="s", strategy=strategy)
    joined = [tree.family.where for tree in plan.trees if tree.family is not None]
    assert any(" OR " in where for where in joined) == (strategy == "best" and bad.where is not None)
    engine = Engine(plan)
    engine.batch({0: EVENTS[:90]})
    engine.batch({0: EVENTS[90:]})
    engine.batch(end=True)
    theirs = {key: value for key, value in engine.finals().items() if key[0] != "bad"}
    wanted: dict[Any, Any] = {}
    for one in good:
        inside = [event for event in EVENTS if one.where is None or eval(one.where, {}, event)]  # noqa: S307
        wanted |= brute_force([one], inside)
    assert theirs == wanted
    told = {text: why for meter in engine.meters for text, why in meter["stopped"].items()}
    assert told.keys() == {bad.where or bad.field}
    assert all(why.startswith(NO_CAST) for why in told.values())


def test_texts_that_an_expression_makes_of_large_messages_are_made_of_some_at_a_time(monkeypatch):
    """240 upper-case copies of 4,096 texts of 3 kB took 2 GB."""
    at_once: list[int] = []
    real = sandbox.rows
    monkeypatch.setattr(sandbox, "rows", lambda part, spent: at_once.append(len(part)) or real(part, spent))
    texts = [f"{'a' * 3_000}{at}" for at in range(4_096)]
    long = " ".join(f"WHEN upper(status) = '{at}' THEN {at}" for at in range(240))
    expression = f"CASE {long} WHEN lower(status) LIKE '%7' THEN -1 END = -1"
    for column in (pa.array(texts), pa.array(texts).dictionary_encode()):
        at_once.clear()
        kept = keeps(expression, pa.table({"status": column}))
        assert kept.nonzero()[0].tolist() == [at for at in range(4_096) if at % 10 == 7]
        assert sum(at_once) == 4_096 and max(at_once) * 241 * 3_004 <= sandbox.LARGEST
    at_once.clear()
    assert len(keeps("upper(status) = 'A'", pa.table({"status": texts}))) == at_once[0] == 4_096
