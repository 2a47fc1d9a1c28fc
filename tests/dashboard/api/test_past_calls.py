"""Notes, links, kept results and what is seen first, over the API: the pages' rights and sentences."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.accounts.levels import NOTHING
from dashboard.models import Board, HistoryPolicy, Note, Panel, SavedQuery, ShareLink, Source
from dashboard.past.models import DETAIL_DAYS, KEPT_DAYS
from tests.dashboard.api.conftest import Ask

pytestmark = pytest.mark.django_db


@pytest.fixture
def plant(hot: SavedQuery, ana: User) -> Board:
    board = Board.objects.create(slug="plant", name="Plant", owner=ana)
    Panel.objects.create(board=board, query=hot, title="Hot", x=0, y=0)
    return board


def test_a_link_is_made_listed_and_revoked(ask: Ask, ask_as_bo: Ask, plant: Board, stranger: Client) -> None:
    made = ask("post", "dashboards/plant/links", {"label": "the hall", "days": "30"})
    assert made.status_code == 201
    address = made.json()["address"]
    assert stranger.get(address).status_code == 200
    (listed,) = ask("get", "dashboards/plant/links").json()["items"]
    assert (listed["label"], listed["is_open"], listed["address"]) == ("the hall", True, None)
    own = f"dashboards/plant/links/{listed['id']}"
    for method, asked in (("post", "dashboards/plant/links"), ("delete", own)):
        refused = ask_as_bo(method, asked, {} if method == "post" else None)
        assert refused.json() == {"problem": "You may not say who sees this dashboard. Ana owns it."}
    other = Board.objects.create(slug="other", name="Other", owner=plant.owner)
    assert ask("delete", f"dashboards/{other.slug}/links/{listed['id']}").status_code == 404
    assert ask("delete", own).status_code == 204
    assert stranger.get(address).status_code == 404
    assert not ShareLink.objects.get().is_open
    refused = ask("post", "dashboards/plant/links", {"days": "8"})
    assert refused.json() == {"problems": {"days": "Choose for how long the link holds."}}


def test_a_note_is_removed_by_who_wrote_it(ask: Ask, ask_as_bo: Ask, plant: Board) -> None:
    made = ask_as_bo("post", "dashboards/plant/notes", {"time": 60_000, "text": "Deployed 4.2"}).json()
    assert (made["author"], made["text"]) == ("bo", "Deployed 4.2")
    assert ask("get", "dashboards/plant/notes").json()["items"] == [made]
    refused = ask("delete", f"dashboards/plant/notes/{made['id']}")
    assert refused.json() == {"problem": "Only who wrote a note may remove it."}
    assert ask_as_bo("delete", f"dashboards/plant/notes/{made['id']}").status_code == 204
    assert not Note.objects.exists()
    wrong = ask("post", "dashboards/plant/notes", {"time": -1, "text": "x" * 141}).json()["problems"]
    assert wrong == {"time": "Say at which time the note belongs.", "text": "Keep it to 140 characters."}


def test_how_long_results_are_kept_is_said_by_the_owner(ask: Ask, ask_as_bo: Ask, hot: SavedQuery) -> None:
    address = f"queries/{hot.key}/history/policy"
    nothing = {"detail_days": DETAIL_DAYS, "kept_days": KEPT_DAYS, "first": None, "size": 0}
    assert ask_as_bo("get", address).json() == nothing
    days = {"detail_days": 3, "kept_days": 30}
    assert ask_as_bo("put", address, days).status_code == 403
    assert ask("put", address, days).json() == nothing | days == ask("get", address).json()
    assert HistoryPolicy.objects.get().kept_days == 30
    refused = ask("put", address, {"detail_days": 0, "kept_days": 30}).json()
    assert refused == {"problems": {"detail_days": "Give a number of days from 1 to 3,650."}}


def test_kept_results_are_those_of_the_pages(ask: Ask, as_ana: Client, hot: SavedQuery) -> None:
    asked = "from=0&to=60000"
    told = ask("get", f"queries/{hot.key}/history?{asked}").json()
    assert told == as_ana.get(f"/history/?queries={hot.key}&{asked}").json()[hot.key]
    for wrong in ("from=0", "from=5&to=1", "from=0&to=9&top=99", "from=0&to=9&groups=x"):
        refused = ask("get", f"queries/{hot.key}/history?{wrong}")
        page = as_ana.get(f"/history/?queries={hot.key}&{wrong}")
        assert refused.json() == {"problems": {"range": page.json()["problem"]}}


def test_what_somebody_sees_first_is_their_own_affair(ask: Ask, ask_as_bo: Ask, plant: Board) -> None:
    assert ask_as_bo("put", "dashboards/plant/first").status_code == 204
    assert ask_as_bo("get", "account/first-dashboard").json() == {"dashboard": "plant"}
    assert ask("get", "account/first-dashboard").json() == {"dashboard": None}
    assert ask_as_bo("delete", "dashboards/plant/first").status_code == 204
    assert ask_as_bo("get", "account/first-dashboard").json() == {"dashboard": None}
    ask_as_bo("put", "dashboards/plant/first")
    Board.objects.update(for_all=NOTHING)
    assert ask_as_bo("get", "account/first-dashboard").json() == {"dashboard": None}


@pytest.mark.parametrize(
    ("template", "kinds"), [("overview", ["line"]), ("groups", ["top", "heat"]), ("wall", ["top"])]
)
def test_a_dashboard_is_made_of_a_template(
    ask: Ask, as_ana: Client, hot: SavedQuery, template: str, kinds: list[str]
) -> None:
    """As the page makes it; panels that are sent come after its own."""
    text: dict[str, Any] = {"title": "Words", "kind": "text", "text": "Hello"}
    made = ask("post", "dashboards", {"name": "One", "template": template, "source": "sensors"}).json()
    assert [panel["kind"] for panel in made["panels"]] == kinds
    both = ask("post", "dashboards", {"name": "Two", "template": template, "panels": [text]}).json()
    assert {panel["kind"] for panel in both["panels"]} == {*kinds, "text"}
    as_ana.post("/dashboards/new/", {"name": "Three", "template": template, "source": "sensors"})
    page = Board.objects.get(name="Three").panels.values_list("kind", flat=True)
    assert list(page) == kinds


def test_a_template_is_filled_with_what_its_maker_may_see(ask_as_bo: Ask, hot: SavedQuery) -> None:
    Source.objects.update(for_all=NOTHING)
    assert ask_as_bo("post", "dashboards", {"name": "One", "template": "wall"}).json()["panels"] == []
    refused = ask_as_bo("post", "dashboards", {"name": "One", "source": "sensors"}).json()
    assert refused == {"problems": {"source": "This source no longer exists: choose another."}}


def test_a_template_that_there_is_not_is_refused_here_and_on_the_page(
    ask: Ask, as_ana: Client, hot: SavedQuery
) -> None:
    sentence = "There is no template “x”: choose from overview, groups, wall."
    refused = ask("post", "dashboards", {"name": "One", "template": "x"})
    assert refused.json() == {"problems": {"template": sentence}}
    page = as_ana.post("/dashboards/new/", {"name": "One", "template": "x"})
    assert (page.status_code, sentence in page.content.decode()) == (422, True)
