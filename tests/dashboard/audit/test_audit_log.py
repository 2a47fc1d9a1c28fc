"""The audit log: who changed what, before and after, without secrets; it only grows."""

from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.db import DatabaseError, connection, transaction
from django.test import Client

from dashboard.accounts.forms import PersonForm
from dashboard.accounts.people import give_role
from dashboard.accounts.sessions import end_other_sessions
from dashboard.accounts.sharing import set_access
from dashboard.accounts.tokens import make_token
from dashboard.audit.models import OnlyGrows
from dashboard.audit.recording import AUDITED, NOT_AUDITED, record, rights_version
from dashboard.audit.search import KINDS
from dashboard.models import AuditEntry, Board, Connection, SavedQuery, Source
from dashboard.planning.service import replan
from tests.dashboard.api.conftest import asks_with
from tests.dashboard.conftest import PASSWORD, signed_in_as


def newest(**asked: Any) -> AuditEntry:
    entry = AuditEntry.objects.filter(**asked).first()
    assert entry is not None
    return entry


def test_every_model_is_audited_or_says_why_not() -> None:
    own = {model._meta.label for model in apps.get_app_config("dashboard").get_models()}
    assert own == {label for label in {**AUDITED, **NOT_AUDITED} if label.startswith("dashboard.")}
    assert {kind.noun for kind in AUDITED.values()} | {"access", "plan", "session"} == set(KINDS)


def test_a_change_of_a_form_is_told_with_before_and_after(as_ana: Client, plant: Board) -> None:
    as_ana.post("/dashboards/plant/rename/", {"name": "Plant floor"})
    entry = newest(kind="dashboard")
    assert (entry.person_name, entry.action, entry.thing, entry.via) == ("Ana", "changed", "Plant floor", "")
    assert entry.changes == [["Name", "Plant", "Plant floor"]]


@pytest.fixture
def plant(ana: User) -> Board:
    return Board.objects.create(slug="plant", name="Plant", owner=ana)


def test_a_change_over_the_api_names_the_token(ana: User, hot: SavedQuery) -> None:
    ask = asks_with(make_token(ana, "nightly", None)[1])
    assert ask("patch", f"queries/{hot.key}", {"where": "temp > 3"}).status_code == 200
    entry = newest(kind="query")
    assert (entry.person, entry.person_name, entry.via) == (ana.pk, "Ana", "API token “nightly”")
    assert entry.changes == [["Filter", "nothing", "temp > 3"]]


@pytest.mark.parametrize(
    ("address", "action"),
    [
        ("/queries/bulk/?do=pause", "paused"),
        ("/queries/bulk/?do=resume", "resumed"),
        ("/bin/query/delete/", "deleted"),
        ("/bin/query/restore/", "restored"),
    ],
)
def test_actions_have_their_own_words(as_ana: Client, hot: SavedQuery, address: str, action: str) -> None:
    if action in ("resumed", "restored"):
        as_ana.post(address.replace("resume", "pause").replace("restore", "delete"), {"key": hot.key})
    as_ana.post(address, {"key": hot.key})
    assert newest(kind="query").action == action


def test_who_chose_a_plan_is_in_the_log(as_ana: Client, ana: User, hot: SavedQuery, sensors: Source) -> None:
    replan(sensors, "Ana added “Hot devices”")
    assert not AuditEntry.objects.filter(kind="plan").exists()
    for address, sent, why in (
        ("plan/adopt", {"strategy": "no_share", "nodes": 2}, "Ana adopted No share on 2 nodes"),
        ("plans/1/back", {}, "Ana went back to plan 1"),
        ("plan/release", {}, "Ana let Millrace choose again"),
    ):
        as_ana.post(f"/api/sources/sensors/{address}", sent, content_type="application/json")
        entry = newest()
        assert (entry.action, entry.kind, entry.thing, entry.person) == ("changed", "plan", "sensors", ana.pk)
        assert entry.changes[1] == ["Why", None, why]
    first = AuditEntry.objects.filter(kind="plan").order_by("pk").first()
    assert first is not None
    assert first.changes[0][0] == "Plan"
    assert first.changes[0][2] == "2: No share on 2 nodes"


def test_nothing_that_did_not_change_is_recorded(as_ana: Client, plant: Board) -> None:
    before = AuditEntry.objects.count()
    as_ana.post("/dashboards/plant/rename/", {"name": "Plant"})
    as_ana.get("/dashboards/plant/")
    assert AuditEntry.objects.count() == before


def test_what_a_command_does_is_told_apart(sensors: Source) -> None:
    sensors.allowed_lateness = 5_000
    sensors.save()
    entry = newest(kind="source")
    assert (entry.person, entry.person_name) == (None, "A command")
    assert entry.changes == [["Allowed lateness", "10000", "5000"]]


def everything() -> str:
    return str(list(AuditEntry.objects.values()))


def test_no_secret_is_in_the_log(as_ana: Client, ana: User, sensors: Source) -> None:
    connection_row = Connection.objects.get()
    connection_row.sealed_password, connection_row.sealed_key = "sealed-words", "sealed-key"
    connection_row.save()
    connection_row.sealed_password = "other-sealed-words"
    connection_row.save()
    assert newest(kind="connection").changes == [["Password", "hidden", "another one, hidden"]]
    sensors.registry = "https://reader:open-sesame@registry.example/"
    sensors.save()
    assert "//hidden@registry.example" in str(newest(kind="source").changes)
    token = make_token(ana, "script", None)[1]
    ana.set_password("otter-below-the-dam-4")
    ana.save()
    assert newest(kind="person").changes == [["Password", "hidden", "another one, hidden"]]
    told = everything()
    row = ana.api_tokens.get()
    secrets = ("sealed-words", "sealed-key", "open-sesame", token, row.digest, ana.password, PASSWORD)
    assert [secret for secret in secrets if secret in told] == []


def test_people_groups_and_roles_are_in_the_log(ada: User, as_ada: Client) -> None:
    Group.objects.create(name="Plant")
    fields = {"username": "cleo", "role": "editor", "groups": ["Plant"]}
    as_ada.post("/people/invite/", fields)
    told = {(entry.action, str(entry.changes)) for entry in AuditEntry.objects.filter(thing="cleo")}
    assert ("changed", "[['Editor', 'no', 'yes']]") in told
    assert ("changed", "[['Groups', None, 'joins Plant']]") in told
    assert ("made a link for", "[['Link', None, 'to be handed over']]") in told
    assert {entry.person_name for entry in AuditEntry.objects.filter(thing="cleo")} == {"Ada"}
    cleo = User.objects.get(username="cleo")
    form = PersonForm({"role": "administrator", "is_active": "on"}, by=ada, editing=cleo)
    assert form.is_valid()
    form.save()
    assert ["Administrator", "no", "yes"] in [
        change for entry in AuditEntry.objects.filter(thing="cleo") for change in entry.changes
    ]


def test_signing_in_and_out_and_lockouts_are_in_the_log(ana: User, stranger: Client, settings: Any) -> None:
    stranger.post("/sign-in/", {"username": "ana", "password": PASSWORD})
    assert (newest().action, newest().person_name) == ("signed in", "Ana")
    stranger.post("/sign-out/")
    assert newest().action == "signed out"
    for _ in range(settings.AXES_FAILURE_LIMIT):
        Client().post("/sign-in/", {"username": "ana", "password": "guessed-wrong"})
    assert (newest().action, newest().thing) == ("locked out", "ana")
    assert "guessed-wrong" not in everything()


def test_an_entry_is_never_changed_or_deleted(sensors: Source) -> None:
    entry = newest()
    entry.person_name = "Somebody else"
    with pytest.raises(OnlyGrows):
        entry.save()
    with pytest.raises(OnlyGrows):
        entry.delete()
    with pytest.raises(OnlyGrows):
        AuditEntry.objects.update(person_name="x")
    with pytest.raises(OnlyGrows):
        AuditEntry.objects.all().delete()
    with (
        pytest.raises(DatabaseError, match="never changed"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("UPDATE dashboard_auditentry SET person_name = 'x'")


def test_what_is_rolled_back_is_not_recorded(sensors: Source) -> None:
    before = AuditEntry.objects.count()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        sensors.name = "other"
        sensors.save()
        _ = 1 / 0
    assert AuditEntry.objects.count() == before


@pytest.fixture
def written(db: None) -> None:
    record("changed", "source", "sensors", [["Name", "a", "turbine"]])
    record("added", "query", "Hot devices")


def shown(client: Client, asked: str) -> set[str]:
    return {entry.thing for entry in client.get(f"/audit/?{asked}").context["page"]}


def test_the_page_is_searched_by_words_people_kinds_and_days(
    as_ada: Client, ada: User, written: None
) -> None:
    today = newest().at.date()
    assert {"sensors", "Hot devices"} <= shown(as_ada, "")
    assert shown(as_ada, "q=turbine") == {"sensors"}
    assert shown(as_ada, "q=TURBINE changed") == {"sensors"}
    assert shown(as_ada, "kind=query") == {"Hot devices"}
    assert shown(as_ada, f"person={ada.pk}") == {"ada"}
    assert shown(as_ada, f"kind=query&since={today}&until={today}") == {"Hot devices"}
    assert shown(as_ada, f"since={today + timedelta(days=1)}") == set()
    assert "No entry matches." in as_ada.get("/audit/?q=nosuchword").content.decode()
    page = as_ada.get("/audit/?since=yesterday").content.decode()
    assert "Write a day as 2026-11-17." in page


def test_the_api_finds_the_same_in_the_same_words(ada: User, written: None) -> None:
    ask = asks_with(make_token(ada, "script", None)[1])
    found = ask("get", "audit?kind=source&q=turbine").json()
    assert found["count"] == 1
    assert found["items"][0]["changes"] == [{"what": "Name", "before": "a", "after": "turbine"}]
    refused = ask("get", "audit?since=yesterday")
    assert (refused.status_code, refused.json()) == (
        422,
        {"problems": {"since": "Write a day as 2026-11-17."}},
    )


def test_a_long_log_comes_in_pages(as_ada: Client) -> None:
    for number in range(120):
        record("added", "query", f"q{number}")
    page = as_ada.get("/audit/?kind=query&page=2")
    assert "Page 2 of 3" in page.content.decode()
    assert "?kind=query&amp;page=3" in page.content.decode()


def test_open_pages_look_again_when_rights_change_and_not_when_somebody_signs_in(
    ana: User, bo: User, as_bo: Client, sensors: Source
) -> None:
    seen = rights_version()
    signed_in_as(ana)
    assert rights_version() == seen
    for change in (
        lambda: set_access(sensors, "none", [], ana),
        lambda: give_role(bo, "viewer"),
        lambda: end_other_sessions(bo, None),
        lambda: bo.groups.add(Group.objects.create(name="Team")),
    ):
        change()
        assert rights_version() > seen
        seen = rights_version()
