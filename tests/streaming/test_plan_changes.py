"""What a new plan leaves alone, and what it lets go."""

from dataclasses import replace

from optimizer.queries import Query
from optimizer.windows import Window
from tests.streaming.engine import Engine, Event, brute_force, plan_of

BASE = 1_700_000_000_000
STAYS = Query("stays", "s", "max", "temp", Window(6_000, 2_000))
GOES = Query("goes", "s", "sum", "temp", Window(20_000, 1_000), ("device",))

EDITED = Query("edited", "s", "max", "temp", Window(6_000, 2_000))


def events(low: int, high: int) -> list[Event]:
    return [
        {"ts": BASE + at * 250, "device": "ab"[at % 2], "temp": float(at % 13)} for at in range(low, high)
    ]


def test_removing_the_last_query_of_a_tree_frees_its_state() -> None:
    engine = Engine(plan_of([[STAYS], [GOES]]))
    engine.batch({0: events(0, 100)})
    lane = next(member.segments[-1].lane for member in engine.timeline.members if member.query == "goes")
    assert any(key[0] == lane for stored in engine.stored for key in stored)
    engine.batch(plan=plan_of([[STAYS]], version=2))
    engine.batch({0: events(100, 120)})
    assert lane not in {held.id for held in engine.timeline.lanes}
    assert not any(lane in shard.lanes for shard in engine.workers)
    assert not any(key[0] == lane for stored in engine.stored for key in stored)


def test_results_of_other_queries_go_on_in_the_batch_that_adopts_a_plan_and_the_next() -> None:
    engine = Engine(plan_of([[STAYS]]))
    engine.batch({0: events(0, 100)})
    told = []
    for batch in range(4):
        before = len(engine.blocks)
        plan = plan_of([[STAYS], [GOES]], version=2) if batch == 1 else None
        engine.batch({0: events(100 + batch * 20, 120 + batch * 20)}, plan=plan)
        told.append({block.query for block in engine.blocks[before:] if block.final})
    assert all("stays" in queries for queries in told)
    engine.batch(end=True)
    answers = {key: value for key, value in engine.finals().items() if key[0] == "stays"}
    assert answers == brute_force([STAYS], events(0, 180))


def test_a_query_that_is_edited_in_place_leaves_the_series_of_others_whole() -> None:
    """The same id with another filter, in the tree that it had to itself and in one that it shared."""
    for before in ([[STAYS], [EDITED]], [[STAYS, EDITED]]):
        engine = Engine(plan_of(before))
        engine.batch({0: events(0, 100)})
        edited = replace(EDITED, where="temp > 6")
        engine.batch({0: events(100, 120)}, plan=plan_of([[STAYS], [edited]], version=2))
        engine.batch({0: events(120, 180)})
        engine.batch(end=True)
        answers = {key: value for key, value in engine.finals().items() if key[0] == "stays"}
        assert answers == brute_force([STAYS], events(0, 180))


def test_meters_tell_which_tree_answered_a_query_and_how_often() -> None:
    engine = Engine(plan_of([[STAYS, EDITED], [GOES]]))
    engine.batch({0: events(0, 100)})
    told = [meter["queries"] for meter in engine.meters]
    assert {query: one["tree"] for by_query in told for query, one in by_query.items()} == {
        "stays": "1",
        "edited": "1",
        "goes": "2",
    }
    results = sum(one["results"] for by_query in told for one in by_query.values())
    assert results == sum(block.size for block in engine.blocks)
    windows = sum(one["windows"] for by_query in told for one in by_query.values())
    assert windows == len(engine.blocks)
