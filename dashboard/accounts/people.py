"""People in sentences, and what they may change."""

from typing import cast

from django.contrib.auth.models import User
from django.http import HttpRequest


def signed_in(request: HttpRequest) -> User:
    """Who asks. LoginRequiredMiddleware lets nobody else through to a page that calls this."""
    return cast(User, request.user)


def first_name(person: User | None) -> str:
    """How a sentence calls a person."""
    if person is None:
        return "Someone who has left"
    return person.first_name or person.username


def may_change(person: User, owner: User | None) -> bool:
    """Owners change what is theirs; administrators change everything."""
    return person.is_staff or person == owner
