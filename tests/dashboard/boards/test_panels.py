"""Panels of every kind: checked by one form, edited beside a preview, put where there is room."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.boards.forms import PanelForm
from dashboard.boards.kinds import KINDS
from dashboard.boards.places import Place, laid_out
from dashboard.models import Board, FirstBoard, Panel, SavedQuery
from tests.dashboard.api.conftest import Ask, asks_with

pytestmark = pytest.mark.django_db


@pytest.fixture
def plant(ana: User, hot: SavedQuery) -> Board:
    board = Board.objects.create(slug="plant", name="Plant", owner=ana, tags=["floor"])
    Panel.objects.create(board=board, query=hot, title="Hot", x=0, y=0)
    return board


@pytest.fixture
def ask(ana: User) -> Ask:
    from dashboard.accounts.tokens import make_token

    return asks_with(make_token(ana, "script", None)[1])


def problems(hot: SavedQuery, **changed: Any) -> dict[str, str]:
    form = PanelForm({"title": "Hot", "kind": "line", "shows": [{"query": hot.key}], **changed})
    return {field: lines[0] for field, lines in form.errors.items()}


@pytest.mark.parametrize(
    ("changed", "field", "sentence"),
    [
        ({"title": " "}, "title", "Give the panel a title."),
        ({"kind": "pie"}, "kind", "There is no “pie” here: choose from line, area, stacked, bar, number, "),
        ({"shows": []}, "shows", "Choose a query."),
        ({"shows": [{"query": "gone"}]}, "shows", "This query no longer exists: choose another."),
        ({"decimals": "7"}, "decimals", "Decimals must be a whole number from 0 to 6."),
        ({"groups": "51"}, "groups", "The number of groups must be a whole number from 1 to 50."),
        ({"least": "5", "greatest": "5"}, "least", "The least value must be below the greatest."),
        ({"scale": "log", "least": "0"}, "least", "A logarithmic scale begins above 0."),
        ({"least": "x"}, "least", "The least value must be a number."),
        ({"thresholds": [{"value": "hot", "colour": "bad"}]}, "thresholds", "“hot” is not a number."),
        ({"thresholds": [{"value": "nan", "colour": "bad"}]}, "thresholds", "“nan” is not a number."),
        ({"thresholds": [{"value": 1, "colour": "pink"}]}, "thresholds", "A threshold is ok, warn or bad."),
        (
            {"thresholds": [{"value": 1, "colour": "ok"}, {"value": "1.0", "colour": "bad"}]},
            "thresholds",
            "Two thresholds begin at the same value: keep one of them.",
        ),
        ({"unit": "a very long unit"}, "unit", "A unit has at most 12 characters."),
        ({"right_unit": "a very long unit"}, "right_unit", "A unit has at most 12 characters."),
        ({"right_decimals": "-1"}, "right_decimals", "Decimals must be a whole number from 0 to 6."),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(
    hot: SavedQuery, changed: dict[str, Any], field: str, sentence: str
) -> None:
    found = problems(hot, **changed)
    assert list(found) == [field]
    assert found[field].startswith(sentence)


def test_a_window_or_computation_that_a_query_does_not_have_is_refused(hot: SavedQuery) -> None:
    shows = [{"query": hot.key, "windows": ["2m every 1m"]}]
    assert problems(hot, shows=shows) == {"shows": "“Hot devices” has no window “2m every 1m”."}
    shows = [{"query": hot.key, "computation": "min of temp"}]
    assert problems(hot, shows=shows) == {"shows": "“Hot devices” does not compute “min of temp”."}


def test_only_what_the_kind_heeds_and_differs_from_the_default_is_kept(hot: SavedQuery) -> None:
    form = PanelForm(
        {
            "title": "Hot",
            "kind": "top",
            "shows": [{"query": hot.key, "windows": ["5m every 10s", "1m every 10s"]}],
            "unit": "°C",
            "groups": "20",
            "scale": "log",
            "thresholds": [{"value": 30, "colour": "bad"}, {"value": None, "colour": "ok"}],
        }
    )
    assert form.is_valid(), form.errors
    panel = form.fill(Panel())
    steps = [{"value": None, "colour": "ok"}, {"value": 30.0, "colour": "bad"}]
    assert panel.settings == {"unit": "°C", "groups": 20, "thresholds": steps}
    assert panel.shows == [{"query": hot.key}], "all windows are said by none"
    assert panel.query == hot


def test_the_right_axis_has_a_unit_and_decimals_of_its_own(as_ana: Client, ask: Ask, plant: Board) -> None:
    panel = plant.panels.get()
    address = f"/dashboards/plant/panels/{panel.pk}"
    typed = {
        "title": "Both",
        "kind": "line",
        "show": ["0", "1"],
        **{f"show-{row}-query": panel.query.key for row in (0, 1)},
        "show-1-axis": "right",
        "unit": "ms",
        "right_unit": "/ min",
        "right_decimals": "1",
    }
    told = as_ana.post(f"{address}/preview/", typed).json()["panel"]
    assert (told["unit"], told["right_unit"], told["right_decimals"]) == ("ms", "/ min", 1)
    assert [shown.get("axis") for shown in told["shows"]] == [None, "right"]
    as_ana.post(f"{address}/edit/", typed)
    page = as_ana.get(f"{address}/edit/").content.decode()
    assert 'name="right_unit" value="/ min"' in page
    (shown,) = ask("get", "dashboards/plant").json()["panels"]
    assert (shown["right_unit"], shown["right_decimals"]) == ("/ min", 1)
    changed = ask("patch", f"dashboards/plant/panels/{panel.pk}", {"right_unit": "req/s"}).json()
    assert (changed["unit"], changed["right_unit"], changed["right_decimals"]) == ("ms", "req/s", 1)
    stacked = as_ana.post(f"{address}/preview/", {**typed, "kind": "stacked"}).json()["panel"]
    assert not [name for name in stacked if name.startswith("right_")]
    assert not any("axis" in shown for shown in stacked["shows"]), "a stack has one axis"


def test_every_kind_has_a_module_that_draws_it() -> None:
    from django.conf import settings

    folder = settings.BASE_DIR / "static" / "js" / "live" / "kinds"
    for kind in KINDS:
        assert "export class Kind" in (folder / f"{kind}.js").read_text()


def test_panels_are_put_where_there_is_room() -> None:
    assert laid_out([(6, 19), (3, 9), (3, 19), (3, 10), (12, 5)]) == [
        Place(0, 0, 6, 19),
        Place(6, 0, 3, 9),
        Place(9, 0, 3, 19),
        Place(6, 9, 3, 10),
        Place(0, 19, 12, 5),
    ]


def test_the_editor_previews_and_saves(as_ana: Client, plant: Board, hot: SavedQuery) -> None:
    panel = plant.panels.get()
    address = f"/dashboards/plant/panels/{panel.pk}"
    assert as_ana.get(f"{address}/edit/").status_code == 200
    typed = {
        "title": "Hottest",
        "kind": "number",
        "show": ["4"],
        "show-4-query": hot.key,
        "show-4-window": ["5m every 10s"],
        "unit": "°C",
        "change": "5m",
        "threshold": ["40"],
        "threshold-colour": ["bad"],
    }
    told = as_ana.post(f"{address}/preview/", typed).json()
    assert told["problems"] == {}
    assert told["panel"]["shows"] == [{"query": hot.key, "windows": ["5m every 10s"], "name": "Hot devices"}]
    assert plant.panels.get().title == "Hot", "nothing is saved by a preview"
    bad = as_ana.post(f"{address}/preview/", {**typed, "title": ""}).json()
    assert bad == {"problems": {"title": "Give the panel a title."}}
    assert as_ana.post(f"{address}/edit/", {**typed, "title": ""}).status_code == 422
    as_ana.post(f"{address}/edit/", typed)
    panel.refresh_from_db()
    assert (panel.title, panel.kind, panel.settings["change"]) == ("Hottest", "number", "5m")


def test_a_text_has_no_query_and_is_escaped_where_it_travels(as_ana: Client, plant: Board) -> None:
    answer = as_ana.post("/dashboards/plant/panels/", {"kind": "text"})
    panel = plant.panels.get(kind="text")
    assert answer.headers["Location"].endswith(f"/panels/{panel.pk}/edit/")
    evil = '"><script>alert(1)</script>'
    as_ana.post(f"/dashboards/plant/panels/{panel.pk}/edit/", {"title": "Note", "kind": "text", "text": evil})
    panel.refresh_from_db()
    assert panel.settings == {"text": evil}
    assert "<script>alert" not in as_ana.get("/dashboards/plant/").content.decode()


def test_a_dashboard_is_made_of_one_query_in_one_click(as_ana: Client, hot: SavedQuery) -> None:
    answer = as_ana.post(f"/dashboards/of-query/{hot.key}/", follow=True)
    board = Board.objects.get()
    assert answer.status_code == 200
    assert board.name == "Hot devices"
    assert [panel.kind for panel in board.panels.all()] == ["line", "top", "heat", "bar"]


@pytest.mark.parametrize(("template", "kinds"), [("", []), ("groups", ["top", "heat"]), ("wall", ["top"])])
def test_a_dashboard_begins_with_a_template(
    as_ana: Client, hot: SavedQuery, template: str, kinds: list[str]
) -> None:
    as_ana.post("/dashboards/new/", {"name": "Night", "template": template, "source": "sensors"})
    assert [panel.kind for panel in Board.objects.get().panels.all()] == kinds


def test_a_duplicate_has_the_same_panels_and_its_own_owner(as_bo: Client, plant: Board) -> None:
    as_bo.post("/dashboards/plant/duplicate/")
    copy = Board.objects.get(slug="copy-of-plant")
    assert copy.owner is not None
    assert (copy.owner.username, copy.tags) == ("bo", ["floor"])
    assert [panel.title for panel in copy.panels.all()] == ["Hot"]
    copy.panels.update(title="Other")
    assert plant.panels.get().title == "Hot"


def test_a_favourite_is_somebodys_own_and_stands_first(as_ana: Client, as_bo: Client, plant: Board) -> None:
    Board.objects.create(slug="attic", name="Attic")
    as_ana.post("/dashboards/plant/star/", {"starred": "yes", "back": "list"})
    names = [row["board"].name for row in as_ana.get("/dashboards/").context["rows"]]
    assert names == ["Plant", "Attic"]
    assert [row["board"].name for row in as_bo.get("/dashboards/").context["rows"]] == ["Attic", "Plant"]
    assert "Favourites</h2>" in as_ana.get("/queries/").content.decode()
    as_ana.post("/dashboards/plant/star/", {"starred": "no"})
    assert not plant.starred_by.exists()


def test_signing_in_leads_to_the_dashboard_that_somebody_chose(
    as_ana: Client, as_bo: Client, plant: Board, hot: SavedQuery
) -> None:
    Board.objects.create(slug="attic", name="Attic")
    as_ana.post("/dashboards/attic/first/", {"first": "yes"})
    assert as_ana.get("/start/").headers["Location"] == "/dashboards/attic/"
    assert as_bo.get("/start/").headers["Location"] == "/"
    as_ana.post("/dashboards/attic/first/", {"first": "no"})
    assert not FirstBoard.objects.exists()
    assert as_ana.get("/start/").headers["Location"] == "/"


def test_a_deleted_dashboard_comes_back_with_undo(as_ana: Client, plant: Board) -> None:
    page = as_ana.post("/bin/dashboard/delete/?key=plant", follow=True).content.decode()
    assert "Deleted “Plant”." in page
    assert as_ana.get("/dashboards/plant/").status_code == 404
    as_ana.post("/bin/dashboard/restore/?key=plant")
    assert "Hot" in as_ana.get("/dashboards/plant/").content.decode()


def test_dashboards_are_found_by_tag_and_a_search_without_an_answer_says_so(
    as_ana: Client, plant: Board
) -> None:
    assert "Plant" in as_ana.get("/dashboards/?q=floor").content.decode()
    assert "No dashboard matches “roof”." in as_ana.get("/dashboards/?q=roof").content.decode()
    as_ana.post("/dashboards/plant/rename/", {"name": "Plant", "tags": "roof, , roof, night"})
    assert Board.objects.get().tags == ["roof", "night"]


def test_a_kiosk_goes_round_what_it_was_told(as_ana: Client, ana: User, plant: Board) -> None:
    Board.objects.create(slug="attic", name="Attic", tags=["wall"])
    assert as_ana.get("/dashboards/plant/?of=tag:wall").context["rotation"] == ["/dashboards/attic/"]
    assert as_ana.get("/dashboards/plant/?of=favourites").context["rotation"] == []
    assert len(as_ana.get("/dashboards/plant/?of=all").context["rotation"]) == 2


def test_the_api_arranges_panels_and_refuses_what_leaves_the_grid(ask: Ask, plant: Board) -> None:
    panel = plant.panels.get()
    place = {"panel": panel.pk, "x": 3, "y": 4, "w": 9, "h": 12}
    assert ask("put", "dashboards/plant/layout", {"panels": [place]}).status_code == 204
    panel.refresh_from_db()
    assert (panel.x, panel.y, panel.w, panel.h) == (3, 4, 9, 12)
    refused = ask("put", "dashboards/plant/layout", {"panels": [{**place, "x": 4}]})
    assert refused.status_code == 422
    assert refused.json() == {
        "problems": {"panels": "A panel lies within 12 columns and is 2 to 100 rows high."}
    }
    panel.refresh_from_db()
    assert panel.x == 3


def test_the_api_makes_changes_and_removes_with_the_sentences_of_the_form(
    ask: Ask, plant: Board, hot: SavedQuery
) -> None:
    shows = [{"query": hot.key, "windows": ["5m every 10s"]}]
    made = ask("post", "dashboards/plant/panels", {"title": "Gauge", "kind": "gauge", "shows": shows}).json()
    assert (made["x"], made["y"], made["w"]) == (6, 0, 3)
    address = f"dashboards/plant/panels/{made['id']}"
    changed = ask("patch", address, {"unit": "°C", "thresholds": [{"value": 3, "colour": "bad"}]}).json()
    assert (changed["unit"], changed["shows"][0]["windows"]) == ("°C", ["5m every 10s"])
    refused = ask("patch", address, {"title": ""})
    assert refused.json() == {"problems": {"title": "Give the panel a title."}}
    assert ask("delete", address).json()["kind"] == "panel"
    assert ask("delete", address).json() == {"problem": f"There is no panel {made['id']} on “Plant”."}
    assert ask("post", f"{address}/restore").json()["title"] == "Gauge"
    named = ask("post", "dashboards", {"name": "B", "panels": [{"title": "P", "kind": "bar"}]})
    assert named.json() == {"problems": {"panels": "Panel 1, “P”: Choose a query."}}
    assert ask("post", "dashboards", {"name": ""}).json() == {
        "problems": {"name": "Give the dashboard a name."}
    }


def test_what_a_page_tells_the_browser_can_be_read(as_ana: Client, plant: Board, hot: SavedQuery) -> None:
    (view,) = as_ana.get("/dashboards/plant/").context["panels"]
    assert json.loads(view["told"]) == {"kind": "line", "shows": [{"query": hot.key, "name": "Hot devices"}]}
