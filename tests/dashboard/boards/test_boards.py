"""Dashboards: made, filled, renamed; a removed panel comes back with Undo."""

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.utils import timezone

from dashboard.models import Board, Panel, SavedQuery

pytestmark = pytest.mark.django_db


@pytest.fixture
def plant(as_ana: Client) -> Board:
    as_ana.post("/dashboards/new/", {"name": "Plant floor"})
    return Board.objects.get()


@pytest.fixture
def panel(plant: Board, hot: SavedQuery) -> Panel:
    return Panel.objects.create(board=plant, query=hot, title="Hot devices", x=0, y=0)


@pytest.mark.parametrize("address", ["/dashboards/", "/dashboards/new/", "/dashboards/plant-floor/"])
def test_a_stranger_is_asked_to_sign_in(stranger: Client, plant: Board, address: str) -> None:
    assert stranger.get(address).headers["Location"].startswith("/sign-in/")


def test_a_new_dashboard_belongs_to_who_made_it_and_is_opened(as_ana: Client) -> None:
    answer = as_ana.post("/dashboards/new/", {"name": "Plant floor"})
    board = Board.objects.get()
    assert answer.headers["Location"] == "/dashboards/plant-floor/"
    assert board.owner is not None
    assert board.owner.username == "ana"


def test_two_dashboards_of_one_name_have_their_own_addresses(as_ana: Client) -> None:
    for _ in range(2):
        as_ana.post("/dashboards/new/", {"name": "Plant"})
    assert set(Board.objects.values_list("slug", flat=True)) == {"plant", "plant-2"}


def test_a_dashboard_called_new_does_not_hide_the_form(as_ana: Client) -> None:
    as_ana.post("/dashboards/new/", {"name": "New"})
    assert Board.objects.get().slug == "new-2"


def test_a_dashboard_without_a_name_is_refused_beside_the_field(as_ana: Client) -> None:
    answer = as_ana.post("/dashboards/new/", {"name": " "})
    assert answer.status_code == 422
    assert "Give the dashboard a name." in answer.content.decode()
    assert not Board.objects.exists()


def test_what_nobody_can_see_is_no_part_of_a_name(as_ana: Client, panel: Panel) -> None:
    answer = as_ana.post("/dashboards/new/", {"name": "Plant\0floor"})
    assert answer.status_code == 422
    sentence = "Remove the control character U+0000 after “Plant”."
    assert sentence in answer.content.decode()
    address = f"/dashboards/{panel.board.slug}/panels/{panel.pk}/rename/"
    assert sentence in as_ana.post(address, {"title": "Plant\0floor"}, follow=True).content.decode()


def test_an_empty_dashboard_says_so_and_offers_a_panel(as_ana: Client, plant: Board, hot: SavedQuery) -> None:
    page = as_ana.get("/dashboards/plant-floor/").content.decode()
    assert "No panels yet." in page
    assert "Add one from any of 1 query." in page


def test_a_dashboard_shows_its_panels_and_the_list_counts_them(as_ana: Client, panel: Panel) -> None:
    page = as_ana.get("/dashboards/plant-floor/").content.decode()
    assert f'data-live-query="{panel.query.key}"' in page
    assert "max of temp by device · sensors" in page
    assert '<td class="right">1</td>' in as_ana.get("/dashboards/").content.decode()


def test_a_panel_is_added_from_a_query_and_takes_its_name(
    as_bo: Client, plant: Board, hot: SavedQuery
) -> None:
    as_bo.post("/dashboards/plant-floor/panels/", {"query": hot.key})
    assert [panel.title for panel in plant.panels.all()] == ["Hot devices"]


def test_a_query_that_is_gone_makes_no_panel(as_ana: Client, plant: Board) -> None:
    answer = as_ana.post("/dashboards/plant-floor/panels/", {"query": "gone"}, follow=True)
    assert "No panel added: This query no longer exists: choose another." in answer.content.decode()
    assert not plant.panels.exists()


def test_a_deleted_querys_panel_is_not_shown(as_ana: Client, panel: Panel) -> None:
    SavedQuery.objects.filter(pk=panel.query.pk).update(deleted_at=timezone.now())
    assert "No queries yet." in as_ana.get("/dashboards/plant-floor/").content.decode()


def test_panels_and_dashboards_are_renamed(as_ana: Client, panel: Panel) -> None:
    as_ana.post(f"/dashboards/plant-floor/panels/{panel.pk}/rename/", {"title": "Hottest"})
    as_ana.post("/dashboards/plant-floor/rename/", {"name": "Night shift"})
    page = as_ana.get("/dashboards/plant-floor/").content.decode()
    assert "Hottest" in page
    assert "Night shift" in page


@pytest.mark.parametrize(("part", "field"), [("panels/{pk}/rename/", "title"), ("rename/", "name")])
def test_a_name_comes_back_with_undo(as_ana: Client, panel: Panel, part: str, field: str) -> None:
    answer = as_ana.post(f"/dashboards/plant-floor/{part.format(pk=panel.pk)}", {field: "Other"})
    (message,) = get_messages(answer.wsgi_request)
    assert str(message).endswith("to “Other”.")
    undone = as_ana.post(message.extra_tags)
    assert (Panel.objects.get().title, Board.objects.get().name) == ("Hot devices", "Plant floor")
    assert len(get_messages(undone.wsgi_request)) == 1, "only what was said before"


@pytest.mark.parametrize("part", ["panels/{pk}/rename/", "rename/"])
def test_nothing_is_renamed_to_nothing(as_ana: Client, panel: Panel, part: str) -> None:
    address = f"/dashboards/plant-floor/{part.format(pk=panel.pk)}"
    answer = as_ana.post(address, {"title": "", "name": ""}, follow=True)
    assert "Not renamed: Give the" in answer.content.decode()
    assert (Panel.objects.get().title, Board.objects.get().name) == ("Hot devices", "Plant floor")


def test_a_removed_panel_comes_back_in_its_place_with_undo(
    as_ana: Client, panel: Panel, hot: SavedQuery
) -> None:
    Panel.objects.create(board=panel.board, query=hot, title="Second", x=0, y=19)
    answer = as_ana.post(f"/bin/panel/delete/?key={panel.pk}")
    (message,) = get_messages(answer.wsgi_request)
    assert str(message) == "Removed “Hot devices”."
    assert [one.title for one in panel.board.panels.all()] == ["Second"]
    as_ana.post(message.extra_tags)
    assert [one.title for one in panel.board.panels.all()] == ["Hot devices", "Second"]


def test_an_undo_that_was_tampered_with_is_not_found(as_ana: Client, plant: Board) -> None:
    assert as_ana.post("/bin/panel/restore/?key=forged").status_code == 404


def test_a_link_cannot_remove_a_panel(as_ana: Client, panel: Panel) -> None:
    assert as_ana.get(f"/bin/panel/delete/?key={panel.pk}").status_code == 200
    assert Panel.objects.exists()
