"""Changing and deleting a saved source: what its Settings tab does."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import check_may_change
from dashboard.planning.news import warn_if_unheard
from dashboard.sources.actions import change_source, read_again
from dashboard.sources.forms import SettingsForm
from dashboard.sources.models import Source
from dashboard.sources.views import page_context


@require_POST
def source_settings(request: HttpRequest, key: str) -> HttpResponse:
    """Save the settings; where they change how the topic is read, the job gets a new plan with them."""
    source = _own_source(request, key)
    form = SettingsForm(source, request.POST, reader=signed_in(request))
    if not form.is_valid():
        source.refresh_from_db()
        context = page_context(request, source, "settings", form)
        return render(request, "sources/page.html", context, status=422)
    plan = change_source(form, signed_in(request))
    messages.info(request, f"Saved “{source.name}”.")
    if plan is not None:
        warn_if_unheard(request, plan)
    return redirect(source)


@require_POST
def source_read_again(request: HttpRequest, key: str) -> HttpResponse:
    """Have the job read the topic anew: what was refused and would be read now is counted then."""
    source = _own_source(request, key)
    plan = read_again(source, signed_in(request))
    if isinstance(plan, str):
        messages.warning(request, plan)
    else:
        messages.info(request, f"Reading “{source.name}” again.")
        warn_if_unheard(request, plan)
    return redirect(f"{source.get_absolute_url()}?tab=dead-letters")


def _own_source(request: HttpRequest, key: str) -> Source:
    """The source, if this person may change it."""
    source = get_object_or_404(Source.objects.select_related("created_by"), key=key)
    check_may_change(signed_in(request), source)
    return source
