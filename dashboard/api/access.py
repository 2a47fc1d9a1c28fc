"""Who may see a source or a dashboard, over the API."""

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, QueryDict
from ninja import Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import Shared, check_may_share, owner_of
from dashboard.accounts.sharing import GROUP, PERSON, AccessForm, access_of
from dashboard.api.refusals import REFUSALS, refuse_bad
from dashboard.api.shapes import Given, Text
from dashboard.api.sources import found_source
from dashboard.models import Board

router = Router(tags=["Access"])
LEVEL = "none, see or change."


class AccessSent(Given):
    for_all: Text = Field("", description=f"What everyone may: {LEVEL}")
    people: dict[Text, Text] = Field({}, description="User name to see or change.")
    groups: dict[Text, Text] = Field({}, description="Name of a group to see or change.")


class AccessShown(Schema):
    owner: str | None
    for_all: str
    people: dict[str, str]
    groups: dict[str, str]

    @classmethod
    def of(cls, thing: Shared) -> "AccessShown":
        given, owner = access_of(thing), owner_of(thing)
        return cls(
            owner=owner.username if owner else None,
            for_all=thing.for_all,
            people={one.who.username: one.level for one in given if isinstance(one.who, User)},
            groups={one.who.name: one.level for one in given if not isinstance(one.who, User)},
        )


Shown = {200: AccessShown, **REFUSALS}


@router.get("/sources/{slug:key}/access", response=Shown, summary="Who may see a source")
def show_source_access(request: HttpRequest, key: str) -> Any:
    return _shown(request, found_source(key))


@router.put("/sources/{slug:key}/access", response=Shown, summary="Say who may see a source")
def set_source_access(request: HttpRequest, key: str, sent: AccessSent) -> Any:
    """Replaces what was said before. Open pages hear of it at once."""
    return _set(request, found_source(key), sent)


@router.get("/dashboards/{slug:slug}/access", response=Shown, summary="Who may see a dashboard")
def show_dashboard_access(request: HttpRequest, slug: str) -> Any:
    return _shown(request, _board(slug))


@router.put("/dashboards/{slug:slug}/access", response=Shown, summary="Say who may see a dashboard")
def set_dashboard_access(request: HttpRequest, slug: str, sent: AccessSent) -> Any:
    """Replaces what was said before. Panels of sources that somebody may not see stay hidden from them."""
    return _set(request, _board(slug), sent)


def _shown(request: HttpRequest, thing: Shared) -> AccessShown:
    check_may_share(signed_in(request), thing)
    return AccessShown.of(thing)


def _set(request: HttpRequest, thing: Shared, sent: AccessSent) -> AccessShown:
    check_may_share(signed_in(request), thing)
    data = QueryDict(mutable=True)
    data["for_all"] = sent.for_all
    given = [(f"{PERSON}:{name}", level) for name, level in sent.people.items()]
    given += [(f"{GROUP}:{name}", level) for name, level in sent.groups.items()]
    data.setlist("who", [who for who, _ in given])
    data.setlist("level", [level for _, level in given])
    form = AccessForm(thing, data)
    refuse_bad(form, {"__all__": "access"})
    form.save(signed_in(request))
    return AccessShown.of(thing)


def _board(slug: str) -> Board:
    board = Board.objects.select_related("owner").filter(slug=slug).first()
    if board is None:
        raise HttpError(404, f"There is no dashboard “{slug}”.")
    return board
