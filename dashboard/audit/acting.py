"""Who acts at present, for whoever writes into the audit log."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse

from dashboard.accounts.people import first_name

NOBODY = "A command"
STRANGER = "Someone who has not signed in"
_request: ContextVar[HttpRequest | None] = ContextVar("request", default=None)


@dataclass(frozen=True)
class Actor:
    person: int | None
    name: str
    via: str = ""


def actor() -> Actor:
    request = _request.get()
    if request is None:
        return Actor(None, NOBODY)
    person = getattr(request, "user", None)
    if not isinstance(person, User):
        return Actor(None, STRANGER)
    token = getattr(request, "token_name", "")  # the API says whose token it was shown
    return Actor(person.pk, first_name(person), f"API token “{token}”" if token else "")


def acting(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: whatever is recorded while a request is answered was done by who sent it."""

    def answer(request: HttpRequest) -> HttpResponse:
        kept = _request.set(request)
        try:
            return get_response(request)
        finally:
            _request.reset(kept)

    return answer
