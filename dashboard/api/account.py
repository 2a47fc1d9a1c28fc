"""One's own account over the API: name, password, sessions, tokens, notices, and asking for access."""

from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest
from ninja import Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from dashboard.accounts.account_views import asked_about
from dashboard.accounts.forms import OwnPasswordForm, ProfileForm
from dashboard.accounts.people import signed_in
from dashboard.accounts.sessions import (
    browser_words,
    end_other_sessions,
    end_sessions,
    keep_session,
    sessions_of,
)
from dashboard.accounts.sharing import answer_notice, ask_for_access
from dashboard.accounts.tokens import end_tokens
from dashboard.api.pages import Page, PageAsked, page_of
from dashboard.api.people import PersonShown
from dashboard.api.refusals import REFUSALS, refuse_bad
from dashboard.api.shapes import Given, Text
from dashboard.boards.actions import first_board_of
from dashboard.models import ApiToken, Notice, SignIn, Source

router = Router(tags=["Account"])
PASSWORD_FIELDS = {"old_password": "present", "new_password1": "new", "new_password2": "new"}


class ProfileSent(Given):
    first_name: Text = ""
    email: Text = ""
    password: Text = Field("", description="Your current password, to change the e-mail.")


class PasswordSent(Given):
    present: Text = Field("", description="The current password.")
    new: Text = ""
    end_tokens: bool = Field(False, description="Whether your tokens end, too: this one among them.")


class SessionShown(Schema):
    id: int
    browser: str
    address: str | None
    began_at: datetime
    seen_at: datetime

    @classmethod
    def of(cls, one: SignIn) -> "SessionShown":
        return cls(
            id=one.pk,
            browser=browser_words(one.browser),
            address=one.address,
            began_at=one.began_at,
            seen_at=one.seen_at,
        )


class TokenShown(Schema):
    id: int
    name: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None

    @classmethod
    def of(cls, one: ApiToken) -> "TokenShown":
        return cls(
            id=one.pk,
            name=one.name,
            created_at=one.created_at,
            last_used_at=one.last_used_at,
            expires_at=one.expires_at,
        )


class NoticeShown(Schema):
    id: int
    asked_by: str
    kind: str
    key: str
    created_at: datetime
    answered_at: datetime | None

    @classmethod
    def of(cls, one: Notice) -> "NoticeShown":
        thing = one.source or one.board
        key = thing.key if isinstance(thing, Source) else thing.slug if thing else ""
        return cls(
            id=one.pk,
            asked_by=one.asked_by.username,
            kind="source" if one.source else "dashboard",
            key=key,
            created_at=one.created_at,
            answered_at=one.answered_at,
        )


class FirstShown(Schema):
    dashboard: str | None = Field(description="Its key; null: home.")


class Answer(Given):
    gives: bool = Field(False, description="True lets who asked see it.")


class Asked(Given):
    kind: Text = Field("", description="source, query or dashboard.")
    key: Text = ""


class Said(Schema):
    said: str


@router.get("", response={200: PersonShown, **REFUSALS}, summary="Look at your account")
def show_account(request: HttpRequest) -> Any:
    return PersonShown.of(signed_in(request))


@router.patch("", response={200: PersonShown, **REFUSALS}, summary="Change your name or e-mail")
def patch_account(request: HttpRequest, sent: ProfileSent) -> Any:
    person = signed_in(request)
    kept = {"first_name": person.first_name, "email": person.email}
    form = ProfileForm(request, {**kept, **sent.model_dump(exclude_unset=True)})
    refuse_bad(form)
    return PersonShown.of(form.save())


@router.get("/first-dashboard", response={200: FirstShown, **REFUSALS}, summary="What you see first")
def show_first_dashboard(request: HttpRequest) -> Any:
    """The dashboard that signing in leads you to."""
    board = first_board_of(signed_in(request))
    return FirstShown(dashboard=board.slug if board else None)


@router.post("/password", response={204: None, **REFUSALS}, summary="Change your password")
def change_own_password(request: HttpRequest, sent: PasswordSent) -> Any:
    """Every other session ends; tokens stay unless they are to end, too."""
    person = signed_in(request)
    typed = {"old_password": sent.present, "new_password1": sent.new, "new_password2": sent.new}
    form = OwnPasswordForm(request, typed)
    refuse_bad(form, PASSWORD_FIELDS)
    end_other_sessions(person, request.session.session_key)
    form.save()
    if sent.end_tokens:
        end_tokens(person)
    if request.session.session_key:
        keep_session(request, person)
    return 204, None


@router.get("/sessions", response={200: list[SessionShown], **REFUSALS}, summary="List your sessions")
def list_sessions(request: HttpRequest) -> Any:
    return [SessionShown.of(one) for one in sessions_of(signed_in(request))]


@router.delete("/sessions/{int:number}", response={204: None, **REFUSALS}, summary="End a session")
def end_own_session(request: HttpRequest, number: int) -> Any:
    """That browser is signed out at once."""
    end_sessions(
        signed_in(request), [_own(SignIn.objects.filter(person=signed_in(request)), number, "session")]
    )
    return 204, None


@router.get("/tokens", response={200: Page[TokenShown], **REFUSALS}, summary="List your tokens")
def list_tokens(request: HttpRequest, asked: PageAsked) -> Any:
    """Tokens are made on the page “API tokens” alone: no token makes another."""
    return page_of(ApiToken.objects.filter(owner=signed_in(request)), asked, TokenShown.of)


@router.delete("/tokens/{int:number}", response={204: None, **REFUSALS}, summary="Revoke a token")
def revoke_token(request: HttpRequest, number: int) -> Any:
    _own(ApiToken.objects.filter(owner=signed_in(request)), number, "token").delete()
    return 204, None


@router.get("/notices", response={200: Page[NoticeShown], **REFUSALS}, summary="List who asks you for access")
def list_notices(request: HttpRequest, asked: PageAsked) -> Any:
    own = Notice.objects.filter(to=signed_in(request)).select_related("asked_by", "source", "board")
    return page_of(own, asked, NoticeShown.of)


@router.post("/notices/{int:number}", response={200: NoticeShown, **REFUSALS}, summary="Answer who asks")
def answer_one(request: HttpRequest, number: int, sent: Answer) -> Any:
    notice = _own(Notice.objects.filter(to=signed_in(request)), number, "notice")
    answer_notice(notice, gives=sent.gives)
    notice.refresh_from_db()
    return NoticeShown.of(notice)


@router.post("/asks", response={200: Said, **REFUSALS}, summary="Ask for access")
def ask_owner(request: HttpRequest, sent: Asked) -> Any:
    """Whoever can give it gets a notice."""
    try:
        thing = asked_about(sent.kind, sent.key)
    except Http404 as error:
        raise HttpError(404, str(error)) from error
    return Said(said=ask_for_access(signed_in(request), thing))


def _own(rows: Any, number: int, what: str) -> Any:
    found = rows.filter(pk=number).first()
    if found is None:
        raise HttpError(404, f"There is no {what} {number} of yours.")
    return found
