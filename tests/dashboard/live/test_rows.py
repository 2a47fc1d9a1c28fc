"""What a list says of each query: rate, share of the measured work, how long it warms up, a small line."""

from dataclasses import replace
from typing import Any

import pytest

from dashboard.live.feed import WatchedQuery, WatchedWindow
from dashboard.live.hub import Arrivals, Hub
from dashboard.live.rows import rows_message
from tests.dashboard.live.messages import block, meter, status

NOW = 1_800_000_000_000


def watched(key: str, **more: Any) -> WatchedQuery:
    window = WatchedWindow(f"{key}@1m/10s", 60_000, 10_000)
    return WatchedQuery(key, "sensors", "readings", "/sources/sensors/", 10_000, (), (window,), **more)


HOT, COLD = watched("hot"), watched("cold")


def tree(seconds: float) -> dict[str, Any]:
    return {"partials": 1, "kernel_steps": 1, "seconds": seconds, "groups": 1, "results": 1}


def worked(**changed: Any) -> Hub:
    """Ten seconds, a batch each: two queries share a tree, one has its own."""
    hub = Hub()
    queries = {
        "hot@1m/10s": {"tree": "1", "windows": 3, "results": 30},
        "cold@1m/10s": {"tree": "1", "windows": 1, "results": 10},
        "cold@5m/10s": {"tree": "2", "windows": 1, "results": 10},
    }
    trees = {"1": tree(0.008), "2": tree(0.002)}
    told = {"queries": queries, "trees": trees} | changed
    for at in range(11):
        hub.take(Arrivals(meters=[meter(at, clock=NOW - 10_000 + at * 1_000, **told)]))
    hub.take(Arrivals(status=[status(NOW, sensors={"state": "running", "since": 0, "error": None})]))
    return hub


def rows(hub: Hub, *queries: WatchedQuery) -> dict[str, Any]:
    return dict(rows_message(hub, queries, NOW, {})["rows"])


def test_a_query_has_its_part_of_what_its_trees_took() -> None:
    found = rows(worked(), HOT, COLD)
    assert found["hot"]["share"] == pytest.approx(0.6)
    assert found["cold"]["share"] == pytest.approx(0.4)


def test_the_rate_is_results_per_second_over_all_windows() -> None:
    found = rows(worked(), HOT, COLD)
    assert (found["hot"]["rate"], found["cold"]["rate"]) == (30.0, 20.0)


def test_what_is_not_measured_is_not_told() -> None:
    found = rows(Hub(), HOT)["hot"]
    assert (found["rate"], found["share"], found["due"], found["line"]) == (None, None, None, [])
    older = rows(worked(queries={"hot@1m/10s": 30}), HOT)["hot"]
    assert older["share"] is None


def test_a_query_that_warms_up_says_when_its_last_window_is_due() -> None:
    waiting = {"hot@1m/10s": NOW + 20_000, "hot@5m/10s": NOW + 120_000, "cold@1m/10s": NOW}
    assert rows(worked(waiting=waiting), HOT)["hot"]["due"] == NOW + 130_000


def test_only_the_queries_that_are_read_back_say_so() -> None:
    recall = {"queries": ["hot@1m/10s"], "read": 25, "messages": 100}
    found = rows(worked(recall=recall), HOT, COLD)
    assert (found["hot"]["recalled"], found["cold"]["recalled"]) == (0.25, None)


def test_the_line_is_the_first_windows_final_values() -> None:
    hub = worked()
    hub.take(Arrivals(blocks=[block(NOW - 30_000, {(): 4.0}), block(NOW - 1_000, {(): 9.0}, final=False)]))
    line = rows(hub, HOT)["hot"]["line"]
    assert [value for value in line if value is not None] == [4.0]


def test_the_line_of_a_slow_window_holds_between_its_answers() -> None:
    hub = worked()
    hub.take(Arrivals(blocks=[block(NOW - 300_000, {(): 4.0}), block(NOW - 30_000, {(): 5.0})]))
    slow = replace(HOT, windows=(replace(HOT.windows[0], slide=60_000),))
    line = rows(hub, slow)["hot"]["line"]
    assert [value for value in line if value is not None] == [4.0] * 4 + [5.0] * 2


def test_a_paused_query_says_so_whatever_its_source_does() -> None:
    by_ana = {"by": "Ana", "at": NOW, "address": "/queries/hot/"}
    found = rows(worked(), watched("hot", paused=by_ana))["hot"]
    assert (found["state"], found["paused"]) == ("paused", by_ana)
