"""What the dialog “Who may see this” sends, of sources and of dashboards."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import Shared, check_may_share
from dashboard.accounts.sharing import AccessForm
from dashboard.models import Board, Source


@require_POST
def source_access(request: HttpRequest, key: str) -> HttpResponse:
    return _set_access(request, get_object_or_404(Source.objects.select_related("created_by"), key=key))


@require_POST
def board_access(request: HttpRequest, slug: str) -> HttpResponse:
    return _set_access(request, get_object_or_404(Board.objects.select_related("owner"), slug=slug))


def _set_access(request: HttpRequest, thing: Shared) -> HttpResponse:
    check_may_share(signed_in(request), thing)
    form = AccessForm(thing, request.POST)
    if form.is_valid():
        form.save(signed_in(request))
        messages.info(request, f"Saved who may see “{thing.name}”.")
    else:
        sentence = next(iter(form.errors.values()))[0]
        messages.error(request, f"Not saved: {sentence}")
    return redirect(f"{thing.get_absolute_url()}?access=open" if request.POST.get("more") else thing)
