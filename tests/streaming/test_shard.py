"""What a shard does with groups without end, values that do not fit, and events that come late."""

import time
from dataclasses import replace

import pytest

from optimizer.queries import Query
from optimizer.windows import Window
from streaming.group_index import OTHER
from streaming.slices import LaneSlices
from tests.streaming.engine import SOURCE, Engine, plan_of

TUMBLING = Window(10_000, 10_000)


def test_groups_beyond_the_limit_are_one_group_that_misses_no_event():
    query = Query("q", "q", "sum", "temp", TUMBLING, ("device",))
    engine = Engine(plan_of([[query]]), shards=1)
    engine.workers[0].group_limit = 3
    engine.batch({0: [{"ts": 1_000 + at, "device": f"d{at}", "temp": 1.0} for at in range(4)]})
    engine.batch({0: [{"ts": 2_000 + at, "device": f"d{at}", "temp": 10.0} for at in range(6)]})
    engine.restart()
    engine.batch(
        {0: [{"ts": 3_000, "device": "d5", "temp": 100.0}, {"ts": 3_001, "device": "d0", "temp": 100.0}]}
    )
    engine.batch(end=True)
    sums = {group[0]: value for (_, _, group), (value, _) in engine.finals().items()}
    assert sums == {"d0": 111.0, "d1": 11.0, "d2": 11.0, OTHER: 131.0}
    assert sum(count for _, count in engine.finals().values()) == 12
    assert engine.meters[1]["trees"]["1"]["groups_limited"]


def test_a_value_that_an_aggregate_cannot_take_stops_neither_it_nor_others():
    exact = Query("exact", "q", "exact_sum", "temp", TUMBLING)
    plain = Query("plain", "q", "sum", "temp", TUMBLING)
    engine = Engine(plan_of([[exact], [plain]], kernel="flatfit"))
    engine.batch({0: [{"ts": 1_000, "temp": 2.0}, {"ts": 1_001, "temp": 1 / 3}, {"ts": 1_002, "temp": 3.0}]})
    engine.batch(end=True)
    assert engine.finals()["exact", 10_000, ()] == (5, 3)
    assert engine.finals()["plain", 10_000, ()] == (5 + 1 / 3, 3)
    tree = engine.meters[0]["trees"]["1"]
    assert tree["failed_values"] == 1
    assert tree["failure"] == "exact_sum with 9 decimal places cannot hold 0.3333333333333333."
    assert engine.meters[0]["trees"]["2"]["failed_values"] == 0


def test_an_expression_that_fails_on_some_rows_goes_on_without_them():
    source = replace(SOURCE, schema=(*SOURCE.schema, ("word", "text")))
    computed = Query("computed", "q", "sum", "CAST(word AS DOUBLE) * 2", TUMBLING)
    filtered = Query("filtered", "q", "count", None, TUMBLING, where="CAST(word AS DOUBLE) > 1")
    sure = Query("sure", "q", "sum", "CAST(word AS DOUBLE) * 2", TUMBLING, where="word <> 'none'")
    engine = Engine(plan_of([[computed], [filtered], [sure]]), source=source)
    words = ["1.5", "none", "1", None]
    engine.batch({0: [{"ts": 1_000 + at, "word": word} for at, word in enumerate(words)]})
    engine.batch(end=True)
    assert engine.finals()["computed", 10_000, ()] == (5.0, 4)
    assert engine.finals()["filtered", 10_000, ()] == (1.0, 1)
    assert engine.finals()["sure", 10_000, ()] == (5.0, 2)
    trees = engine.meters[0]["trees"]
    assert trees["1"]["failed_values"] == 1  # the field without a value is no failure
    assert (
        trees["1"]["failure"]
        == "Could not convert string 'none' to DOUBLE when casting from source column word."
    )
    assert trees["2"]["failed_values"] == 1
    assert trees["2"]["failure"].endswith("column word, in the filter.")
    assert trees["3"]["failed_values"] == 0


def test_a_filter_that_fails_on_all_events_says_so():
    source = replace(SOURCE, schema=(*SOURCE.schema, ("word", "text")))
    filtered = Query("filtered", "q", "count", None, TUMBLING, where="CAST(word AS DOUBLE) > 1 OR temp > 9")
    engine = Engine(plan_of([[filtered]]), source=source)
    engine.batch({0: [{"ts": 1_000 + at, "temp": 1.0, "word": "none"} for at in range(3)]})
    engine.batch(end=True)
    assert engine.finals() == {}
    assert engine.meters[0]["trees"]["1"]["failed_values"] == 3


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("(temp, 1)", 0.0),
        ("TRY_CAST(word AS DATE)", 0.0),
        ("NULL", None),  # no value at all
        ("CAST(temp AS BIGINT) * 3000000000000000001", 6e18),  # no float is this very integer
    ],
)
def test_an_expression_of_a_type_that_is_no_number_stops_nobody(expression, answer):
    """New queries cannot have such an expression (`expressions.check_value`); kept ones may."""
    source = replace(SOURCE, schema=(*SOURCE.schema, ("word", "text")))
    odd = Query("odd", "q", "sum", expression, TUMBLING)
    plain = Query("plain", "q", "sum", "temp", TUMBLING)
    engine = Engine(plan_of([[odd], [plain]], kernel="flatfit"), source=source)
    engine.batch({0: [{"ts": 1_000, "word": "2026-01-31", "temp": 2.0}]})
    engine.batch(end=True)
    assert engine.finals()["plain", 10_000, ()] == (2.0, 1)
    assert engine.finals()["odd", 10_000, ()] == (answer, 1)


def test_meters_tell_what_provisional_answers_of_a_tree_took(monkeypatch):
    """And those of this batch alone."""
    slow, quick = (Query(name, "q", "sum", "temp", TUMBLING, where=f"temp > {name}") for name in ("1", "2"))
    engine = Engine(plan_of([[slow], [quick]]), shards=1)
    answer = LaneSlices.provisionals

    def slowly(slices, dues, width):
        time.sleep(0.1 if slices.lane.tree == "1" else 0)
        return answer(slices, dues, width)

    monkeypatch.setattr(LaneSlices, "provisionals", slowly)
    engine.batch({0: [{"ts": 1_000, "temp": 3.0}]})
    engine.batch({})
    first, second = (meter["trees"]["1"]["seconds"] for meter in engine.meters)
    assert 0.1 <= first <= engine.meters[0]["shard_seconds"]
    assert engine.meters[0]["trees"]["2"]["seconds"] < first
    assert second < first, "nothing moved"


def test_late_events_that_change_a_window_which_seemed_complete_are_numbered():
    query = Query("q", "q", "sum", "temp", Window(1_000, 1_000))
    source = replace(SOURCE, allowed_lateness=5_000)
    engine = Engine(plan_of([[query]]), source=source)
    told = []
    for batch in ([100, 1_200], [2_500], [300, 900, 2_600], [400, 7_000]):
        before = len(engine.blocks)
        engine.batch({0: [{"ts": ts, "temp": 1.0} for ts in batch]})
        told.append({b.end: (b.revision, b.final) for b in engine.blocks[before:]})
    assert told == [
        {1_000: (0, False), 2_000: (0, False)},
        {3_000: (0, False)},
        {1_000: (1, False), 2_000: (1, False), 3_000: (0, False)},
        {1_000: (2, True), 2_000: (2, True), 3_000: (0, False), 8_000: (0, False)},
    ]


def test_an_old_window_that_moved_is_told_however_far_the_newest_is_ahead():
    """Both kinds of events may come in one batch, as after a cluster was away."""
    day = 86_400_000
    query = Query("n", "n", "count", None, Window(10_000, 10_000))
    engine = Engine(plan_of([[query]]), source=replace(SOURCE, allowed_lateness=day))
    told = []
    for ats in ([0, 1], [2, day], [3, day + 1]):
        before = len(engine.blocks)
        engine.batch({0: [{"ts": at, "device": "d", "temp": 1.0} for at in ats]})
        told.append({b.end: (next(b.rows())[1], b.revision) for b in engine.blocks[before:] if not b.final})
    assert told == [
        {10_000: (2, 0)},
        {10_000: (3, 0), day + 10_000: (1, 0)},
        {10_000: (4, 1), day + 10_000: (2, 0)},
    ]
