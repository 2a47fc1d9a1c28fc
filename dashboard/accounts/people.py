"""People in sentences, and what they may change."""

from typing import cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
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


def check_may_change(person: User, owner: User | None, what: str, did: str = "added") -> None:
    """Refuse, in the same words on pages and in the API, who may not change something."""
    if not may_change(person, owner):
        raise PermissionDenied(f"You may not change this {what}. {first_name(owner)} {did} it.")
