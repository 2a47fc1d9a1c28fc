"""Every plan of every strategy, carried out as planned, gives the answers of the naive evaluation."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer import Statistics, optimize
from optimizer.queries import Query
from optimizer.strategies import STRATEGIES
from optimizer.windows import Window
from tests.optimizer.evaluation import FILTERS, Event, answers_by_plan, naive_answers

UNTIL = 40  # ticks; windows are as long as a fraction of it so that many of their spans are whole

windows = st.builds(
    lambda slide, overlap, rest: Window(slide * overlap + rest % slide, slide),
    st.sampled_from([1, 2, 3, 4, 5, 6, 8, 10]),
    st.integers(1, 3),
    st.integers(0, 5),
)
events = st.lists(
    st.fixed_dictionaries(
        {
            "t": st.integers(0, UNTIL - 1),
            "v": st.integers(-5, 5),
            "a": st.integers(0, 2),
            "b": st.integers(0, 2),
            "x": st.integers(0, 8),
        }
    ),
    min_size=1,
    max_size=25,
)
statistics_sets = st.builds(
    Statistics,
    rate=st.sampled_from([0.5, 20.0, 2000.0, 1e6]),
    groups=st.sampled_from([{}, {("a",): 3, ("b",): 3}, {("a",): 3, ("b",): 3, ("a", "b"): 9}]),
    model=st.sampled_from(["papers", "calibrated"]),
)


@st.composite
def query_sets(draw: st.DrawFn) -> list[Query]:
    return [
        Query(
            f"q{number}",
            f"q{number}",
            draw(st.sampled_from(["count", "sum", "mean", "stddev", "min", "max", "range"])),
            "v",
            draw(windows),
            draw(st.sampled_from([(), ("a",), ("b",), ("a", "b"), ("b", "a")])),
            draw(st.sampled_from([None, *filter(None, FILTERS)])),
        )
        for number in range(draw(st.integers(1, 7)))
    ]


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=60, deadline=None)
@given(queries=query_sets(), statistics=statistics_sets, stream=events, nodes=st.integers(1, 3))
def test_a_plan_carried_out_as_planned_gives_the_naive_answers(
    strategy: str, queries: list[Query], statistics: Statistics, stream: list[Event], nodes: int
) -> None:
    plan = optimize(queries, statistics, strategy=strategy, nodes=nodes)
    found = answers_by_plan(plan, stream, UNTIL)
    assert found == {query.id: naive_answers(query, stream, UNTIL) for query in queries}


def test_feeds_of_every_kind_are_among_the_plans_that_are_carried_out() -> None:
    """So that the test above cannot pass for want of feeds."""
    grouped = [
        Query(f"g{i}", f"g{i}", "sum", "v", Window(4, 2), by) for i, by in enumerate([("a",), ("b",), ()])
    ]
    filtered = [
        Query(f"f{i}", f"f{i}", "sum", "v", Window(4, 2), (), where)
        for i, where in enumerate(["x > 1", "x > 5"])
    ]
    tumbling = [Query(f"t{i}", f"t{i}", "max", "v", Window(i, i)) for i in (2, 4, 6)]
    fast = Statistics(rate=1e6, groups={("a",): 3, ("b",): 3})
    phantom = optimize(grouped[:2], fast, strategy="best")
    fragments = optimize(filtered, fast, strategy="best")
    factor = optimize(tumbling, fast, strategy="best")
    assert any(not tree.queries and set(tree.key.group_by) == {"a", "b"} for tree in phantom.trees)
    assert any(tree.key.fragments for tree in fragments.trees if not tree.queries)
    assert any(tree.through for tree in factor.trees)
