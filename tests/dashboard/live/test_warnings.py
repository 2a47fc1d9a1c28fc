"""What a query leaves out is said where it is shown, and values of a source to those alone who may see it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from dashboard.live import viewer as viewers
from dashboard.live.feed import Message, WatchedQuery, WatchedWindow
from dashboard.live.hub import Arrivals, Hub
from dashboard.live.spans import KEPT_MS
from dashboard.live.viewer import Viewer
from dashboard.live.warnings import LONGEST_REASON, Places, left_out_of, values_left_out, warning_of
from streaming.group_index import GROUP_LIMIT, OTHER
from tests.dashboard.live.messages import arrived, meter

NOW = 1_800_000_000_000
WHY = "could not convert 'n/a' to a number"
HERE: Places = frozenset({(1, "1")})
LIMITED = f"More than {GROUP_LIMIT:,} groups: further ones are counted together as {OTHER}."
HOT = WatchedQuery(
    "hot", "sensors", "readings", "/s/", 10_000, (), (WatchedWindow("hot@1m/10s", 60_000, 10_000),)
)


def tree(failed: int = 0, why: str = "", *, limited: bool = False) -> dict[str, Any]:
    work = {"partials": 1, "kernel_steps": 1, "seconds": 0.1, "groups": 1, "results": 1, "slices": 1}
    return work | {"failed_values": failed, "failure": why, "groups_limited": limited}


def told(hub: Hub, batch: int, ago: int = 1_000, plan: int = 1, shard: int = 0, **trees: Any) -> None:
    numbered = {number.removeprefix("tree_"): work for number, work in trees.items()}
    hub.take(Arrivals(meters=[meter(batch, clock=NOW - ago, plan=plan, shard=shard, trees=numbered)]))


@pytest.fixture
def hub() -> Hub:
    hub = Hub()
    hub.caught_up = True
    return hub


def said(hub: Hub, places: Places = HERE, *, with_why: bool = True) -> str:
    return warning_of(left_out_of(hub, "sensors", NOW), places, with_why=with_why)


def test_of_a_tree_that_takes_all_there_is_nothing_to_say(hub: Hub) -> None:
    told(hub, 1, tree_1=tree())
    assert said(hub) == ""


def test_values_of_all_shards_and_batches_are_counted_with_the_first_reason(hub: Hub) -> None:
    told(hub, 1, tree_1=tree(2, WHY))
    told(hub, 1, shard=1, tree_1=tree(3, "something else"))
    told(hub, 2, tree_1=tree(1_000, "something else"))
    assert said(hub) == f"1,005 values left out in the last 15\u202fmin: {WHY}."


def test_one_value_is_one(hub: Hub) -> None:
    told(hub, 1, tree_1=tree(1, WHY))
    assert said(hub).startswith("1 value left out")


def test_what_is_long_ago_is_over(hub: Hub) -> None:
    told(hub, 1, ago=KEPT_MS, tree_1=tree(5, WHY))
    told(hub, 2, tree_1=tree())
    assert said(hub) == ""


def test_another_tree_says_nothing_of_this_one_nor_its_number_in_another_plan(hub: Hub) -> None:
    told(hub, 1, tree_2=tree(5, WHY))
    told(hub, 2, plan=2, tree_1=tree(5, WHY))
    assert said(hub) == ""
    assert said(hub, frozenset({(2, "1")})) != ""


def test_trees_of_one_query_leave_the_same_values_out_and_plans_follow_each_other(hub: Hub) -> None:
    told(hub, 1, tree_1=tree(5, WHY), tree_2=tree(7, WHY))
    told(hub, 2, plan=2, tree_4=tree(10, WHY))
    places: Places = frozenset({(1, "1"), (1, "2"), (2, "4")})
    assert said(hub, places).startswith("17 values ")


def test_too_many_groups_are_told_beside_values(hub: Hub) -> None:
    told(hub, 1, tree_1=tree(limited=True))
    assert said(hub) == LIMITED
    told(hub, 2, tree_1=tree(1, WHY, limited=True))
    assert said(hub) == f"1 value left out in the last 15\u202fmin: {WHY}. {LIMITED}"


def test_a_reason_quotes_values_and_is_for_those_who_may_see_the_source(hub: Hub) -> None:
    told(hub, 1, tree_1=tree(3, WHY))
    assert said(hub, with_why=False) == "3 values left out in the last 15\u202fmin."


def test_a_long_reason_is_cut() -> None:
    sentence = values_left_out(3, "no number in " + "very " * 100)
    assert len(sentence) < LONGEST_REASON + 40
    assert sentence.endswith(" …")


# --- to a viewer --------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """States and rows are told whenever there is something to tell, not once a second."""
    monkeypatch.setattr(viewers, "STATE_SECONDS", 0.0)
    monkeypatch.setattr(viewers, "ROWS_SECONDS", 0.0)


def viewer_of(hub: Hub, places: Mapping[str, Places], *, may_name: bool = True) -> Viewer:
    viewer = Viewer(hub)
    viewer.places = places
    viewer.may_name = {"sensors"} if may_name else set()
    viewer.watch({"hot": HOT, "cold": replace(HOT, key="cold")}, [], throughput=False)
    return viewer


def messages(viewer: Viewer, kind: str) -> list[Message]:
    return [message for message in arrived(viewer.news(NOW)) if message["type"] == kind]


def warnings(viewer: Viewer) -> list[Any]:
    return [message["queries"] for message in messages(viewer, "warnings")]


def test_a_viewer_is_told_once_and_again_when_it_changes(hub: Hub) -> None:
    viewer = viewer_of(hub, {"hot": HERE})
    told(hub, 1, tree_1=tree(3, WHY))
    assert warnings(viewer) == [{"hot": f"3 values left out in the last 15\u202fmin: {WHY}."}]
    told(hub, 2, tree_1=tree())
    assert warnings(viewer) == []
    told(hub, 3, tree_1=tree(1, WHY))
    assert warnings(viewer) == [{"hot": f"4 values left out in the last 15\u202fmin: {WHY}."}]


def test_that_a_warning_is_over_is_told_too(hub: Hub) -> None:
    viewer = viewer_of(hub, {"hot": HERE})
    told(hub, 1, tree_1=tree(3, WHY))
    assert warnings(viewer) != [{}]
    viewer.places = {"hot": frozenset({(2, "1")})}  # it was mended
    assert warnings(viewer) == [{}]


def test_somebody_with_a_link_reads_no_values(hub: Hub) -> None:
    viewer = viewer_of(hub, {"hot": HERE}, may_name=False)
    told(hub, 1, tree_1=tree(3, WHY))
    assert warnings(viewer) == [{"hot": "3 values left out in the last 15\u202fmin."}]


def test_a_list_tells_it_of_each_row(hub: Hub) -> None:
    viewer = viewer_of(hub, {"hot": HERE})
    viewer.list_rows({"hot": HOT, "cold": replace(HOT, key="cold")})
    told(hub, 1, tree_1=tree(3, WHY))
    (message,) = messages(viewer, "rows")
    assert message["rows"]["hot"]["warning"].startswith("3 values left out")
    assert message["rows"]["cold"]["warning"] == ""
