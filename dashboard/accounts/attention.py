"""What open pages look again for: who they are of, what that person may see now, and what waits for them."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils import timezone

from dashboard.accounts.people import first_name
from dashboard.accounts.rights import Thing, noun
from dashboard.audit import recording
from dashboard.models import Notice


def rights_version() -> int:
    """Grows whenever somebody's rights may have changed, or somebody asks for some."""
    asked = Notice.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    return recording.rights_version() + asked


def still_there(person: int, session_key: str | None) -> User | None:
    """The person as they are now; None if they may not sign in any more, or this session was ended."""
    if session_key is not None:
        alive = Session.objects.filter(session_key=session_key, expire_date__gt=timezone.now())
        if not alive.exists():
            return None
    return User.objects.filter(pk=person, is_active=True).first()


@dataclass(frozen=True)
class Waiting:
    count: int
    newest: str  # as a toast says it; empty: nothing waits


def waiting_for(person: User) -> Waiting:
    own = Notice.objects.filter(to=person, answered_at=None).select_related("asked_by", "source", "board")
    newest = own.order_by("-pk").first()
    if newest is None:
        return Waiting(0, "")
    thing: Thing | None = newest.source or newest.board
    what = f"the {noun(thing)} “{thing.name}”" if thing is not None else "something"
    return Waiting(own.count(), f"{first_name(newest.asked_by)} asks to see {what}.")
