"""Making personal tokens and finding out whose one is."""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from dashboard.accounts.models import ApiToken

PREFIX = "millrace_"  # so that people and scanners of repositories know one when they see it
USE_NOTED_EVERY = timedelta(minutes=1)


@sensitive_variables("token")
def make_token(owner: User, name: str, expires_at: datetime | None) -> tuple[ApiToken, str]:
    """The token's row and the token, which is known to the caller alone from now on."""
    token = PREFIX + secrets.token_urlsafe(32)
    row = ApiToken.objects.create(owner=owner, name=name, digest=_digest(token), expires_at=expires_at)
    return row, token


def end_tokens(owner: User) -> int:
    """How many there were; none of them opens anything any more."""
    rows = list(ApiToken.objects.filter(owner=owner))
    for row in rows:
        row.delete()  # each is in the audit log
    return len(rows)


@sensitive_variables("token")
def owner_of(token: str) -> User | None:
    """Who made the token, while it is good."""
    row = token_row(token)
    return row.owner if row else None


@sensitive_variables("token")
def token_row(token: str) -> ApiToken | None:
    """None if it is unknown, revoked or has expired, or its owner may not sign in."""
    row = ApiToken.objects.select_related("owner").filter(digest=_digest(token)).first()
    if row is None or row.has_expired or not row.owner.is_active:
        return None
    _note_use(row)
    return row


def _note_use(row: ApiToken) -> None:
    now = timezone.now()
    if row.last_used_at is None or now - row.last_used_at > USE_NOTED_EVERY:
        ApiToken.objects.filter(pk=row.pk).update(last_used_at=now)


@sensitive_variables("token")
def _digest(token: str) -> str:
    """A plain hash is enough: a token has 256 random bits, which nobody can try out."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
