"""What a new plan leaves alone, and what it lets go."""

from optimizer.queries import Query
from optimizer.windows import Window
from tests.streaming.engine import Engine, Event, brute_force, plan_of

BASE = 1_700_000_000_000
STAYS = Query("stays", "s", "max", "temp", Window(6_000, 2_000))
GOES = Query("goes", "s", "sum", "temp", Window(20_000, 1_000), ("device",))


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
