"""What open pages look again for: who they are of, what that person may see now, and what waits for them."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.utils import timezone

from dashboard.accounts.people import first_name
from dashboard.accounts.rights import Thing, noun
from dashboard.audit import recording
from dashboard.models import Notice, SignIn


def rights_version() -> int:
    """Grows whenever somebody's rights may have changed, or somebody asks for some."""
    asked = Notice.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    return recording.rights_version() + asked


NO_SIGN_IN = 0


def sign_in_of(session: SessionBase) -> int:
    """What a page stays open by; not the session's key, as another password gives its session another one."""
    known = SignIn.objects.filter(session_key=session.session_key)
    return known.values_list("pk", flat=True).first() or NO_SIGN_IN


def sign_ins_alive() -> set[int]:
    """Those whose session has neither ended nor been idle for too long."""
    alive = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    return set(SignIn.objects.filter(session_key__in=alive).values_list("pk", flat=True))


def still_there(person: int, sign_in: int) -> User | None:
    """The person as they are now; None if they may not sign in any more, or this browser was signed out."""
    keys = SignIn.objects.filter(pk=sign_in).values("session_key")
    if not Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now()).exists():
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
