"""“Who may see this”: what owners say, what others ask for, and how that is answered."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from dashboard.accounts.rights import may_change, may_see
from dashboard.accounts.tokens import make_token
from dashboard.models import AuditEntry, Board, Notice, SavedQuery, Source
from tests.dashboard.api.conftest import asks_with


@pytest.fixture
def team(bo: User) -> Group:
    group = Group.objects.create(name="Team")
    bo.groups.add(group)
    return group


def say(
    client: Client, for_all: str, *given: tuple[str, str], address: str = "/sources/sensors/access/"
) -> Any:
    fields = {"for_all": for_all, "who": [who for who, _ in given], "level": [level for _, level in given]}
    return client.post(address, fields, follow=True)


def test_an_owner_says_who_may_see_a_source(
    as_ana: Client, sensors: Source, team: Group, bo: User, vera: User
) -> None:
    page = as_ana.get("/sources/sensors/").content.decode()
    assert "Who may see this source" in page
    assert "person:bo" in page
    assert "group:Team" in page
    say(as_ana, "none", ("group:Team", "change"), ("person:vera", "see"), ("", "see"))
    sensors.refresh_from_db()
    assert (may_change(bo, sensors), may_see(vera, sensors), may_change(vera, sensors)) == (True, True, False)
    say(as_ana, "none", ("group:Team", "none"), ("person:vera", "see"))
    assert not may_see(bo, sensors)
    assert may_see(vera, sensors)


def test_only_owners_and_administrators_say_it(
    as_ana: Client, as_bo: Client, as_vera: Client, as_ada: Client, sensors: Source
) -> None:
    assert "Who may see this" not in as_bo.get("/sources/sensors/").content.decode()
    assert say(as_bo, "none").status_code == 403
    assert say(as_vera, "none").status_code == 403
    say(as_ana, "none", ("person:bo", "change"))
    answer = say(as_bo, "see")  # who may change a source may still not share it
    assert "You may not say who sees this source. Ana owns it." in answer.content.decode()
    assert Source.objects.get().for_all == "none"
    say(as_ada, "see")
    assert Source.objects.get().for_all == "see"


def test_the_same_for_a_dashboard(as_ana: Client, ana: User, bo: User) -> None:
    board = Board.objects.create(slug="plant", name="Plant", owner=ana)
    assert "Who may see this dashboard" in as_ana.get("/dashboards/plant/").content.decode()
    say(as_ana, "none", ("person:bo", "see"), address="/dashboards/plant/access/")
    board.refresh_from_db()
    assert may_see(bo, board)
    assert not may_change(bo, board)


@pytest.mark.parametrize(
    ("for_all", "given", "field", "sentence"),
    [
        ("", [], "for_all", "Say what everyone may do: none, see or change."),
        ("all", [], "for_all", "Say what everyone may do: none, see or change."),
        ("see", [("person:nobody", "see")], "access", "There is no person “nobody”."),
        ("see", [("group:Nosuch", "see")], "access", "There is no group “Nosuch”."),
        ("see", [("person:bo", "own")], "access", "“own” is no right: give see or change."),
    ],
)
def test_mistakes_are_refused_in_the_same_words_on_the_page_and_by_the_api(
    as_ana: Client,
    ana: User,
    bo: User,
    sensors: Source,
    for_all: str,
    given: list[tuple[str, str]],
    field: str,
    sentence: str,
) -> None:
    assert f"Not saved: {sentence}" in say(as_ana, for_all, *given).content.decode()
    ask = asks_with(make_token(ana, "script", None)[1])
    people = {who.removeprefix("person:"): level for who, level in given if who.startswith("person:")}
    groups = {who.removeprefix("group:"): level for who, level in given if who.startswith("group:")}
    answer = ask("put", "sources/sensors/access", {"for_all": for_all, "people": people, "groups": groups})
    assert (answer.status_code, answer.json()) == (422, {"problems": {field: sentence}})
    assert not sensors.grants.exists()


def test_what_was_said_is_read_back_by_the_api(ana: User, bo: User, team: Group, sensors: Source) -> None:
    ask = asks_with(make_token(ana, "script", None)[1])
    said = {"for_all": "none", "people": {"bo": "see"}, "groups": {"Team": "change"}}
    assert ask("put", "sources/sensors/access", said).json() == {"owner": "ana", **said}
    assert ask("get", "sources/sensors/access").json() == {"owner": "ana", **said}
    as_bo = asks_with(make_token(bo, "script", None)[1])
    assert as_bo("get", "sources/sensors/access").status_code == 403


def hide(client: Client) -> None:
    say(client, "none")


def test_asking_for_access_is_a_notice_to_the_owner_who_gives_it(
    as_ana: Client, as_bo: Client, hot: SavedQuery, ana: User, bo: User
) -> None:
    hide(as_ana)
    for _ in range(2):
        page = as_bo.post("/ask-for-access/", {"kind": "query", "key": hot.key}, follow=True).content.decode()
        assert "Asked Ana." in page
    notice = Notice.objects.get()
    assert (notice.to, notice.source) == (ana, hot.source)
    assert 'data-notices="1"' in as_ana.get("/sources/").content.decode()
    page = as_ana.get("/notices/").content.decode()
    assert "<b>Bo</b> asks to see the source" in page
    as_ana.post(f"/notices/{notice.pk}/answer/", {"do": "give"})
    assert may_see(bo, hot)
    assert 'data-notices="0"' in as_ana.get("/sources/").content.decode()
    assert (
        "You may see this query already."
        in as_bo.post("/ask-for-access/", {"kind": "query", "key": hot.key}, follow=True).content.decode()
    )


def test_what_is_put_aside_gives_nothing(as_ana: Client, as_bo: Client, hot: SavedQuery, bo: User) -> None:
    hide(as_ana)
    as_bo.post("/ask-for-access/", {"kind": "source", "key": "sensors"})
    as_ana.post(f"/notices/{Notice.objects.get().pk}/answer/", {"do": "dismiss"})
    assert not may_see(bo, hot)
    assert "Nothing waits for you." in as_ana.get("/notices/").content.decode()


def test_nobody_answers_what_others_are_asked(
    as_ana: Client, as_bo: Client, hot: SavedQuery, bo: User
) -> None:
    hide(as_ana)
    as_bo.post("/ask-for-access/", {"kind": "source", "key": "sensors"})
    assert as_bo.post(f"/notices/{Notice.objects.get().pk}/answer/", {"do": "give"}).status_code == 404
    assert not may_see(bo, hot)


def test_without_an_owner_administrators_are_asked(as_bo: Client, sensors: Source, ada: User) -> None:
    Source.objects.update(for_all="none", created_by=None)
    page = as_bo.get("/sources/sensors/").content.decode()
    assert "An administrator can give you access." in page
    assert (
        "Asked Ada."
        in as_bo.post(
            "/ask-for-access/", {"kind": "source", "key": "sensors", "next": "/queries/"}, follow=True
        ).content.decode()
    )
    assert Notice.objects.get().to == ada


def test_asking_leads_back_to_this_site_alone(as_bo: Client, sensors: Source) -> None:
    asked = {"kind": "source", "key": "sensors", "next": "https://elsewhere.example/"}
    assert as_bo.post("/ask-for-access/", asked).url == "/"
    assert as_bo.post("/ask-for-access/", {"kind": "source", "key": "nosuch"}).status_code == 404


def test_what_changed_is_in_the_log(as_ana: Client, sensors: Source, bo: User) -> None:
    say(as_ana, "none", ("person:bo", "see"))
    entry = AuditEntry.objects.filter(kind="access").get()
    assert (entry.person_name, entry.thing) == ("Ana", "source “sensors”")
    assert entry.changes == [
        ["Everyone", "Everyone may see it", "Only those named below"],
        ["Bo", "no right of their own", "may see it"],
    ]
    say(as_ana, "none", ("person:bo", "see"))
    assert AuditEntry.objects.filter(kind="access").count() == 1
