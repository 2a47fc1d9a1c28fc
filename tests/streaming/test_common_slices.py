"""Partials that lanes share are those that each would have made of the events by itself."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming import partials
from streaming.aggregates.gathering import Order
from streaming.aggregates.states import parts_of
from streaming.common_slices import common_lanes
from streaming.lanes import LATEST, Cut, Lane, Signature
from streaming.left_out import LeftOut

BASE = 1_700_000_000_000
TYPES = {"device": "text", "temp": "number", "load": "number"}


@st.composite
def lanes(draw: st.DrawFn) -> list[Lane]:
    found = []
    for number in range(draw(st.integers(2, 6))):
        periods = draw(st.lists(st.integers(1, 8), min_size=1, max_size=3))
        classes = {(period * 500, draw(st.integers(0, period * 5 - 1)) * 100) for period in periods}
        since = BASE - draw(st.integers(0, 3)) * 700
        aggregates = draw(st.lists(st.sampled_from(["sum", "max", "min", "first", "count"]), min_size=1))
        signature = Signature(
            draw(st.sampled_from([None, "temp > 3"])),
            draw(st.sampled_from([(), ("device",)])),
            draw(st.sampled_from(["temp", "load"])),
            parts_of(aggregates),
        )
        cuts = (Cut(since, LATEST, tuple(sorted(classes))),)
        if draw(st.booleans()):
            cuts = (Cut(since - 10_000, since, ((1_000, 0),)), *cuts)
        found.append(Lane(f"lane{number}", str(number), "flatfit", signature, cuts))
    return found


def events(count: int, seed: int) -> tuple[pa.Table, Order]:
    rng = np.random.default_rng(seed)
    times = BASE + np.sort(rng.integers(0, 9_000, count))
    table = pa.table(
        {
            "device": rng.choice(["a", "b", "c"], count),
            "temp": rng.integers(0, 9, count).astype(float),
            "load": pa.array(rng.integers(0, 9, count).astype(float), mask=rng.random(count) < 0.2),
        }
    )
    return table, Order(times, np.arange(count, dtype=float))


def told(made: list[partials.LanePartials]) -> dict[tuple[object, ...], tuple[object, ...]]:
    return {
        (each.lane, each.start[at], each.keys.tuples()[each.group[at]]): (
            each.events[at],
            each.values[at],
            # As texts: NaN, the maximum of nothing, equals itself there.
            *(tuple(map(repr, part[:, at].tolist())) for part in each.parts),
        )
        for each in made
        for at in range(len(each.start))
    }


@settings(max_examples=80, deadline=None)
@given(chosen=lanes(), count=st.integers(0, 900), seed=st.integers(0, 99))
def test_lanes_together_make_the_partials_that_each_makes_alone(chosen, count, seed):
    table, order = events(count, seed)
    alone = [made for lane in chosen for made in partials.fold(table, order, [lane], TYPES, LeftOut())]
    assert told(partials.fold(table, order, chosen, TYPES, LeftOut())) == told(alone)


def test_only_lanes_that_all_events_belong_to_are_fed():
    def lane(name: str, period: int, since: int, until: int = LATEST) -> Lane:
        signature = Signature(None, (), "temp", ("sum",))
        return Lane(name, name, "flatfit", signature, (Cut(since, until, ((period, 0),)),))

    given_lanes = [lane("a", 1_000, 0), lane("b", 700, 50), lane("c", 300, 101), lane("d", 200, 0, 90)]
    fed, common = common_lanes(given_lanes, earliest=100)
    assert [each.feed is not None for each in fed] == [True, True, False, False]
    assert [(each.cuts, each.kept) for each in common] == [
        ((Cut(50, LATEST, ((700, 0), (1_000, 0))),), False)
    ]
    assert common_lanes(given_lanes[:1], 100) == (given_lanes[:1], [])
