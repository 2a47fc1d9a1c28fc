"""The button “Who may see this” and its dialog."""

from typing import Any

from django import template
from django.urls import reverse

from dashboard.accounts.levels import FOR_ALL, LEVELS, NOTHING
from dashboard.accounts.people import first_name, signed_in
from dashboard.accounts.rights import Shared, may_share, noun, owner_of
from dashboard.accounts.sharing import access_of, others_to_name
from dashboard.models import Source

register = template.Library()


@register.inclusion_tag("accounts/_who_may_see.html", takes_context=True)
def who_may_see(context: dict[str, Any], thing: Shared) -> dict[str, Any]:
    """For who may say it, a button with a dialog; for others nothing."""
    request = context["request"]
    if not may_share(signed_in(request), thing):
        return {"shown": False}
    people, groups = others_to_name(thing)
    owner = owner_of(thing)
    return {
        "shown": True,
        "request": request,
        "csrf_token": context.get("csrf_token"),
        "noun": noun(thing),
        "address": reverse("source-access", args=[thing.key])
        if isinstance(thing, Source)
        else reverse("board-access", args=[thing.slug]),
        "thing": thing,
        "owner": first_name(owner) if owner else "",
        "for_all": FOR_ALL,
        "levels": LEVELS.items(),
        "nothing": NOTHING,
        "given": access_of(thing),
        "people": people,
        "groups": groups,
        "is_restricted": thing.for_all == NOTHING,
    }
