"""What every address asks before its view is called: so that no view can forget to.

An address that names a thing is closed to who may not see the thing. Whatever is not a mere look needs an
editor, and one who may change the thing. Administration is for administrators. What an address does not name
(a query that is typed into a form) the views ask `rights` about themselves.
"""

import re
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.urls import ResolverMatch

from dashboard.accounts.people import check_administrator, check_may_edit
from dashboard.accounts.rights import Thing, check_may_change, check_may_see
from dashboard.models import Alert, Board, Connection, SavedQuery, Source

API = "api/"
ADMINISTRATION = ("people/", "audit/", "api/people", "api/groups", "api/audit")
# Everybody's own affairs, viewers included.
OWN_AFFAIRS = (
    "account/",
    "tokens/",
    "notices/",
    "ask-for-access/",
    "sign-in/",
    "sign-out/",
    "password/",
    "api/account",
)
# Looked at by who is about to add something.
BEGINNINGS = {"sources/new/", "queries/new/", "dashboards/new/", "connections/new/", "alerts/new/"}
# Sent like a change, and changes nothing, or nothing but what its sender likes to see.
MERE_LOOKS = {
    "api/queries/<slug:key>/preview",
    "api/sources/<slug:key>/plan/preview",
    "dashboards/<slug:slug>/star/",
    "dashboards/<slug:slug>/first/",
    "api/dashboards/<slug:key>/star",
    "api/dashboards/<slug:key>/first",
}
# What is made of a thing, or noted beside it, is its maker's own; the thing stays as it is.
OWN_WORK = {
    "dashboards/of-query/<slug:key>/",
    "api/dashboards/of-query/<slug:query>",
    "plan/<slug:key>/verify/",
    "plan/<slug:key>/what-if/compare/",
    "api/sources/<slug:key>/verify",
    "api/sources/<slug:key>/verify/<task>/cancel",
    "dashboards/<slug:slug>/duplicate/",
    "api/dashboards/<slug:key>/duplicate",
    "alerts/<slug:key>/silence/",
    "alerts/<slug:key>/silences/<int:pk>/end/",
    "alerts/<slug:key>/acknowledge/",
    "api/alerts/<slug:key>/silence",
    "api/alerts/<slug:key>/unsilence",
    "api/alerts/<slug:key>/acknowledge",
    "api/dashboards/<slug:key>/notes",
    "api/dashboards/<slug:key>/notes/<int:number>",
    "dashboards/<slug:slug>/notes/",
    "dashboards/<slug:slug>/notes/<int:pk>/remove/",
}
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
PLACES = "sources|plan|queries|history|alerts|dashboards/of-query|dashboards|connections"
NAMES_A_THING = re.compile(rf"^(?:api/)?({PLACES})/<slug:(\w+)>")


def thing_at(match: ResolverMatch) -> Thing | None:
    """The thing that an address names, if it exists: that it does not is for the view to say."""
    named = NAMES_A_THING.match(match.route)
    if named is None:
        return None
    place, key = named[1], match.kwargs[named[2]]
    if place in ("queries", "history", "dashboards/of-query"):
        return SavedQuery.with_deleted.select_related("source__created_by", "owner").filter(key=key).first()
    if place == "dashboards":
        return Board.with_deleted.select_related("owner").filter(slug=key).first()
    if place == "alerts":
        return Alert.with_deleted.select_related("query__source__created_by", "owner").filter(key=key).first()
    if place == "connections":
        return Connection.with_deleted.select_related("created_by").filter(key=key).first()
    return Source.with_deleted.select_related("created_by").filter(key=key).first()


def check_address(person: User, request: HttpRequest) -> None:
    """Raises PermissionDenied with the sentence that this person is told."""
    match = request.resolver_match
    if match is None:
        return
    if match.route.startswith(ADMINISTRATION):
        check_administrator(person)
    thing = thing_at(match)
    if thing is not None:
        check_may_see(person, thing)
    if match.route in BEGINNINGS:
        check_may_edit(person)
    if request.method in SAFE_METHODS or match.route.startswith(OWN_AFFAIRS) or match.route in MERE_LOOKS:
        return
    check_may_edit(person)
    if thing is not None and match.route not in OWN_WORK:
        check_may_change(person, thing)


class Gate:
    """Middleware for the pages; the API asks `check_address` once it knows whose token it was shown."""

    def __init__(self, get_response: Any) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response: HttpResponse = self._get_response(request)
        return response

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> None:
        is_call = request.path.startswith(f"/{API}") and getattr(view, "login_required", True) is False
        if isinstance(request.user, User) and not is_call:
            check_address(request.user, request)
