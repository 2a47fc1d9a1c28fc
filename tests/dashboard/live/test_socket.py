"""The socket: signed-in people only, and only what exists."""

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser, User
from django.utils import timezone

from dashboard.accounts.sharing import ask_for_access, set_access
from dashboard.audit.recording import rights_version
from dashboard.bin.actions import delete, restore
from dashboard.live.consumers import LINK_ENDED, LiveConsumer
from dashboard.live.hub import Arrivals, Hub
from dashboard.models import Board, Panel, SavedQuery, ShareLink
from dashboard.past.links import make_link, revoke
from dashboard.queries.actions import (
    change_query,
    pause_queries,
    resume_queries,
)
from tests.dashboard.conftest import PASSWORD, open_as
from tests.dashboard.live.messages import block, status

NOW = 1_800_000_000_000
ANOTHER = "otter-below-the-dam-4"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def hub() -> Hub:
    hub = Hub()
    hub.caught_up = True
    return hub


class Page(WebsocketCommunicator):
    """The browser's end: takes the messages of a frame one by one, and acknowledges each."""

    def __init__(self, hub: Hub) -> None:
        super().__init__(LiveConsumer.as_asgi(start_relay=lambda: hub), "/ws/live/")
        self.waiting: list[dict[str, Any]] = []

    async def next_message(self) -> dict[str, Any]:
        if not self.waiting:
            self.waiting = await self.receive_json_from(timeout=8)
        return self.waiting.pop(0)


async def page_of(hub: Hub, user: User | AnonymousUser) -> Page:
    page = Page(hub)
    await open_as(page, user)
    return page


@pytest.fixture
async def of_ana(hub: Hub, ana: User) -> AsyncIterator[Page]:
    page = await page_of(hub, ana)
    connected, _ = await page.connect(timeout=5)
    assert connected
    assert (await page.next_message())["type"] == "state"
    yield page
    listening = len(hub.listeners)
    await page.disconnect()
    assert len(hub.listeners) == listening - 1


async def next_of(page: Page, kind: str) -> dict[str, Any]:
    while (message := await page.next_message())["type"] != kind:
        await page.send_json_to({"type": "ack", "count": message["count"]})
    return message


async def changed(hub: Hub, *keys: str) -> None:
    """What the relay tells when results have come."""
    for listener in tuple(hub.listeners):
        await listener.told(frozenset(keys))


async def plan_made(hub: Hub) -> None:
    """What the relay tells when it finds a new plan."""
    for listener in tuple(hub.listeners):
        await listener.plan_made()


async def test_a_stranger_is_refused(hub: Hub) -> None:
    connected, _ = await (await page_of(hub, AnonymousUser())).connect()
    assert not connected


async def test_watching_a_query_gives_a_snapshot_then_updates(
    hub: Hub, of_ana: Page, hot: SavedQuery
) -> None:
    hub.take(Arrivals(blocks=[block(NOW, {("d1",): 3.5}, query=f"{hot.key}@1m/10s")]))
    await of_ana.send_json_to({"type": "watch", "queries": [hot.key]})
    snapshot = await next_of(of_ana, "snapshot")
    assert snapshot["source"] == "sensors"
    assert snapshot["series"][0]["points"] == [[NOW, 3.5, True]]
    hub.take(Arrivals(blocks=[block(NOW + 10_000, {("d1",): 4.5}, query=f"{hot.key}@1m/10s")]))
    await changed(hub, hot.key)
    update = await next_of(of_ana, "update")
    assert update["sequence"] == 2
    assert update["series"][0]["points"] == [[NOW + 10_000, 4.5, True]]


async def test_watching_again_begins_again_with_a_snapshot(of_ana: Page, hot: SavedQuery) -> None:
    for _ in range(2):
        await of_ana.send_json_to({"type": "watch", "queries": [hot.key]})
        assert (await next_of(of_ana, "snapshot"))["sequence"] == 1


async def test_what_does_not_exist_is_called_missing(of_ana: Page) -> None:
    await of_ana.send_json_to({"type": "watch", "queries": ["gone"], "sources": ["nowhere"]})
    assert [(await next_of(of_ana, "missing"))["key"] for _ in range(2)] == ["gone", "nowhere"]


async def test_a_deleted_query_is_missing(of_ana: Page, hot: SavedQuery) -> None:
    await database_sync_to_async(SavedQuery.objects.filter(pk=hot.pk).update)(deleted_at="2026-01-01T00:00Z")
    await of_ana.send_json_to({"type": "watch", "queries": [hot.key]})
    assert (await next_of(of_ana, "missing"))["key"] == hot.key


async def test_messages_that_make_no_sense_are_passed_over(of_ana: Page, hot: SavedQuery) -> None:
    for nonsense in (
        17,
        ["watch"],
        {"type": "ack", "count": "x"},
        {"type": "watch", "queries": [{}], "sources": 3},
    ):
        await of_ana.send_json_to(nonsense)
    await of_ana.send_json_to({"type": "watch", "queries": [hot.key]})
    assert (await next_of(of_ana, "snapshot"))["query"] == hot.key


async def test_an_open_panel_hears_that_its_query_is_paused_and_resumed(
    hub: Hub, of_ana: Page, hot: SavedQuery, ana: User
) -> None:
    await of_ana.send_json_to({"type": "watch", "queries": [hot.key]})
    assert (await next_of(of_ana, "snapshot"))["paused"] is None
    await database_sync_to_async(pause_queries)([hot], ana)
    await plan_made(hub)
    assert (await next_of(of_ana, "snapshot"))["paused"]["by"] == "Ana"
    await database_sync_to_async(resume_queries)([hot], ana)
    await plan_made(hub)
    assert (await next_of(of_ana, "snapshot"))["paused"] is None


async def test_an_open_panel_hears_that_its_query_is_deleted_and_brought_back(
    hub: Hub, of_ana: Page, hot: SavedQuery, ana: User
) -> None:
    await of_ana.send_json_to({"type": "watch", "queries": [hot.key]})
    await next_of(of_ana, "snapshot")
    await database_sync_to_async(delete)([hot], ana)
    await plan_made(hub)
    assert (await next_of(of_ana, "missing"))["key"] == hot.key
    await database_sync_to_async(restore)([hot], ana)
    await plan_made(hub)
    assert (await next_of(of_ana, "snapshot"))["query"] == hot.key


async def test_an_edit_is_marked_and_the_series_of_another_query_stays_whole(
    hub: Hub, of_ana: Page, hot: SavedQuery, ana: User
) -> None:
    other = await database_sync_to_async(SavedQuery.objects.create)(
        source=hot.source,
        owner=ana,
        name="Other",
        computations=[{"aggregate": "count"}],
        windows=[{"range": "1m", "slide": "10s"}],
    )
    await database_sync_to_async(change_query)(hot, hot.spec(), ana)
    hub.take(Arrivals(blocks=[block(NOW, {(): 1.0}, query=f"{other.key}@1m/10s")]))
    await of_ana.send_json_to({"type": "watch", "queries": [hot.key, other.key]})
    await next_of(of_ana, "snapshot")
    await next_of(of_ana, "snapshot")
    await database_sync_to_async(change_query)(hot, replace(hot.spec(), where="temp > 20"), ana)
    hub.take(Arrivals(blocks=[block(NOW + 10_000, {(): 2.0}, query=f"{other.key}@1m/10s")]))
    await plan_made(hub)
    edited = await next_of(of_ana, "snapshot")
    assert edited["query"] == hot.key
    assert [text for _, text in edited["edits"]] == ["Ana: filter changed"]
    await changed(hub, other.key)
    update = await next_of(of_ana, "update")  # no new beginning: the viewer keeps what it has
    assert (update["query"], update["sequence"]) == (other.key, 2)
    assert update["series"][0]["points"] == [[NOW + 10_000, 2.0, True]]


async def test_a_list_of_queries_is_kept_up_to_date(
    hub: Hub, of_ana: Page, hot: SavedQuery, ana: User
) -> None:
    await of_ana.send_json_to({"type": "watch", "rows": [hot.key]})
    assert (await next_of(of_ana, "rows"))["rows"][hot.key]["state"] == "absent"
    await database_sync_to_async(pause_queries)([hot], ana)
    await plan_made(hub)
    while (await next_of(of_ana, "rows"))["rows"][hot.key]["state"] != "paused":
        pass  # one that was under way


async def rights_changed(hub: Hub) -> None:
    """What the relay tells when it finds that somebody's rights changed."""
    for listener in tuple(hub.listeners):
        await listener.rights_changed()


@pytest.fixture
async def of_bo(hub: Hub, bo: User) -> AsyncIterator[Page]:
    page = await page_of(hub, bo)
    await page.connect()
    yield page
    await page.disconnect()


HIDDEN = {
    "kind": "query",
    "bold": "You may not see this query.",
    "rest": "Ana owns it and can give you access.",
}


def told(message: dict[str, Any]) -> dict[str, Any]:
    return {name: message[name] for name in HIDDEN}


async def hide(ana: User, hot: SavedQuery, for_all: str = "none") -> None:
    await database_sync_to_async(set_access)(hot.source, for_all, [], ana)


async def test_a_query_that_may_not_be_seen_is_refused_when_it_is_asked_for(
    hub: Hub, of_bo: Page, hot: SavedQuery, ana: User
) -> None:
    await hide(ana, hot)
    hub.take(Arrivals(blocks=[block(NOW, {("d1",): 3.5}, query=f"{hot.key}@1m/10s")]))
    await of_bo.send_json_to(
        {"type": "watch", "queries": [hot.key], "sources": ["sensors"], "rows": [hot.key]}
    )
    refused = await next_of(of_bo, "refused")
    assert (refused["key"], told(refused)) == (hot.key, HIDDEN)
    assert (await next_of(of_bo, "refused"))["kind"] == "source"
    await changed(hub, hot.key)
    assert await only_states(of_bo)


async def only_states(page: Page) -> bool:
    """Whether what still comes says nothing of queries, sources and lists."""
    return all(message["type"] == "state" for message in await all_that_comes(page))


async def all_that_comes(page: Page) -> list[dict[str, Any]]:
    messages = page.waiting
    while not await page.receive_nothing(timeout=0.3):
        messages += await page.receive_json_from(timeout=8)
    page.waiting = []
    return messages


async def test_a_right_that_is_withdrawn_while_watching_ends_the_stream_at_once(
    hub: Hub, of_bo: Page, of_ana: Page, hot: SavedQuery, ana: User
) -> None:
    for communicator in (of_bo, of_ana):
        await communicator.send_json_to({"type": "watch", "queries": [hot.key]})
        await next_of(communicator, "snapshot")
    await hide(ana, hot)
    await rights_changed(hub)
    refused = await next_of(of_bo, "refused")
    assert (refused["key"], told(refused)) == (hot.key, HIDDEN)
    hub.take(Arrivals(blocks=[block(NOW, {("d1",): 9.0}, query=f"{hot.key}@1m/10s")]))
    await changed(hub, hot.key)
    assert (await next_of(of_ana, "update"))["series"][0]["points"] == [[NOW, 9.0, True]]
    assert await only_states(of_bo)
    await hide(ana, hot, "see")
    await rights_changed(hub)
    assert (await next_of(of_bo, "snapshot"))["series"][0]["points"] == [[NOW, 9.0, True]]


async def test_a_new_plan_does_not_bring_back_what_was_withdrawn(
    hub: Hub, of_bo: Page, hot: SavedQuery, ana: User
) -> None:
    await of_bo.send_json_to({"type": "watch", "queries": [hot.key], "rows": [hot.key]})
    await next_of(of_bo, "snapshot")
    await hide(ana, hot)
    await plan_made(hub)  # before anybody noticed that rights changed
    assert (await next_of(of_bo, "refused"))["key"] == hot.key
    await rights_changed(hub)
    await plan_made(hub)
    assert await only_states(of_bo)


async def test_a_board_that_may_not_be_seen_any_more_is_said(
    hub: Hub, of_bo: Page, hot: SavedQuery, ana: User
) -> None:
    board = await database_sync_to_async(Board.objects.create)(slug="plant", name="Plant", owner=ana)
    await of_bo.send_json_to({"type": "watch", "queries": [hot.key], "board": "plant"})
    await next_of(of_bo, "snapshot")
    await database_sync_to_async(set_access)(board, "none", [], ana)
    await rights_changed(hub)
    refused = await next_of(of_bo, "refused")
    assert (refused["kind"], refused["key"]) == ("dashboard", "plant")


async def test_who_may_not_sign_in_any_more_is_cut_off(hub: Hub, of_bo: Page, bo: User) -> None:
    await next_of(of_bo, "state")
    await database_sync_to_async(User.objects.filter(pk=bo.pk).update)(is_active=False)
    await rights_changed(hub)
    assert await of_bo.receive_output() == {"type": "websocket.close", "code": 4401}


async def test_an_ended_session_closes_its_socket(hub: Hub, bo: User) -> None:
    communicator = Page(hub)
    browser = await open_as(communicator, bo)
    await communicator.connect()
    await next_of(communicator, "state")
    await rights_changed(hub)
    assert (await next_of(communicator, "notices"))["waiting"] == 0
    await database_sync_to_async(browser.post)("/sign-out/")
    await rights_changed(hub)
    assert await communicator.receive_output() == {"type": "websocket.close", "code": 4401}


async def test_another_password_ends_the_sockets_of_other_browsers(hub: Hub, of_bo: Page, bo: User) -> None:
    communicator = Page(hub)
    browser = await open_as(communicator, bo)
    await communicator.connect()
    for page in (communicator, of_bo):
        await next_of(page, "state")
    before = browser.session.session_key
    typed = {"old_password": PASSWORD, "new_password1": ANOTHER, "new_password2": ANOTHER}
    await database_sync_to_async(browser.post)("/account/password/", typed)
    assert browser.session.session_key != before
    await rights_changed(hub)
    assert await of_bo.receive_output() == {"type": "websocket.close", "code": 4401}
    assert (await next_of(communicator, "notices"))["waiting"] == 0
    await communicator.disconnect()


async def test_who_is_asked_for_access_hears_of_it_in_the_page(
    hub: Hub, of_ana: Page, hot: SavedQuery, ana: User, bo: User
) -> None:
    await of_ana.send_json_to({"type": "watch", "queries": [hot.key]})
    await next_of(of_ana, "snapshot")
    await hide(ana, hot)
    await database_sync_to_async(ask_for_access)(bo, hot)
    await rights_changed(hub)
    notice = await next_of(of_ana, "notices")
    assert (notice["waiting"], notice["sentence"]) == (1, "Bo asks to see the source “sensors”.")


async def test_the_job_card_names_no_source_that_is_hidden(
    hub: Hub, of_bo: Page, of_ana: Page, hot: SavedQuery, ana: User
) -> None:
    await hide(ana, hot)
    hub.state.observe(status(NOW, sensors={"state": "failing", "since": NOW, "error": "x", "batch": 1}))
    hub.shared.clear()
    for communicator, failing in ((of_bo, []), (of_ana, ["sensors"])):
        await all_that_comes(communicator)
        await communicator.send_json_to({"type": "watch", "queries": []})
        states = [one for one in await all_that_comes(communicator) if one["type"] == "state"]
        assert states[-1]["failing"] == failing


async def test_a_link_shows_the_queries_of_its_dashboard_until_it_is_revoked(
    hub: Hub, hot: SavedQuery, ana: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, token = await database_sync_to_async(_link_to)(hot, ana)
    other = await database_sync_to_async(SavedQuery.objects.create)(
        source=hot.source,
        owner=ana,
        name="Elsewhere",
        computations=[{"aggregate": "count"}],
        windows=[{"range": "1m", "slide": "10s"}],
    )
    page = await page_of(hub, AnonymousUser())
    page.scope["query_string"] = f"share={token}".encode()
    connected, _ = await page.connect(timeout=5)
    assert connected
    wanted = {"type": "watch", "queries": [hot.key, other.key], "rows": [other.key], "sources": ["sensors"]}
    await page.send_json_to(wanted)
    told = []
    while not told or told[-1]["type"] != "snapshot":
        told.append(await page.next_message())
    assert told[-1]["query"] == hot.key
    assert all(message.get("query") != other.key and message["type"] != "rows" for message in told)
    await database_sync_to_async(revoke)(link)
    monkeypatch.setattr("dashboard.live.consumers.time", _Later())
    await changed(hub)
    assert await page.receive_output() == {"type": "websocket.close", "code": LINK_ENDED}


async def test_a_revoked_link_ends_at_once_in_every_process(hub: Hub, hot: SavedQuery, ana: User) -> None:
    """As everything that changes who sees what, it is in the log that each process looks at."""
    link, token = await database_sync_to_async(_link_to)(hot, ana)
    page = await page_of(hub, AnonymousUser())
    page.scope["query_string"] = f"share={token}".encode()
    assert (await page.connect())[0]
    before = await database_sync_to_async(rights_version)()
    await database_sync_to_async(revoke)(link)
    assert await database_sync_to_async(rights_version)() > before
    await rights_changed(hub)
    while (answer := await page.receive_output())["type"] != "websocket.close":
        pass
    assert answer["code"] == LINK_ENDED


class _Later:
    @staticmethod
    def monotonic() -> float:
        return time.monotonic() + 3_600


def _link_to(query: SavedQuery, person: User) -> tuple[ShareLink, str]:
    board = Board.objects.create(slug="hall", name="Hall", owner=person)
    Panel.objects.create(board=board, query=query, title="Hot")
    return make_link(board, person, "", timezone.now() + timedelta(days=1))


@pytest.mark.parametrize("query_string", [b"share=guessed", b"share=", b"", b"share=%ff&share=x"])
async def test_a_made_up_link_is_refused(hub: Hub, query_string: bytes) -> None:
    page = await page_of(hub, AnonymousUser())
    page.scope["query_string"] = query_string
    connected, _ = await page.connect()
    assert not connected
