"""Signing in, out, and being locked out."""

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from dashboard.accounts.people import first_name, may_change

RIGHT = "heron-at-the-weir-7"
WRONG = "wrong"


def sign_in(client: Client, password: str) -> object:
    return client.post(
        "/sign-in/?next=/sources/", {"username": "ana", "password": password, "next": "/sources/"}
    )


def test_the_right_password_leads_where_one_wanted_to_go(ana: User, stranger: Client) -> None:
    response = sign_in(stranger, RIGHT)
    assert response.status_code == 302
    assert response.url == "/sources/"


def test_a_wrong_password_is_refused_in_a_sentence(ana: User, stranger: Client) -> None:
    response = sign_in(stranger, "wrong")
    assert "User name and password do not match." in response.content.decode()
    assert "_auth_user_id" not in stranger.session


def test_too_many_wrong_passwords_lock_out_even_the_right_one(ana: User, stranger: Client) -> None:
    for _ in range(settings.AXES_FAILURE_LIMIT):
        sign_in(stranger, "wrong")
    response = sign_in(stranger, RIGHT)
    assert response.status_code == 429
    assert "Wait 15 minutes" in response.content.decode()


def guess(name: str, address: str, password: str = WRONG) -> int:
    client = Client(REMOTE_ADDR=address)
    return client.post("/sign-in/", {"username": name, "password": password}).status_code


def test_an_address_that_tries_many_names_is_locked_out_for_all_of_them(ana: User) -> None:
    for number in range(settings.ADDRESS_FAILURE_LIMIT - 1):
        assert guess(f"name-{number}", "203.0.113.7") == 200
    assert guess("ana", "203.0.113.7", RIGHT) == 302  # which does not begin the counting anew
    guess("one-more", "203.0.113.7")
    assert guess("ana", "203.0.113.7", RIGHT) == 429
    assert guess("ana", "203.0.113.8", RIGHT) == 302


def test_a_network_of_ipv6_is_one_address(ana: User) -> None:
    for number in range(settings.ADDRESS_FAILURE_LIMIT):
        guess(f"name-{number}", f"2001:db8:1:2::{number + 1:x}")
    assert guess("ana", "2001:db8:1:2:ffff::1", RIGHT) == 429
    assert guess("ana", "2001:db8:1:3::1", RIGHT) == 302


def test_signing_out_ends_the_session(as_ana: Client) -> None:
    assert as_ana.post("/sign-out/").url == "/sign-in/"
    assert as_ana.get("/sources/").status_code == 302


def test_a_form_of_before_the_sign_in_is_refused_in_a_sentence(ana: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    response = strict.post("/sign-in/", {"username": "ana", "password": RIGHT})
    assert response.status_code == 403
    page = response.content.decode()
    assert "Not accepted." in page
    assert "The page is older than your sign-in" in page
    assert "Sign out" not in page


def test_sign_in_never_leads_to_another_site(ana: User, stranger: Client) -> None:
    fields = {"username": "ana", "password": RIGHT, "next": "https://elsewhere.example/"}
    assert stranger.post("/sign-in/", fields).url == "/start/"


@pytest.mark.django_db
def test_people_are_called_by_their_first_name_where_it_is_known() -> None:
    assert first_name(User(username="ana", first_name="Ana")) == "Ana"
    assert first_name(User(username="cara")) == "cara"
    assert first_name(None) == "Someone who has left"


def test_owners_and_administrators_may_change_things(ana: User, bo: User) -> None:
    assert may_change(ana, ana)
    assert not may_change(bo, ana)
    assert not may_change(bo, None)
    bo.is_staff = True
    assert may_change(bo, ana)
