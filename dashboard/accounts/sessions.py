"""Where somebody is signed in, and ending that. Django keeps the sessions; this knows whose they are."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.core.validators import validate_ipv46_address
from django.db import transaction
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from dashboard.audit.recording import record
from dashboard.models import SignIn

SEEN_EVERY = min(timedelta(minutes=5), timedelta(seconds=settings.SESSION_COOKIE_AGE) / 4)
_NOTED = "seen"  # in the session: when it was last noted that it is in use

_BROWSERS = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


def browser_words(agent: str) -> str:
    """
    >>> browser_words("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML) Chrome/131.0 Safari/537.36")
    'Chrome on Linux'
    >>> browser_words("curl/8.5.0"), browser_words("")
    ('curl', 'An unknown browser')
    """
    browser = next((word for part, word in _BROWSERS if part in agent), "")
    system = next((word for part, word in _SYSTEMS if part in agent), "")
    if not browser:
        found = re.match(r"[\w.-]{1,40}", agent)
        return found[0] if found else "An unknown browser"
    return f"{browser} on {system}" if system else browser


def sessions_of(person: User) -> list[SignIn]:
    """Those that have not ended by themselves meanwhile."""
    alive = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    return list(SignIn.objects.filter(person=person, session_key__in=alive))


def end_sessions(person: User, sign_ins: list[SignIn]) -> None:
    """Sign those browsers out: their next request, and their open sockets at once, find no session."""
    for one in sign_ins:
        SessionStore(one.session_key).delete()
        one.delete()
    if sign_ins:
        words = ", ".join(browser_words(one.browser) for one in sign_ins)
        record("ended", "session", person.username, [["Signed out", words, None]], key=str(person.pk))


@transaction.atomic
def keep_session(request: HttpRequest, person: User) -> None:
    """Go on with this session after its person set another password; Django gives it another key.

    At once: pages that are open look whether their sign-in still has a session.
    """
    old = request.session.session_key
    update_session_auth_hash(request, person)
    SignIn.objects.filter(session_key=old).update(session_key=request.session.session_key)


def end_other_sessions(person: User, kept: str | None) -> int:
    others = [one for one in sessions_of(person) if one.session_key != kept]
    end_sessions(person, others)
    return len(others)


def noting_use(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: remembers to five minutes that a session is in use, which also puts off its end."""

    def answer(request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            _note_use(request)
        return get_response(request)

    return answer


def _note_use(request: HttpRequest) -> None:
    now = timezone.now()
    noted = request.session.get(_NOTED, 0)
    if not request.session.session_key or now.timestamp() - noted < SEEN_EVERY.total_seconds():
        return
    request.session[_NOTED] = int(now.timestamp())
    SignIn.objects.filter(session_key=request.session.session_key).update(seen_at=now)


@receiver(user_logged_in)
def _remember(sender: Any, request: HttpRequest, user: User, **kwargs: Any) -> None:
    if not request.session.session_key:
        request.session.create()
    request.session[_NOTED] = int(timezone.now().timestamp())
    SignIn.objects.update_or_create(
        session_key=request.session.session_key,
        defaults={
            "person": user,
            "browser": request.META.get("HTTP_USER_AGENT", "")[:300].replace("\0", ""),
            "address": _address(request),
            "seen_at": timezone.now(),
        },
    )


@receiver(user_logged_out)
def _forget(sender: Any, request: HttpRequest, user: User | None, **kwargs: Any) -> None:
    SignIn.objects.filter(session_key=request.session.session_key).delete()


def _address(request: HttpRequest) -> str | None:
    try:
        validate_ipv46_address(request.META.get("REMOTE_ADDR", ""))
    except ValidationError:
        return None
    return str(request.META["REMOTE_ADDR"])
