"""The page of a query's versions."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import may_change
from dashboard.planning.news import warn_if_unheard
from dashboard.queries.models import QueryVersion, SavedQuery
from dashboard.queries.versions import FitsNoMore, go_back, history


@require_safe
def versions(request: HttpRequest, key: str) -> HttpResponse:
    query = get_object_or_404(SavedQuery.objects.select_related("source", "owner"), key=key)
    context = {
        "query": query,
        "listed": history(query),
        "may_change": may_change(signed_in(request), query),
    }
    return render(request, "queries/versions.html", context)


@require_POST
def restore(request: HttpRequest, key: str, number: int) -> HttpResponse:
    query = get_object_or_404(SavedQuery.objects.select_related("source"), key=key)
    version = get_object_or_404(QueryVersion, query=query, number=number)
    try:
        plan = go_back(query, version, signed_in(request))
    except FitsNoMore as problem:
        messages.error(request, str(problem))
        return redirect("query-versions", key=key)
    messages.info(request, f"“{query.name}” is as in version {number} again.")
    warn_if_unheard(request, plan)
    return redirect(query)
