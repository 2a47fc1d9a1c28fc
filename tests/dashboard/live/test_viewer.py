"""What one viewer is told: a snapshot, then changes; coalesced when the viewer is slow."""

import json
from dataclasses import replace

import pytest

from dashboard.live.feed import MOST_GROUPS, TOP_GROUPS, Message, Shared, WatchedQuery, WatchedWindow, frames
from dashboard.live.hub import Arrivals, Hub
from dashboard.live.viewer import UNACKNOWLEDGED, Viewer
from streaming.results import ResultBlock
from tests.dashboard.live.messages import arrived, block, meter

NOW = 1_800_000_000_000
MINUTE = WatchedWindow("hot@1m/10s", 60_000, 10_000)
FIVE = WatchedWindow("hot@5m/10s", 300_000, 10_000)
UNGROUPED = WatchedQuery("hot", "sensors", "readings", "/sources/sensors/", 10_000, (), (MINUTE, FIVE))
GROUPED = WatchedQuery("hot", "sensors", "readings", "/sources/sensors/", 10_000, ("device",), (MINUTE,))


@pytest.fixture
def hub() -> Hub:
    hub = Hub()
    hub.caught_up = True
    return hub


def watching(hub: Hub, query: WatchedQuery) -> Viewer:
    viewer = Viewer(hub)
    viewer.watch({"hot": query}, [], throughput=False)
    return viewer


def take(hub: Hub, viewer: Viewer, *blocks: ResultBlock) -> None:
    hub.take(Arrivals(blocks=list(blocks)))
    viewer.changed("hot")


def of_query(messages: list[Message]) -> list[Message]:
    return [message for message in arrived(messages) if message["type"] in ("snapshot", "update")]


def test_a_snapshot_comes_first_then_only_what_changed(hub: Hub) -> None:
    viewer = watching(hub, UNGROUPED)
    take(hub, viewer, block(NOW, {(): 1.0}), block(NOW, {(): 5.0}, query="hot@5m/10s"))
    (snapshot,) = of_query(viewer.news(NOW))
    assert (snapshot["type"], snapshot["sequence"]) == ("snapshot", 1)
    assert [one["points"] for one in snapshot["series"]] == [[[NOW, 1.0, True]], [[NOW, 5.0, True]]]
    take(hub, viewer, block(NOW + 10_000, {(): 2.0}, final=False))
    (update,) = of_query(viewer.news(NOW))
    assert (update["type"], update["sequence"]) == ("update", 2)
    assert [one["points"] for one in update["series"]] == [[[NOW + 10_000, 2.0, False]], []]


def test_nothing_new_is_no_message(hub: Hub) -> None:
    viewer = watching(hub, UNGROUPED)
    assert len(of_query(viewer.news(NOW))) == 1
    viewer.changed("hot")
    assert of_query(viewer.news(NOW)) == []


def test_another_querys_results_are_no_message(hub: Hub) -> None:
    viewer = watching(hub, UNGROUPED)
    viewer.news(NOW)
    take(hub, viewer, block(NOW, {(): 1.0}, query="other@1m/10s"))
    assert of_query(viewer.news(NOW)) == []


def test_of_many_groups_the_greatest_are_shown_and_all_are_counted(hub: Hub) -> None:
    viewer = watching(hub, GROUPED)
    take(hub, viewer, block(NOW, {(f"d{n}",): float(n) for n in range(50)}))
    (snapshot,) = of_query(viewer.news(NOW))
    assert [one["group"] for one in snapshot["series"]] == [[f"d{n}"] for n in range(49, 49 - TOP_GROUPS, -1)]
    assert snapshot["groups"] == 50


def test_a_group_that_rises_into_view_brings_its_whole_past(hub: Hub) -> None:
    viewer = watching(hub, GROUPED)
    take(hub, viewer, block(NOW, {(f"d{n}",): float(n) for n in range(TOP_GROUPS + 1)}))
    viewer.news(NOW)
    take(hub, viewer, block(NOW + 10_000, {("d0",): 99.0, ("d1",): 0.0}))
    (update,) = of_query(viewer.news(NOW))
    risen = next(one for one in update["series"] if one["group"] == ["d0"])
    assert risen["whole"]
    assert risen["points"] == [[NOW, 0.0, True], [NOW + 10_000, 99.0, True]]


def test_a_slow_viewer_gets_one_message_for_all_it_missed(hub: Hub) -> None:
    viewer = watching(hub, UNGROUPED)
    sent = viewer.news(NOW)
    for at in range(50):
        take(hub, viewer, block(NOW + at * 10_000, {(): float(at)}))
        sent += viewer.news(NOW)
    assert len(sent) <= UNACKNOWLEDGED + 1
    viewer.heard(acknowledged=len(sent))
    (missed,) = of_query(viewer.news(NOW))
    told = {point[0] for message in [*of_query(sent), missed] for point in message["series"][0]["points"]}
    assert told == {NOW + at * 10_000 for at in range(50)}


def test_no_query_is_told_before_the_past_has_been_read(hub: Hub) -> None:
    hub.caught_up = False
    viewer = watching(hub, UNGROUPED)
    take(hub, viewer, block(NOW, {(): 1.0}))
    assert [message["type"] for message in viewer.news(NOW)] == ["state", "source", "alerts"]
    hub.caught_up = True
    assert len(of_query(viewer.news(NOW))) == 1


def test_a_sources_health_adds_up_what_was_refused(hub: Hub) -> None:
    hub.take(Arrivals(meters=[meter(at, clock=NOW + at * 1000) for at in range(5)]))
    viewer = Viewer(hub)
    viewer.watch({}, ["sensors"], throughput=True)
    _, health, throughput, _ = viewer.news(NOW + 5_000)
    assert (health["late"], health["malformed"], health["misdated"]) == (10, 5, 20)
    assert health["aborted"] == 35
    assert health["rate"] == 1_000
    assert (health["state"], health["watermark"]) == ("absent", NOW - 6_000)
    assert throughput["type"] == "throughput"


def test_viewers_who_have_seen_the_same_are_told_the_same_bytes_made_once(hub: Hub) -> None:
    first, second = watching(hub, UNGROUPED), watching(hub, UNGROUPED)
    take(hub, first, block(NOW, {(): 1.0}))
    of_first, of_second = first.news(NOW)[-1], second.news(NOW)[-1]
    assert isinstance(of_first, Shared)
    assert isinstance(of_second, Shared)
    assert of_first.text is of_second.text
    latecomer = watching(hub, GROUPED)
    assert of_query(latecomer.news(NOW))[0]["group_by"] == ["device"]


def test_a_frame_says_what_its_messages_say(hub: Hub) -> None:
    viewer = watching(hub, UNGROUPED)
    take(hub, viewer, block(NOW, {(): 1.5}))
    viewer.watch({"hot": UNGROUPED}, ["sensors"], throughput=True)
    told = viewer.news(NOW)
    kinds = ["state", "source", "throughput", "warnings", "alerts", "snapshot"]
    assert [message["type"] for message in told] == kinds
    (frame,) = frames(told)
    heard = json.loads(frame)
    assert heard[-1].pop("series")[0]["points"] == [[NOW, 1.5, True]]
    assert heard == json.loads(json.dumps(told))
    assert {message["clock"] for message in told if "clock" in message} == {NOW}


def test_much_at_once_is_sent_in_frames_that_a_browser_can_take_in() -> None:
    messages: list[Message] = [{"count": number, "text": "x" * 100_000} for number in range(5)]
    told = [json.loads(frame) for frame in frames(messages)]
    assert [[one["count"] for one in frame] for frame in told] == [[0, 1], [2, 3], [4]]
    assert len(list(frames([{"text": "x" * 1_000_000}]))) == 1
    assert list(frames([])) == []


def test_the_second_picture_waits_until_the_first_has_been_read(hub: Hub) -> None:
    large = {(f"d{n}",): n + 0.123456789 for n in range(MOST_GROUPS)}
    for name in ("hot", "cold"):
        past = [block(NOW + at * 10_000, large, query=f"{name}@1m/10s") for at in range(80)]
        hub.take(Arrivals(blocks=past))
    queries = {
        name: replace(GROUPED, key=name, groups=MOST_GROUPS, windows=(replace(MINUTE, id=f"{name}@1m/10s"),))
        for name in ("hot", "cold")
    }
    viewer = Viewer(hub)
    viewer.watch(queries, [], throughput=False)
    (first,) = of_query(viewer.news(NOW))
    assert (first["query"], viewer.is_owed, viewer.news(NOW)) == ("cold", False, [])
    viewer.heard(first["count"])
    assert viewer.is_owed
    (second,) = of_query(viewer.news(NOW))
    assert (second["type"], second["query"], viewer.is_owed) == ("snapshot", "hot", False)
