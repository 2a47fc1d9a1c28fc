"""Every page, call and socket, as every role: what is hidden from somebody is hidden wherever it is asked
for, and a viewer changes nothing anywhere. The walks are over the URL map: nothing new is forgotten."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from channels.testing import WebsocketCommunicator
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from dashboard.accounts import gate
from dashboard.accounts.levels import NOTHING
from dashboard.accounts.people import ADMINISTRATORS_ALONE, VIEWERS_LOOK
from dashboard.accounts.tokens import make_token
from dashboard.live.routing import websocket_urlpatterns
from dashboard.models import Alert, Board, Panel, SavedQuery, Source
from dashboard.planning.verifying import Verifying
from tests.dashboard.conftest import open_as, signed_in_as
from tests.dashboard.places import source_at

SECRETS = ("Hot devices", "Secret title", "Secret alert", "Plant floor")
CHANGING = ("post", "put", "patch", "delete")
# Addresses with a parameter that names no source, query, dashboard or connection: who may use them is tested
# where they are.
OTHERS = re.compile(
    r"^(api/)?(account|tokens|notices|people|groups|password|audit|(queries/)?backtests|plan/verified|shared|bin)\b"
)


def routes(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        else:
            yield route


ALL = sorted(set(routes(get_resolver().url_patterns)))
OF_A_THING = [one for one in ALL if "<" in one and not OTHERS.match(one)]
ADMINISTRATION = [one for one in ALL if one.startswith(gate.ADMINISTRATION)]
OPEN_TO_VIEWERS = (*gate.OWN_AFFAIRS, *gate.ADMINISTRATION)
CHANGES = [one for one in ALL if not one.startswith(OPEN_TO_VIEWERS) and one not in gate.MERE_LOOKS]


@pytest.fixture
def plant(hot: SavedQuery, ana: User) -> Board:
    board = Board.objects.create(slug="plant", name="Plant floor", owner=ana)
    Panel.objects.create(board=board, query=hot, title="Secret title")
    Alert.objects.create(
        key="too-hot",
        query=hot,
        name="Secret alert",
        computation="max(temp)",
        window="1m/10s",
        condition="above",
        owner=ana,
    )
    return board


@pytest.fixture
def hidden(plant: Board, hot: SavedQuery) -> None:
    Source.objects.update(for_all=NOTHING)
    Board.objects.update(for_all=NOTHING)


def addressed(route: str, hot: SavedQuery) -> str:
    """The address of a real thing in the place of the first parameter; anything for the others."""
    first = {
        "sources": "sensors",
        "plan": "sensors",
        "queries": hot.key,
        "history": hot.key,
        "alerts": "too-hot",
        "dashboards": "plant",
        "dashboards/of-query": hot.key,
        "connections": hot.source.connection.key,
    }[re.sub(r"^api/", "", route).partition("/<")[0]]
    filled = re.sub(r"<slug:\w+>", first, route, count=1)
    return "/" + re.sub(r"<(?:(\w+):)?\w+>", lambda found: "1" if found[1] == "int" else "text", filled)


def test_the_walks_find_what_there_is() -> None:
    assert {"sources/<slug:key>/download/", "dashboards/<slug:slug>/access/"} <= set(OF_A_THING)
    assert {"api/queries/<slug:key>/pause", "plan/<slug:key>/estimates/"} <= set(OF_A_THING)
    assert {"history/<slug:key>/results.csv", "api/alerts/<slug:key>/firings"} <= set(OF_A_THING)
    assert {"people/<int:pk>/", "audit/", "api/groups/<int:number>"} <= set(ADMINISTRATION)
    assert {"queries/bulk/", "api/sources", "connections/test/"} <= set(CHANGES)


@pytest.mark.parametrize("route", [one for one in OF_A_THING if "connections/" not in one])
def test_what_is_hidden_is_refused_at_every_address(
    hidden: None, hot: SavedQuery, bo: User, as_bo: Client, route: str
) -> None:
    address = addressed(route, hot)
    bearer = {"Authorization": f"Bearer {make_token(bo, 'script', None)[1]}"}
    is_call = address.startswith("/api/")
    for method in ("get", *CHANGING):
        answer = getattr(Client() if is_call else as_bo, method)(address, headers=bearer if is_call else {})
        if answer.status_code == 405:
            continue
        page = answer.content.decode()
        assert answer.status_code == 403, (method, address)
        assert "Ana owns it and can give you access." in page
        assert not [name for name in SECRETS if name in page]


@pytest.mark.parametrize("route", CHANGES)
def test_a_viewer_changes_nothing_at_any_address(
    plant: Board, hot: SavedQuery, vera: User, as_vera: Client, route: str
) -> None:
    address = addressed(route, hot) if route in OF_A_THING else "/" + re.sub(r"<[^>]+>", "1", route)
    bearer = {"Authorization": f"Bearer {make_token(vera, 'script', None)[1]}"}
    is_call = address.startswith("/api/") and route not in ("api/", "api/docs")
    for method in CHANGING:
        answer = getattr(Client() if is_call else as_vera, method)(address, headers=bearer if is_call else {})
        if answer.status_code == 405:
            continue
        assert answer.status_code == 403, (method, address)
        is_connection = "/connections/" in address and route in OF_A_THING
        sentence = "Connections are shown to editors." if is_connection else VIEWERS_LOOK
        assert sentence in answer.content.decode(), (method, address)


@pytest.mark.parametrize("route", ADMINISTRATION)
def test_administration_is_for_administrators(
    ana: User, ada: User, as_ana: Client, as_ada: Client, route: str
) -> None:
    address = "/" + re.sub(r"<int:\w+>", str(ana.pk), route)
    bearer = {"Authorization": f"Bearer {make_token(ana, 'script', None)[1]}"}
    is_call = address.startswith("/api/")
    for method in ("get", "post"):
        answer = getattr(Client() if is_call else as_ana, method)(address, headers=bearer if is_call else {})
        assert answer.status_code in (403, 405)
        if answer.status_code == 403:
            assert ADMINISTRATORS_ALONE in answer.content.decode()
    assert as_ada.get(address).status_code in (200, 404, 405)


@pytest.mark.parametrize(
    "address", ["/", "/dashboards/", "/queries/", "/sources/", "/plan/", "/connections/", "/alerts/"]
)
def test_lists_name_nothing_that_is_hidden(
    hidden: None, hot: SavedQuery, as_bo: Client, address: str
) -> None:
    page = as_bo.get(address, follow=True).content.decode()
    assert not [name for name in (*SECRETS, ">sensors<") if name in page]


def test_calls_list_nothing_that_is_hidden(hidden: None, as_bo: Client, as_ana: Client) -> None:
    for address in ("/api/sources", "/api/queries", "/api/dashboards", "/api/alerts"):
        assert as_bo.get(address).json()["count"] == 0
        assert as_ana.get(address).json()["count"] == 1


def test_a_board_shows_others_no_panel_of_a_hidden_query(
    hidden: None, hot: SavedQuery, as_bo: Client
) -> None:
    Board.objects.update(for_all="see")
    page = as_bo.get("/dashboards/plant/").content.decode()
    assert "You may not see this query." in page
    assert "Ana owns it and can give you access." in page
    assert "Ask for access" in page
    assert not [name for name in ("Secret title", "Hot devices", "max(temp)", "sensors") if name in page]


@pytest.fixture
def half_hidden(hidden: None, plant: Board, bo: User) -> Panel:
    """A dashboard that everybody may change, with a panel of a hidden query beside one of Bo's own."""
    own = source_at(key="own", name="own", topic="own", schema=[["load", "number"]], created_by=bo)
    windows = [{"range": "1m", "slide": "1m"}]
    count = [{"aggregate": "count", "field": None}]
    mine = SavedQuery.objects.create(source=own, name="Mine", computations=count, windows=windows, owner=bo)
    Panel.objects.create(board=plant, query=mine, title="Mine", x=0, y=0)
    Board.objects.update(for_all="change")
    panel: Panel = plant.panels.get(title="Secret title")
    panel.shows = [{"query": panel.query.key, "windows": ["1m every 10s"], "computation": "max of temp"}]
    panel.settings = {"unit": "°F"}
    panel.save()
    return panel


OF_THE_HIDDEN = (*SECRETS[:3], "sensors", "max of temp", "max(temp)", "1m every 10s", "°F")
OF_A_BOARD = [one for one in OF_A_THING if "dashboards/<" in one]


@pytest.mark.parametrize("route", OF_A_BOARD)
def test_a_visible_board_tells_nothing_of_a_hidden_query_at_any_address(
    half_hidden: Panel, hot: SavedQuery, bo: User, as_bo: Client, route: str
) -> None:
    address = addressed(route, hot).replace("/panels/1/", f"/panels/{half_hidden.pk}/")
    address = re.sub(r"/panels/1$", f"/panels/{half_hidden.pk}", address)
    bearer = {"Authorization": f"Bearer {make_token(bo, 'script', None)[1]}"}
    is_call = address.startswith("/api/")
    for method in ("get", *CHANGING):
        send = {"content_type": "application/json"} if is_call or method != "post" else {"follow": True}
        asked = "?from=0&to=9999999999999" if method == "get" else ""
        client = Client() if is_call else as_bo
        answer = getattr(client, method)(address + asked, headers=bearer if is_call else {}, **send)
        page = answer.content.decode()
        assert not [name for name in OF_THE_HIDDEN if name in page], (method, address)
    half_hidden.refresh_from_db()
    assert (half_hidden.title, half_hidden.kind, half_hidden.deleted_at) == ("Secret title", "line", None)


@pytest.mark.parametrize("route", [one for one in OF_A_BOARD if "panels/<" in one])
def test_who_may_not_see_a_panel_does_not_change_it(
    half_hidden: Panel, hot: SavedQuery, as_bo: Client, route: str
) -> None:
    address = addressed(route, hot).replace("/panels/1", f"/panels/{half_hidden.pk}")
    for method in CHANGING:
        sent = {"title": "Mine now", "kind": "text"}
        answer = getattr(as_bo, method)(address, sent, content_type="application/json")
        if answer.status_code != 405:
            assert answer.status_code == 403, (method, address)
            assert "Ana owns it and can give you access." in answer.content.decode()


def test_a_call_shows_of_a_hidden_panel_its_place_alone(half_hidden: Panel, as_bo: Client) -> None:
    shown = as_bo.get("/api/dashboards/plant").json()["panels"]
    assert [(panel["title"], panel["unseen"]) for panel in shown] == [
        ("Mine", None),
        ("", "You may not see this query. Ana owns it and can give you access."),
    ]
    assert (shown[1]["id"], shown[1]["shows"], shown[1]["w"]) == (half_hidden.pk, [], half_hidden.w)


def test_panels_that_are_sent_do_not_replace_hidden_ones(
    half_hidden: Panel, plant: Board, as_bo: Client
) -> None:
    sent = {"panels": [{"title": "Words", "kind": "text", "text": "Hello"}]}
    answer = as_bo.patch("/api/dashboards/plant", sent, content_type="application/json")
    assert {panel["title"] for panel in answer.json()["panels"]} == {"Words", ""}
    assert set(plant.panels.values_list("title", flat=True)) == {"Words", "Secret title"}


def test_of_a_panel_with_a_hidden_query_the_others_are_seen(
    half_hidden: Panel, hot: SavedQuery, as_bo: Client, as_ana: Client
) -> None:
    """It can be renamed and removed; what it shows is changed by who sees all of it."""
    mine = SavedQuery.objects.get(name="Mine")
    half_hidden.shows.append({"query": mine.key})
    half_hidden.title = "Both"
    half_hidden.save()
    shown = as_bo.get("/api/dashboards/plant").json()["panels"][1]
    assert (shown["title"], [one["query"] for one in shown["shows"]]) == ("Both", [mine.key])
    page = as_bo.get("/dashboards/plant/").content.decode()
    assert "1 more that you may not see" in page
    assert not [name for name in OF_THE_HIDDEN if name in page.replace("°F", "")]
    address = f"/dashboards/plant/panels/{half_hidden.pk}"
    assert f"{address}/edit/" not in page
    assert as_bo.get(f"{address}/edit/").status_code == 403
    sent = {"shows": [{"query": mine.key}]}
    assert as_bo.patch(f"/api{address}", sent, content_type="application/json").status_code == 403
    assert as_bo.post(f"{address}/rename/", {"title": "Two"}).status_code == 302
    half_hidden.refresh_from_db()
    assert (half_hidden.title, len(half_hidden.shows)) == ("Two", 2)


def test_what_is_typed_cannot_name_what_is_hidden(hidden: None, hot: SavedQuery, as_bo: Client) -> None:
    form = as_bo.get(f"/queries/new/?source=sensors&copy={hot.key}").content.decode()
    assert "No sources yet." in form
    source_at(key="own", name="own", topic="own", schema=[["temp", "number"]])
    typed = {"view": "sql", "sql": "SELECT max(temp) FROM sensors WINDOW TUMBLING (1m)", "name": "x"}
    assert "No source “sensors”." in as_bo.post("/queries/new/", typed).content.decode()
    body = {"name": "x", "sql": typed["sql"]}
    answer = as_bo.post("/api/queries", body, content_type="application/json")
    assert answer.json() == {"problems": {"source": "No source “sensors”."}}
    for keys in ({"key": hot.key, "do": "pause"},):
        assert as_bo.post("/queries/bulk/", keys).status_code == 403
    mine = Board.objects.create(slug="mine", name="Mine")
    as_bo.post("/dashboards/mine/panels/", {"query": hot.key})
    assert not mine.panels.exists()
    assert SavedQuery.objects.count() == 1


@pytest.fixture
def verified_by_bo(hot: SavedQuery, bo: User, settings: LazySettings, tmp_path: Path) -> str:
    """The key of a verification that is done; the right on its source is withdrawn since."""
    settings.VAR_DIR = tmp_path
    task = Verifying(tmp_path / "verifying" / "0123456789abcdef")
    task.folder.mkdir(parents=True)
    task.write("asked", {"person": bo.pk, "query": hot.key, "minutes": 5})
    task.write("run", {"began": 0})
    task.write("summary", {"rows": 1, "different": 0})
    task.rows.write_text('{"group": ["Secret group"]}\n')
    return task.key


VERIFIED = [one for one in ALL if one.startswith("plan/verified/")]


@pytest.mark.parametrize("route", VERIFIED)
def test_what_was_verified_is_hidden_with_its_source(
    verified_by_bo: str, as_bo: Client, as_ana: Client, as_ada: Client, route: str
) -> None:
    address = "/" + re.sub(r"<\w+:task>", verified_by_bo, route)
    ask = "post" if "cancel" in route else "get"
    assert getattr(as_bo, ask)(address).status_code in (200, 302)
    refused = getattr(as_ana, ask)(address)
    assert refused.status_code == 403
    assert "Run your own from the plan page." in refused.content.decode()
    Source.objects.update(for_all=NOTHING)
    answer = getattr(as_bo, ask)(address)
    assert answer.status_code == 403
    assert "Ana owns it and can give you access." in answer.content.decode()
    assert not [name for name in (*SECRETS, "Secret group") if name in answer.content.decode()]
    assert getattr(as_ada, ask)(address).status_code in (200, 302)


def test_a_call_tells_nothing_of_what_was_verified_of_a_hidden_source(
    verified_by_bo: str, hot: SavedQuery, as_bo: Client, as_ana: Client
) -> None:
    address = f"/api/sources/sensors/verify/{verified_by_bo}"
    assert as_bo.get(address).json()["rows"] == 1
    assert as_ana.get(address).json() == {
        "problem": "You may not see this verification. Run your own from the plan page."
    }
    own = source_at(key="own", name="own", topic="own", schema=[["load", "number"]])
    Source.objects.exclude(pk=own.pk).update(for_all=NOTHING)
    for asked in (address, address.replace("sensors", "own")):
        assert as_bo.get(asked).status_code in (403, 404)
        assert as_bo.post(f"{asked}/cancel").status_code in (403, 404)
    assert "Hot devices" not in as_bo.get("/plan/own/verify/").content.decode()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "route", sorted(str(one.pattern) for one in websocket_urlpatterns if "<" in str(one.pattern))
)
async def test_a_socket_about_a_hidden_thing_does_not_open(route: str, hidden_for_sockets: User) -> None:
    from channels.routing import URLRouter

    address = "/" + re.sub(r"<slug:\w+>", "sensors", route)
    communicator = WebsocketCommunicator(URLRouter(websocket_urlpatterns), address)
    await open_as(communicator, hidden_for_sockets)
    connected, _ = await communicator.connect()
    assert not connected


@pytest.fixture
def hidden_for_sockets(sensors: Source, bo: User) -> User:
    Source.objects.update(for_all=NOTHING)
    return bo


def test_a_viewer_is_not_offered_what_they_cannot_do(as_vera: Client, as_ana: Client, plant: Board) -> None:
    assert "data-only-looks" in as_vera.get("/queries/").content.decode()
    assert "data-only-looks" not in as_ana.get("/queries/").content.decode()
    assert "Add panel" not in as_vera.get("/dashboards/plant/").content.decode()
    for address in ("/sources/new/", "/queries/new/", "/dashboards/new/", "/connections/new/"):
        assert as_vera.get(address).status_code == 403


def test_rights_cost_few_questions(plant: Board, hot: SavedQuery, bo: User) -> None:
    """A list asks the database no more often because it is long."""
    client = signed_in_as(bo)

    def asked() -> int:
        from django.test.utils import CaptureQueriesContext

        with CaptureQueriesContext(
            connection,
        ) as captured:
            client.get("/dashboards/plant/")
        return len(captured)

    client.get("/dashboards/plant/")
    before = asked()
    for number in range(10):
        Panel.objects.create(board=plant, query=hot, title=f"Panel {number}")
    assert asked() == before
