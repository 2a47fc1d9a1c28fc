"""Personal tokens: shown once, kept as a digest, good until they expire or are revoked."""

import logging
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.accounts.tokens import USE_NOTED_EVERY, make_token, owner_of
from dashboard.models import ApiToken
from tests.dashboard.conftest import PASSWORD


def made_on_the_page(client: Client, **typed: str) -> str:
    response = client.post("/tokens/", {"name": "nightly", "days": "90", "password": PASSWORD, **typed})
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    token: str = response.context["token"]
    assert token in response.content.decode()
    return token


def test_a_token_is_shown_once_and_only_its_digest_is_kept(
    as_ana: Client, ana: User, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = made_on_the_page(as_ana)
    row = ApiToken.objects.get()
    assert token not in {str(value) for value in vars(row).values()}
    assert owner_of(token) == ana
    page = as_ana.get("/tokens/").content.decode()
    assert "nightly" in page
    assert token not in page
    assert timedelta(days=89) < row.expires_at - timezone.now() <= timedelta(days=90)
    Client().get("/api/nothing", headers={"Authorization": f"Bearer {token}"})
    assert token not in caplog.text


def test_a_token_needs_a_name(as_ana: Client) -> None:
    response = as_ana.post("/tokens/", {"name": " ", "days": "90"})
    assert response.status_code == 422
    assert "Give the token a name, such as what will use it." in response.content.decode()
    assert as_ana.post("/tokens/", {"name": "x", "days": "12"}).status_code == 422
    assert as_ana.post("/tokens/", {"name": "x\0y", "days": "90"}).status_code == 422
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("typed", ["", "wrong"])
def test_a_token_needs_the_password_of_its_maker(as_ana: Client, typed: str) -> None:
    """Who sits down at an open browser makes nothing that outlives it."""
    response = as_ana.post("/tokens/", {"name": "x", "days": "90", "password": typed})
    assert response.status_code == 422
    assert "your current password." in response.content.decode()
    assert not ApiToken.objects.exists()


def test_a_page_without_tokens_says_what_they_are_for(as_ana: Client) -> None:
    assert "No tokens yet." in as_ana.get("/tokens/").content.decode()


def test_a_revoked_token_is_worth_nothing(as_ana: Client, as_bo: Client) -> None:
    token = made_on_the_page(as_ana)
    row = ApiToken.objects.get()
    assert as_bo.post(f"/tokens/{row.pk}/revoke/").status_code == 404
    assert "nightly" not in as_bo.get("/tokens/").content.decode()
    assert owner_of(token) is not None
    as_ana.post(f"/tokens/{row.pk}/revoke/")
    assert owner_of(token) is None


def test_a_token_holds_until_it_expires(ana: User) -> None:
    past, future = timezone.now() - timedelta(seconds=1), timezone.now() + timedelta(hours=1)
    assert owner_of(make_token(ana, "old", past)[1]) is None
    assert owner_of(make_token(ana, "new", future)[1]) == ana
    assert owner_of(make_token(ana, "for ever", None)[1]) == ana


def test_who_may_not_sign_in_is_not_let_in_by_a_token(ana: User) -> None:
    token = make_token(ana, "script", None)[1]
    User.objects.update(is_active=False)
    assert owner_of(token) is None


def test_the_last_use_is_noted_to_the_minute(ana: User) -> None:
    row, token = make_token(ana, "script", None)
    owner_of(token)
    row.refresh_from_db()
    first = row.last_used_at
    owner_of(token)
    row.refresh_from_db()
    assert row.last_used_at == first
    ApiToken.objects.update(last_used_at=first - 2 * USE_NOTED_EVERY)
    owner_of(token)
    row.refresh_from_db()
    assert row.last_used_at >= first
