"""The bin: deleting shows what goes along, everything comes back whole, and goes for good in the end."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.accounts.levels import NOTHING
from dashboard.bin.actions import empty
from dashboard.models import (
    Alert,
    AuditEntry,
    Board,
    Connection,
    Evaluation,
    Note,
    Panel,
    PlanVersion,
    SavedQuery,
    ShareLink,
    Source,
)
from dashboard.past.links import make_link, open_link
from dashboard.planning import service as planning

KINDS = ("connection", "source", "query", "dashboard", "panel", "alert")


@pytest.fixture
def wall(hot: SavedQuery, ana: User) -> Board:
    """A dashboard with one panel of everything that hangs on a query."""
    Connection.objects.update(created_by=ana, sealed_password="sealed-secret")
    board = Board.objects.create(slug="wall", name="Wall", owner=ana)
    Panel.objects.create(board=board, query=hot, title="Hot panel")
    Panel.objects.create(board=board, title="Words", kind="text")
    Note.objects.create(board=board, time=0, text="Deployed", author=ana)
    alert = Alert.objects.create(
        key="too-hot",
        query=hot,
        name="Too hot",
        computation="max(temp)",
        window="1m/10s",
        condition="above",
        owner=ana,
    )
    Evaluation.objects.create(alert=alert, state="firing", firing=2)
    planning.replan(hot.source, "Set up")
    return board


def key_of(kind: str) -> str:
    rows: dict[str, Callable[[], Any]] = {
        "connection": lambda: Connection.with_deleted.get().key,
        "source": lambda: "sensors",
        "query": lambda: SavedQuery.with_deleted.get().key,
        "dashboard": lambda: "wall",
        "panel": lambda: Panel.with_deleted.get(title="Hot panel").pk,
        "alert": lambda: "too-hot",
    }
    return str(rows[kind]())


def address(kind: str, what: str) -> str:
    return f"/bin/{kind}/{what}/?key={key_of(kind)}"


def living() -> dict[str, list[Any]]:
    """All that is there, as it is."""
    models = (Connection, Source, SavedQuery, Board, Panel, Alert)
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in models}


def planned() -> int:
    return len(planning.newest(Source.with_deleted.get()).value().all_queries)


GOES_ALONG = {
    "connection": ["1 source", "sensors", "1 query", "Hot devices", "1 panel on “Wall”", "Too hot: firing"],
    "source": ["1 query", "Hot devices", "1 panel on “Wall”", "Hot panel", "1 alert", "Too hot: firing"],
    "query": ["1 panel on “Wall”", "Hot panel", "1 alert", "Too hot: firing"],
    "dashboard": ["2 panels", "Hot panel", "Words", "1 share link", "1 note"],
    "panel": ["Nothing else is deleted with it."],
    "alert": ["Nothing else is deleted with it."],
}


WITH_IT = {
    "connection": "1 source, 1 query, 1 panel on “Wall”, 1 alert",
    "source": "1 query, 1 panel on “Wall”, 1 alert",
    "query": "1 panel on “Wall”, 1 alert",
    "dashboard": "2 panels, 1 share link, 1 note",
    "panel": None,
    "alert": None,
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_goes_along_is_shown_and_comes_back_whole(
    as_ana: Client, wall: Board, ana: User, kind: str
) -> None:
    _, token = make_link(wall, ana, "Hall", timezone.now() + timedelta(days=1))
    before, key = living(), key_of(kind)
    asked = as_ana.get(address(kind, "delete")).content.decode()
    assert [words for words in GOES_ALONG[kind] if words not in asked] == []
    assert "for 30 days" in asked
    assert living() == before, "asking changes nothing"

    page = as_ana.post(address(kind, "delete"), follow=True).content.decode()
    assert ("Removed “" if kind == "panel" else "Deleted “") in page
    assert f'action="/bin/{kind}/restore/?key={key}"' in page, "Undo takes it out of the bin"
    model = {"dashboard": "Board", "query": "SavedQuery"}.get(kind, kind.capitalize())
    assert key not in {str(row.get("slug", row.get("key", row["id"]))) for row in living()[model]}
    assert planned() == (0 if kind in ("connection", "source", "query") else 2)
    assert (open_link(token) is None) == (kind == "dashboard")
    assert Connection.with_deleted.get().sealed_password == "sealed-secret"

    listed = as_ana.get("/bin/").content.decode()
    assert f"/bin/{kind}/restore/?key={key}" in listed
    assert "Ana" in listed

    as_ana.post(address(kind, "restore"))
    assert {name: [without_clock(row) for row in rows] for name, rows in living().items()} == {
        name: [without_clock(row) for row in rows] for name, rows in before.items()
    }
    assert planned() == 2
    assert open_link(token) is not None
    noun = f"the {kind} “"
    actions = list(AuditEntry.objects.filter(kind=kind).order_by("pk").values_list("action", flat=True))
    assert actions[-2:] == [{"panel": "removed"}.get(kind, "deleted"), "restored"], noun
    entry = AuditEntry.objects.filter(kind=kind).order_by("-pk")[1]
    told = {what: after for what, _, after in entry.changes}
    assert told.get("With it") == WITH_IT[kind]


def without_clock(row: dict[str, Any]) -> dict[str, Any]:
    """An alert that comes back looks at results from then on."""
    return {name: value for name, value in row.items() if name != "changed_at"}


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_else_deletes_restores_or_lists_it(
    as_bo: Client, as_ada: Client, as_vera: Client, stranger: Client, wall: Board, kind: str
) -> None:
    Board.objects.update(for_all="see")
    for client in (as_bo, as_vera):
        for method in ("get", "post"):
            assert getattr(client, method)(address(kind, "delete")).status_code == 403
    assert stranger.post(address(kind, "delete")).status_code == 302
    assert living()["SavedQuery"], "nothing happened"
    as_ada.post(address(kind, "delete"))
    for client in (as_bo, as_vera):
        assert client.post(address(kind, "restore")).status_code == 403
        assert client.post(address(kind, "delete-for-good")).status_code == 403
        assert f"/bin/{kind}/" not in client.get("/bin/").content.decode()
    assert f"/bin/{kind}/restore/" in as_ada.get("/bin/").content.decode()


@pytest.mark.parametrize("kind", KINDS)
def test_it_goes_for_good_after_its_time(as_ana: Client, wall: Board, kind: str) -> None:
    model = {"dashboard": Board, "query": SavedQuery, "panel": Panel, "alert": Alert, "source": Source}.get(
        kind, Connection
    )
    PlanVersion.objects.all().delete()  # the job, which nobody can tell here, has not heard of the source
    as_ana.post(address(kind, "delete"))
    PlanVersion.objects.all().delete()
    almost = timezone.now() + timedelta(days=settings.BIN_DAYS, minutes=-1)
    assert empty(almost) == 0
    assert empty(almost + timedelta(minutes=2)) == 1
    assert not model.with_deleted.exclude(deleted_at=None).exists()
    assert AuditEntry.objects.filter(action="deleted for good", kind=kind).exists()


def test_a_source_that_the_job_cannot_be_told_of_stays_in_the_bin(as_ana: Client, wall: Board) -> None:
    as_ana.post(address("source", "delete"))
    assert empty(timezone.now() + timedelta(days=400)) == 0
    assert Source.with_deleted.exists()
    page = as_ana.post(address("source", "delete-for-good"), follow=True).content.decode()
    assert "Not deleted, because the job cannot be told" in page


def test_deleting_for_good_says_that_it_cannot_be_undone(as_ana: Client, wall: Board) -> None:
    as_ana.post(address("query", "delete"))
    asked = as_ana.get(address("query", "delete-for-good")).content.decode()
    assert "This cannot be undone." in asked
    assert "1 panel on “Wall”" in asked
    as_ana.post(address("query", "delete-for-good"))
    assert not SavedQuery.with_deleted.exists()
    assert not Alert.with_deleted.exists()
    assert list(wall.panels.values_list("title", flat=True)) == ["Words"]


def test_a_part_waits_until_what_it_belongs_to_is_restored(as_ana: Client, wall: Board) -> None:
    as_ana.post(address("query", "delete"))
    as_ana.post(address("source", "delete"))
    assert "Restore the source “sensors” first" in as_ana.get("/bin/").content.decode()
    page = as_ana.post(address("query", "restore"), follow=True).content.decode()
    assert "“Hot devices” belongs to the source “sensors”, which is in the bin: restore it first." in page
    as_ana.post(address("source", "restore"))
    assert planned() == 0, "the query was deleted for itself"
    as_ana.post(address("query", "restore"))
    assert planned() == 2


def test_a_name_that_was_taken_meanwhile_gets_a_number(as_ana: Client, wall: Board) -> None:
    as_ana.post(address("source", "delete"))
    Source.objects.create(key="other", name="Sensors", topic="other", connection=Connection.objects.get())
    as_ana.post(address("source", "restore"))
    assert Source.objects.get(key="sensors").name == "sensors (2)"


def test_the_key_of_what_is_in_the_bin_is_not_given_again(as_ana: Client, wall: Board) -> None:
    from dashboard.connections.keys import free_key

    as_ana.post(address("source", "delete"))
    assert free_key(Source, "sensors") == "sensors-2"


def test_a_connection_with_the_sources_of_others_is_not_deleted(
    as_ana: Client, as_ada: Client, wall: Board, bo: User
) -> None:
    Source.objects.update(created_by=bo)
    refused = as_ana.post(address("connection", "delete"))
    assert refused.status_code == 403
    assert "A source of other people would go with" in refused.content.decode()
    as_ada.post(address("connection", "delete"))
    assert not Connection.objects.exists()


def test_what_goes_along_names_nothing_that_is_hidden(
    as_ana: Client, wall: Board, hot: SavedQuery, bo: User
) -> None:
    hidden = Board.objects.create(slug="secret", name="Secret board", owner=bo, for_all=NOTHING)
    Panel.objects.create(board=hidden, query=hot, title="Secret panel")
    asked = as_ana.get(address("query", "delete")).content.decode()
    assert "1 panel that you may not see" in asked
    assert "Secret" not in asked


def test_a_panel_of_two_queries_stays_and_shows_less(as_ana: Client, wall: Board, hot: SavedQuery) -> None:
    other = SavedQuery.objects.create(
        source=hot.source, name="Other", computations=hot.computations, windows=hot.windows, owner=hot.owner
    )
    for first, second in ((hot, other), (other, hot)):
        shows = [{"query": first.key}, {"query": second.key}]
        Panel.objects.create(board=wall, query=first, title=f"{first.name} first", shows=shows)
    asked = as_ana.get(f"/bin/query/delete/?key={hot.key}")
    going, losing = asked.context["parts"].going, asked.context["parts"].losing
    assert [part.title for part in going] == ["1 panel on “Wall”", "1 alert"]
    assert [set(part.names) for part in losing] == [{"Hot devices first", "Other first"}]


def test_several_queries_go_and_come_back_with_one_plan(as_ana: Client, wall: Board, hot: SavedQuery) -> None:
    other = SavedQuery.objects.create(
        source=hot.source, name="Other", computations=hot.computations, windows=hot.windows, owner=hot.owner
    )
    asked = f"?key={hot.key}&key={other.key}"
    assert "Delete 2 queries?" in as_ana.get(f"/bin/query/delete/{asked}").content.decode()
    before = PlanVersion.objects.count()
    assert "Deleted 2 queries." in as_ana.post(f"/bin/query/delete/{asked}", follow=True).content.decode()
    assert (PlanVersion.objects.count(), planned()) == (before + 1, 0)
    as_ana.post(f"/bin/query/restore/{asked}")
    assert (PlanVersion.objects.count(), planned()) == (before + 2, 4)


@pytest.mark.parametrize("asked", ["query/delete/", "nosuch/delete/?key=a", "panel/restore/?key=x%00"])
def test_nonsense_is_answered(as_ana: Client, wall: Board, asked: str) -> None:
    assert as_ana.post(f"/bin/{asked}").status_code in (302, 404)


@pytest.mark.parametrize("kind", KINDS)
def test_the_api_says_what_went_along_and_restores_it(as_ana: Client, wall: Board, kind: str) -> None:
    before, key = living(), key_of(kind)
    place = {
        "dashboard": "/api/dashboards/wall",
        "panel": f"/api/dashboards/wall/panels/{key}",
        "query": f"/api/queries/{key}",
    }.get(kind, f"/api/{kind}s/{key}")
    answer = as_ana.delete(place)
    assert answer.status_code == 200
    said = answer.json()
    assert (said["kind"], said["key"], said["deleted_by"]) == (kind, key, "Ana")
    told = {name for part in said["along"] for name in (part["title"], *part["names"])}
    expected = {words for words in GOES_ALONG[kind] if "share link" not in words and "Nothing" not in words}
    assert expected <= told
    assert [one["key"] for one in as_ana.get("/api/bin").json()["items"]] == [key]
    assert as_ana.post(f"/api/bin/{kind}/{key}/restore").status_code == 200
    assert {name: len(rows) for name, rows in living().items()} == {
        name: len(rows) for name, rows in before.items()
    }
    assert as_ana.post(f"/api/bin/{kind}/{key}/restore").status_code == 404
    if kind in ("query", "panel", "alert", "dashboard"):
        as_ana.delete(place)
        assert as_ana.delete(f"/api/bin/{kind}/{key}").status_code == 204
        assert as_ana.get("/api/bin").json()["count"] == 0


def test_a_share_link_is_left_as_it_was_revoked(as_ana: Client, wall: Board, ana: User) -> None:
    link, token = make_link(wall, ana, "Hall", timezone.now() + timedelta(days=1))
    ShareLink.objects.filter(pk=link.pk).update(revoked_at=timezone.now())
    as_ana.post(address("dashboard", "delete"))
    as_ana.post(address("dashboard", "restore"))
    assert open_link(token) is None
