"""One's own account: password, sessions, links, invitations, groups."""

import re
from urllib.parse import urlparse

import pytest
from django.conf import LazySettings, settings
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.core import mail
from django.core.cache import cache
from django.test import Client

from dashboard.accounts.people import EDITOR, VIEWER, role_of
from dashboard.accounts.sessions import sessions_of
from dashboard.accounts.tokens import make_token
from dashboard.models import ApiToken, SignIn
from tests.dashboard.conftest import PASSWORD, signed_in_as

ANOTHER = "otter-below-the-dam-4"


@pytest.fixture(autouse=True)
def nothing_mailed_yet() -> None:
    cache.clear()


@pytest.fixture
def mails(settings: LazySettings) -> None:
    settings.MAILS = True


def signs_in(name: str, password: str) -> bool:
    client = Client()
    client.post("/sign-in/", {"username": name, "password": password})
    return "_auth_user_id" in client.session


def change(client: Client, old: str = PASSWORD, new: str = ANOTHER, again: str = ANOTHER) -> object:
    fields = {"old_password": old, "new_password1": new, "new_password2": again}
    return client.post("/account/password/", fields)


def test_a_changed_password_ends_every_other_session(ana: User, as_ana: Client) -> None:
    other = signed_in_as(ana)
    assert change(as_ana).status_code == 302
    assert as_ana.get("/account/").status_code == 200
    assert other.get("/account/").status_code == 302
    assert [one.session_key for one in sessions_of(ana)] == [as_ana.session.session_key]
    assert signs_in("ana", ANOTHER)
    assert not signs_in("ana", PASSWORD)


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ({"old": "wrong"}, "This is not your current password."),
        ({"again": "different-from-it-1"}, "The two passwords are not the same."),
        ({"new": "short", "again": "short"}, "This password is too short."),
        ({"new": "", "again": ""}, "Type a new password."),
    ],
)
def test_a_bad_password_is_refused_in_a_sentence(
    as_ana: Client, typed: dict[str, str], sentence: str
) -> None:
    answer = change(as_ana, **typed)
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert signs_in("ana", PASSWORD)


def test_sessions_are_listed_with_what_they_are_and_ended(ana: User) -> None:
    firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0"
    here, there = Client(), Client(headers={"User-Agent": firefox}, REMOTE_ADDR="10.1.2.3")
    for client in (here, there):
        client.post("/sign-in/", {"username": "ana", "password": PASSWORD})
    page = here.get("/account/").content.decode()
    assert "Firefox on Linux" in page
    assert "10.1.2.3" in page
    assert "this one" in page
    assert there.session.session_key not in page
    row = SignIn.objects.get(address="10.1.2.3")
    assert there.get("/sources/").status_code == 200
    here.post(f"/account/sessions/{row.pk}/end/")
    assert there.get("/sources/").status_code == 302
    assert here.get("/sources/").status_code == 200
    assert not Session.objects.filter(session_key=row.session_key).exists()


def test_nobody_ends_the_session_of_another(as_ana: Client, as_bo: Client, ana: User) -> None:
    row = SignIn.objects.get(person=ana)
    assert as_bo.post(f"/account/sessions/{row.pk}/end/").status_code == 404
    assert as_ana.get("/sources/").status_code == 200


def test_all_other_sessions_are_ended_at_once(ana: User, as_ana: Client) -> None:
    others = [signed_in_as(ana) for _ in range(2)]
    as_ana.post("/account/sessions/end-others/")
    assert [one.get("/sources/").status_code for one in (*others, as_ana)] == [302, 302, 200]


def test_signing_out_takes_the_session_off_the_list(ana: User, as_ana: Client) -> None:
    as_ana.post("/sign-out/")
    assert not SignIn.objects.exists()


def test_a_name_and_an_address_are_changed(as_vera: Client, vera: User) -> None:
    typed = {"first_name": "Vee", "email": "vee@example.org"}
    for password, sentence in (("", "Type your current password."), ("wrong", "not your current password.")):
        refused = as_vera.post("/account/", {**typed, "password": password})
        assert refused.status_code == 422
        assert sentence in refused.content.decode()
        vera.refresh_from_db()
        assert vera.email == ""
    assert as_vera.post("/account/", {"first_name": "Vera V", "email": ""}).status_code == 302
    as_vera.post("/account/", {**typed, "password": PASSWORD})
    vera.refresh_from_db()
    assert (vera.first_name, vera.email) == ("Vee", "vee@example.org")
    bad = as_vera.post("/account/", {"first_name": "Vee", "email": "nonsense"})
    assert bad.status_code == 422
    assert "This is no e-mail address" in bad.content.decode()


def test_passwords_cannot_be_guessed_with_a_session_either(as_ana: Client) -> None:
    for _ in range(settings.AXES_FAILURE_LIMIT):
        change(as_ana, old="wrong")
    answer = change(as_ana)
    assert answer.status_code == 429
    assert "too many tries" in answer.content.decode()
    assert not signs_in("ana", ANOTHER)


@pytest.mark.parametrize(("wished", "left"), [({}, 1), ({"end_tokens": "on"}, 0)])
def test_a_changed_password_ends_tokens_if_wished(
    as_ana: Client, ana: User, bo: User, wished: dict[str, str], left: int
) -> None:
    make_token(ana, "script", None)
    make_token(bo, "script", None)
    fields = {"old_password": PASSWORD, "new_password1": ANOTHER, "new_password2": ANOTHER, **wished}
    page = as_ana.post("/account/password/", fields, follow=True).content.decode()
    assert ApiToken.objects.filter(owner=ana).count() == left
    assert ApiToken.objects.filter(owner=bo).count() == 1
    assert ("1 API token was revoked." in page) == bool(wished)


def invited(as_ada: Client, **more: object) -> object:
    return as_ada.post("/people/invite/", {"username": "cleo", "role": VIEWER, "first_name": "Cleo", **more})


def link_in(text: str) -> str:
    found = re.search(r"http://\S+/password/set/[^\s<\"]+", text)
    assert found
    return urlparse(found[0]).path


def sets_password(path: str, password: str = ANOTHER) -> Client:
    """Opens the link as its receiver does, and types a password."""
    client = Client()
    page = client.get(path, follow=True)
    client.post(page.redirect_chain[-1][0], {"new_password1": password, "new_password2": password})
    return client


def test_who_is_invited_sets_a_password_with_a_link_that_is_good_once(as_ada: Client) -> None:
    Group.objects.create(name="Plant")
    answer = invited(as_ada, groups=["Plant"])
    assert "no-store" in answer["Cache-Control"]
    path = link_in(answer.content.decode())
    cleo = User.objects.get(username="cleo")
    assert (role_of(cleo), [group.name for group in cleo.groups.all()]) == (VIEWER, ["Plant"])
    assert not signs_in("cleo", "")
    assert "invited" in as_ada.get("/people/").content.decode()
    sets_password(path)
    assert signs_in("cleo", ANOTHER)
    assert "This link is not good any more" in Client().get(path, follow=True).content.decode()
    assert path not in as_ada.get(f"/people/{cleo.pk}/").content.decode()


def test_a_weak_password_is_refused_on_the_page_of_the_link(as_ada: Client) -> None:
    path = link_in(invited(as_ada).content.decode())
    client = Client()
    address = client.get(path, follow=True).redirect_chain[-1][0]
    page = client.post(address, {"new_password1": "12345678", "new_password2": "12345678"})
    assert "This password is entirely numeric." in page.content.decode()
    assert not User.objects.get(username="cleo").has_usable_password()


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ({"username": ""}, "Give a user name: it is what they sign in with."),
        ({"username": "ADA"}, "There is a “ADA” already: choose another user name."),
        ({"username": "a b"}, "Use letters, digits and @ . + - _ for a user name."),
        ({"role": "king"}, "Choose viewer, editor or administrator."),
        ({"email": "x"}, "This is no e-mail address, such as ana@example.org."),
        ({"groups": ["Nosuch"]}, "There is no group “Nosuch”."),
    ],
)
def test_an_invitation_with_a_mistake_is_refused_beside_the_field(
    as_ada: Client, typed: dict[str, object], sentence: str
) -> None:
    answer = invited(as_ada, **typed)
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert User.objects.count() == 1


def test_a_link_is_mailed_where_a_mail_server_is_set(as_ada: Client, mails: None) -> None:
    answer = invited(as_ada, email="cleo@example.org").content.decode()
    assert "Mailed to cleo@example.org." in answer
    assert "/password/set/" not in answer
    [sent] = mail.outbox
    assert sent.to == ["cleo@example.org"]
    sets_password(link_in(sent.body))
    assert signs_in("cleo", ANOTHER)


def test_a_forgotten_password_is_set_anew_by_mail_and_signs_out_everywhere(
    ana: User, as_ana: Client, mails: None
) -> None:
    User.objects.update(email="ana@example.org")
    for _ in range(2):  # asked twice, mailed once: nobody's mail box is flooded
        answer = Client().post("/password/forgotten/", {"email": "ana@example.org"}, follow=True)
        assert "a link is on its way" in answer.content.decode()
    [sent] = mail.outbox
    client = sets_password(link_in(sent.body))
    assert "Your password is set. Sign in as ana." in client.get("/sign-in/").content.decode()
    assert signs_in("ana", ANOTHER)
    assert as_ana.get("/account/").status_code == 302


def test_an_address_that_nobody_has_gets_the_same_answer_and_no_mail(db: None, mails: None) -> None:
    answer = Client().post("/password/forgotten/", {"email": "who@example.org"}, follow=True)
    assert "a link is on its way" in answer.content.decode()
    assert mail.outbox == []


def test_without_a_mail_server_the_administrator_is_the_one_to_ask(ana: User, stranger: Client) -> None:
    page = stranger.get("/password/forgotten/").content.decode()
    assert "Ask your administrator" in page
    assert "Forgotten your password?" in stranger.get("/sign-in/").content.decode()
    User.objects.update(email="ana@example.org")
    stranger.post("/password/forgotten/", {"email": "ana@example.org"})
    assert mail.outbox == []


def test_a_link_of_the_administrator_lets_in_who_was_locked_out(as_ada: Client, ana: User) -> None:
    locked = Client()
    for _ in range(settings.AXES_FAILURE_LIMIT):
        locked.post("/sign-in/", {"username": "ana", "password": "wrong"})
    assert not signs_in("ana", PASSWORD)
    sets_password(link_in(as_ada.post(f"/people/{ana.pk}/link/").content.decode()))
    assert signs_in("ana", ANOTHER)


def fields(**more: object) -> dict[str, object]:
    return {"first_name": "Ana", "email": "", "role": EDITOR, "is_active": "on", **more}


def test_who_may_not_sign_in_any_more_is_out_at_once(as_ada: Client, ana: User, as_ana: Client) -> None:
    as_ada.post(f"/people/{ana.pk}/", fields(is_active=""))
    assert as_ana.get("/sources/").status_code == 302
    assert not signs_in("ana", PASSWORD)
    assert "may not sign in" in as_ada.get("/people/").content.decode()
    as_ada.post(f"/people/{ana.pk}/", fields())
    assert signs_in("ana", PASSWORD)


def test_a_role_is_changed_by_an_administrator_but_not_their_own(
    as_ada: Client, ada: User, ana: User
) -> None:
    as_ada.post(f"/people/{ana.pk}/", fields(role=VIEWER))
    assert role_of(User.objects.get(pk=ana.pk)) == VIEWER
    for typed in (fields(role=EDITOR), fields(role="administrator", is_active="")):
        answer = as_ada.post(f"/people/{ada.pk}/", typed)
        assert answer.status_code == 422
        assert "another administrator can." in answer.content.decode()


def test_an_administrator_signs_somebody_out(as_ada: Client, ana: User, as_ana: Client) -> None:
    assert "An unknown browser" in as_ada.get(f"/people/{ana.pk}/").content.decode()
    as_ada.post(f"/people/{ana.pk}/sign-out/")
    assert as_ana.get("/sources/").status_code == 302
    assert as_ada.get("/people/").status_code == 200


def test_groups_are_made_filled_and_deleted(as_ada: Client, ana: User, bo: User) -> None:
    assert "No groups yet." in as_ada.get("/people/").content.decode()
    as_ada.post("/people/groups/", {"name": "Plant"})
    group = Group.objects.get()
    address = f"/people/groups/{group.pk}/"
    as_ada.post(address, {"name": "The plant", "members": ["ana", "bo"]})
    assert {one.username for one in group.user_set.all()} == {"ana", "bo"}
    assert "The plant" in as_ada.get("/people/").content.decode()
    assert (
        "There is a group “THE PLANT” already"
        in as_ada.post("/people/groups/", {"name": "THE PLANT"}).content.decode()
    )
    as_ada.post(f"{address}delete/")
    assert not Group.objects.exists()
    assert User.objects.count() == 3
