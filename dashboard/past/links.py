"""Links that show a dashboard to whoever has them: made, found again, revoked."""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from dashboard.boards.models import Board
from dashboard.boards.sight import Sight
from dashboard.past.models import ShareLink

USE_NOTED_EVERY = timedelta(minutes=1)


@sensitive_variables("token")
def make_link(board: Board, person: User, label: str, expires_at: datetime) -> tuple[ShareLink, str]:
    """The link's row and its token, which is known to the caller alone from now on."""
    token = secrets.token_urlsafe(24)
    row = ShareLink.objects.create(
        board=board, made_by=person, label=label, expires_at=expires_at, digest=_digest(token)
    )
    return row, token


@sensitive_variables("token")
def open_link(token: str) -> ShareLink | None:
    """The link of a token; None if it is unknown, revoked or has expired, if its dashboard is in the bin, or
    if who made it is locked out."""
    row = ShareLink.objects.select_related("board", "made_by").filter(digest=_digest(token)).first()
    if row is None or not row.is_open or row.board.deleted_at is not None or not row.made_by.is_active:
        return None
    now = timezone.now()
    if row.last_used_at is None or now - row.last_used_at > USE_NOTED_EVERY:
        ShareLink.objects.filter(pk=row.pk).update(last_used_at=now)
    return row


def queries_of(link: ShareLink) -> set[str]:
    """Keys of the queries that it shows: those of its dashboard that who made it may still see."""
    return set(Sight.of(link.made_by, link.board.panels.all()).seen)


def revoke(link: ShareLink) -> None:
    link.revoked_at = timezone.now()
    link.save(update_fields=["revoked_at"])


@sensitive_variables("token")
def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
