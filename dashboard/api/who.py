"""Who asks the API: a program with a personal token, or a page of somebody who has signed in."""

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.views.decorators.debug import sensitive_variables
from ninja.errors import AuthenticationError, HttpError
from ninja.security import APIKeyCookie, HttpBearer
from ninja.utils import check_csrf

from dashboard.accounts.gate import check_address
from dashboard.accounts.tokens import token_row
from dashboard.live.sockets import Pace

AT_ONCE = 10  # seconds' worth of requests that may come together
STRANGER = "Sign in, or send a token as “Authorization: Bearer …”. Tokens are made on the page “API tokens”."
UNKNOWN_TOKEN = "This token is not known here: it was revoked, has expired or is misspelt. Make another."  # noqa: S105  # a sentence
NO_CSRF = "The CSRF token is missing or wrong: send it as X-CSRFToken, or use a personal token."


_paces: dict[tuple[int, int], Pace] = {}  # of this process, by person, and rate


def check_pace(person: User) -> None:
    """Refuse requests of a person that come faster than the administrator allows."""
    rate = settings.LIMITS["api_rate"]
    pace = _paces.setdefault((person.pk, rate), Pace(AT_ONCE * rate, rate))
    if rate and not pace.allows():
        raise HttpError(
            429,
            f"More than {rate} requests a second: wait a moment, and ask less often (MILLRACE_API_RATE).",
        )


class PersonalToken(HttpBearer):
    """A token in the Authorization header; a bad one is refused whatever cookies come with it."""

    @sensitive_variables("token")
    def authenticate(self, request: HttpRequest, token: str) -> User:
        row = token_row(token)
        if row is None:
            raise AuthenticationError(message=UNKNOWN_TOKEN)
        request.user = row.owner
        request.token_name = row.name  # type: ignore[attr-defined]  # for the audit log
        check_pace(row.owner)
        check_address(row.owner, request)
        return row.owner


class SignedIn(APIKeyCookie):
    """The session of a page. What it changes needs the page's CSRF token, as every form does."""

    param_name = "sessionid"

    def __call__(self, request: HttpRequest) -> User | None:
        person = self.authenticate(request, request.COOKIES.get(self.param_name))
        if person is not None and check_csrf(request):
            raise HttpError(403, NO_CSRF)
        if person is not None:
            check_pace(person)
            check_address(person, request)
        return person

    def authenticate(self, request: HttpRequest, key: str | None) -> User | None:
        """Django's own session tells; the cookie alone says nothing."""
        return request.user if isinstance(request.user, User) and request.user.is_authenticated else None
