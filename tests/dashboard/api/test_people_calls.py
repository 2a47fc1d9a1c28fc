"""People, groups and one's own account over the API: what the pages do, in the same words."""

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from dashboard.accounts.people import VIEWER, role_of
from dashboard.accounts.tokens import make_token
from dashboard.models import ApiToken, Notice, SavedQuery, Source
from tests.dashboard.api.conftest import Ask, asks_with
from tests.dashboard.conftest import PASSWORD, signed_in_as

ANOTHER = "otter-below-the-dam-4"


@pytest.fixture
def ask_as_ada(ada: User) -> Ask:
    return asks_with(make_token(ada, "script", None)[1])


def test_a_person_is_invited_changed_and_locked_out(ask_as_ada: Ask) -> None:
    Group.objects.create(name="Plant")
    sent = {"username": "cleo", "first_name": "Cleo", "role": "viewer", "groups": ["Plant"]}
    answer = ask_as_ada("post", "people", sent)
    assert answer.status_code == 201
    made = answer.json()
    assert made["link"].startswith("http://testserver/password/set/")
    assert (made["mailed_to"], made["person"]["has_password"]) == (None, False)
    address = f"people/{made['person']['id']}"
    assert ask_as_ada("patch", address, {"role": "editor"}).json()["groups"] == ["Plant"]
    shown = ask_as_ada("get", address).json()
    assert (shown["role"], shown["first_name"], shown["may_sign_in"]) == ("editor", "Cleo", True)
    assert ask_as_ada("patch", address, {"may_sign_in": False}).json()["may_sign_in"] is False
    refused = ask_as_ada("post", f"{address}/link")
    assert refused.json() == {"problems": {"may_sign_in": "This person may not sign in: let them first."}}
    assert ask_as_ada("get", "people").json()["count"] == 2


def test_mistakes_are_refused_in_the_words_of_the_forms(ask_as_ada: Ask, ada: User, as_ada: Client) -> None:
    sent = {"username": "ada", "role": "king", "email": "x", "groups": ["Nosuch"]}
    problems = ask_as_ada("post", "people", sent).json()["problems"]
    page = as_ada.post("/people/invite/", sent).content.decode()
    assert set(problems) == {"username", "role", "email", "groups"}
    assert [sentence for sentence in problems.values() if sentence not in page] == []
    own = ask_as_ada("patch", f"people/{ada.pk}", {"may_sign_in": False}).json()
    assert own == {"problems": {"may_sign_in": "You cannot lock yourself out: another administrator can."}}


def test_groups_are_made_changed_and_deleted(ask_as_ada: Ask, ana: User) -> None:
    made = ask_as_ada("post", "groups", {"name": "Plant", "members": ["ana"]}).json()
    address = f"groups/{made['id']}"
    assert ask_as_ada("patch", address, {"name": "Works"}).json()["members"] == ["ana"]
    assert ask_as_ada("patch", address, {"members": ["who"]}).json() == {
        "problems": {"members": "There is no person “who”."}
    }
    assert ask_as_ada("get", "groups").json()["count"] == 1
    assert ask_as_ada("delete", address).status_code == 204
    assert ask_as_ada("get", address).status_code == 404


def test_somebody_is_signed_out_everywhere(ask_as_ada: Ask, ana: User, as_ana: Client) -> None:
    assert ask_as_ada("post", f"people/{ana.pk}/sign-out").json() == {"ended": 1}
    assert as_ana.get("/sources/").status_code == 302


def test_ones_own_account_is_looked_at_and_changed(ask: Ask, ana: User) -> None:
    assert ask("get", "account").json()["role"] == "editor"
    assert ask("patch", "account", {"email": "ana@example.org"}).json() == {
        "problems": {"password": "Type your current password."}
    }
    typed = {"email": "ana@example.org", "password": PASSWORD}
    assert ask("patch", "account", typed).json()["first_name"] == "Ana"
    wrong = ask("post", "account/password", {"present": "wrong", "new": ANOTHER})
    assert wrong.json() == {"problems": {"present": "This is not your current password."}}
    weak = ask("post", "account/password", {"present": PASSWORD, "new": "12"}).json()["problems"]
    assert weak["new"].startswith("This password is too short.")
    assert ask("post", "account/password", {"present": PASSWORD, "new": ANOTHER}).status_code == 204
    ana.refresh_from_db()
    assert ana.check_password(ANOTHER)


def test_sessions_and_tokens_are_listed_and_ended(ask: Ask, ana: User, bo: User) -> None:
    browser = signed_in_as(ana)
    theirs = make_token(bo, "of Bo", None)[0]
    [session] = ask("get", "account/sessions").json()
    assert ask("delete", f"account/sessions/{session['id']}").status_code == 204
    assert browser.get("/sources/").status_code == 302
    [token] = ask("get", "account/tokens").json()["items"]
    assert token["name"] == "script"
    assert ask("delete", f"account/tokens/{theirs.pk}").status_code == 404
    assert ask("delete", f"account/tokens/{token['id']}").status_code == 204
    assert ask("get", "account").status_code == 401
    assert ApiToken.objects.get() == theirs


def test_access_is_asked_for_and_given(ask: Ask, ask_as_bo: Ask, hot: SavedQuery, bo: User) -> None:
    ask("put", "sources/sensors/access", {"for_all": "none"})
    refused = ask_as_bo("get", f"queries/{hot.key}")
    assert refused.status_code == 403
    assert refused.json() == {"problem": "You may not see this query. Ana owns it and can give you access."}
    assert ask_as_bo("post", "account/asks", {"kind": "query", "key": hot.key}).json() == {
        "said": "Asked Ana."
    }
    [notice] = ask("get", "account/notices").json()["items"]
    assert (notice["asked_by"], notice["kind"], notice["key"]) == ("bo", "source", "sensors")
    assert ask_as_bo("post", f"account/notices/{notice['id']}", {"gives": True}).status_code == 404
    assert ask("post", f"account/notices/{notice['id']}", {"gives": True}).json()["answered_at"]
    assert ask_as_bo("get", f"queries/{hot.key}").status_code == 200
    assert ask_as_bo("post", "account/asks", {"kind": "moon", "key": "1"}).status_code == 404


def test_a_viewer_looks_and_asks_and_no_more(vera: User, hot: SavedQuery) -> None:
    ask = asks_with(make_token(vera, "script", None)[1])
    assert role_of(vera) == VIEWER
    assert ask("get", f"queries/{hot.key}").status_code == 200
    assert ask("post", f"queries/{hot.key}/preview", {"windows": "1m"}).status_code == 200
    assert ask("post", f"queries/{hot.key}/pause").status_code == 403
    Source.objects.update(for_all="none")
    assert ask("post", "account/asks", {"kind": "source", "key": "sensors"}).status_code == 200
    assert Notice.objects.get().asked_by == vera
