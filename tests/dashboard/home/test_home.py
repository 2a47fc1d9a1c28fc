"""Home: what to do first, what sharing saves, what goes on, and only what its reader may see."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.accounts.levels import NOTHING
from dashboard.models import Alert, Board, Evaluation, Panel, SavedQuery, Source
from dashboard.planning.service import replan
from tests.dashboard.places import source_at

pytestmark = pytest.mark.django_db


def shown(client: Client) -> str:
    return client.get("/").content.decode()


@pytest.mark.parametrize("address", ["/", "/search/", "/search/?q=hot"])
def test_a_stranger_is_asked_to_sign_in(stranger: Client, address: str) -> None:
    assert stranger.get(address).headers["Location"].startswith("/sign-in/")


def test_home_says_what_to_do_first(as_ana: Client) -> None:
    assert "No sources yet." in as_ana.get("/").content.decode()


def test_home_with_a_source_asks_for_a_query(as_ana: Client, sensors: object) -> None:
    assert "Say what you want to know about sensors." in as_ana.get("/").content.decode()


def test_home_with_queries_asks_for_a_dashboard(as_ana: Client, hot: SavedQuery) -> None:
    assert "No dashboards yet." in as_ana.get("/").content.decode()


def test_home_tells_what_sharing_saves_and_leads_to_dashboards_with_panels(
    as_ana: Client, hot: SavedQuery
) -> None:
    Board.objects.create(slug="empty", name="Empty")
    first = Board.objects.create(slug="first", name="First")
    Panel.objects.create(board=first, query=hot, title="Hot")
    assert "for the cost of" not in as_ana.get("/").content.decode()
    replan(hot.source, "Ana added “Hot devices”")
    page = as_ana.get("/").content.decode()
    assert "2 windows for the cost of 1." in page
    assert "headroom, at least, estimated" in page
    assert 'href="/dashboards/first/"' in page
    assert 'href="/dashboards/empty/"' not in page


def test_a_dashboard_is_sketched_as_it_is_laid_out(as_ana: Client, hot: SavedQuery) -> None:
    board = Board.objects.create(slug="first", name="First", tags=["plant"])
    Panel.objects.create(board=board, query=hot, title="Line", x=0, y=0, w=6, h=16)
    Panel.objects.create(board=board, query=hot, title="Gauge", kind="gauge", x=6, y=0, w=3, h=8)
    Panel.objects.create(board=board, query=hot, title="Far below", kind="heat", x=0, y=400, w=6, h=8)
    page = shown(as_ana)
    assert 'x="0.00%" y="0.00%" width="50.00%" height="50.00%"' in page
    assert 'x="50.00%" y="0.00%" width="25.00%" height="25.00%"' in page
    assert page.count("sketch-panel") == 2
    assert "3 panels" in page


def test_home_lists_alerts_that_are_not_well_alone(as_ana: Client, hot: SavedQuery, ana: User) -> None:
    assert "No alerts yet." in shown(as_ana)
    rule = {"computation": "max(temp)", "window": "1m/10s", "condition": "above", "threshold": 80.0}
    fires, calm = (
        Alert.objects.create(name=name, query=hot, owner=ana, **rule) for name in ("Too hot", "Too cold")
    )
    Evaluation.objects.create(alert=calm, state="ok")
    assert "Nothing fires." in shown(as_ana)
    Evaluation.objects.create(alert=fires, state="firing", firing=1)
    page = shown(as_ana)
    assert "Too hot" in page
    assert "Too cold" not in page


def test_home_tells_what_changed(as_ana: Client, hot: SavedQuery) -> None:
    replan(hot.source, "Ana added “Hot devices”")
    page = shown(as_ana)
    assert "Ana added “Hot devices”" in page
    assert f'href="/plan/{hot.source.key}/history/1/"' in page


def test_the_load_is_of_all_sources_whoever_reads(as_bo: Client, as_ana: Client, hot: SavedQuery) -> None:
    """All share the cores: who may not see one of them is not told that there is more in hand."""
    own = source_at(key="own", name="own", topic="own", schema=[["load", "number"]])
    SavedQuery.objects.create(
        source=own,
        name="Mine",
        computations=[{"aggregate": "count", "field": None}],
        windows=[{"range": "1m", "slide": "1m"}],
    )
    for source in (own, hot.source):
        replan(source, "one")
    Source.objects.exclude(pk=own.pk).update(for_all=NOTHING)
    for address in ("/", "/plan/"):
        whole, part = (client.get(address).context["headline"] for client in (as_ana, as_bo))
        assert (part.figures.windows, part.trees, part.topics) == (1, 1, ("own",))
        assert (whole.figures.windows, whole.beside_others) == (3, False)
        assert part.figures.load == pytest.approx(whole.figures.load)
        assert part.figures.headroom == pytest.approx(whole.figures.headroom)
        page = as_bo.get(address).content.decode()
        assert "load, estimated, with sources that you may not see" in page
        assert not [name for name in ("sensors", "Hot devices", "Ana") if name in page]


def test_home_hides_what_its_reader_may_not_see(as_bo: Client, as_ana: Client, hot: SavedQuery) -> None:
    replan(hot.source, "Ana added “Hot devices”")
    Source.objects.update(for_all=NOTHING)
    assert "Ana added “Hot devices”" not in shown(as_bo)
    assert "No sources yet." in shown(as_bo)
    assert "Ana added “Hot devices”" in shown(as_ana)
