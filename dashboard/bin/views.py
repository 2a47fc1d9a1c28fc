"""The bin: what goes along is shown before anything is deleted; what was deleted is listed and restored."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.accounts.people import check_may_edit, signed_in
from dashboard.bin import actions
from dashboard.bin.access import check_may_delete
from dashboard.bin.contents import parts_of
from dashboard.bin.kinds import KINDS, key_of, kind_of, named, usable_keys
from dashboard.bin.listing import in_bin, row_of
from dashboard.bin.models import Binned
from dashboard.boards.models import Panel
from dashboard.planning.models import PlanVersion
from dashboard.planning.news import warn_if_unheard
from dashboard.planning.wire import WireDown

PER_PAGE = 25


@require_safe
def bin_page(request: HttpRequest) -> HttpResponse:
    person = signed_in(request)
    page = Paginator(in_bin(person), PER_PAGE).get_page(request.GET.get("page"))
    rows = [row_of(thing, person) for thing in page]
    context = {"listed": rows, "page": page, "days": actions.kept_for().days}
    return render(request, "bin/list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, kind: str) -> HttpResponse:
    """Say what goes along, then put it into the bin."""
    things = _asked(request, kind, in_bin=False)
    if not things:
        messages.info(request, f"Nothing selected: select {KINDS[kind].plural} first.")
        return redirect(KINDS[kind].page)
    if request.method != "POST":
        return render(request, "bin/delete.html", _context(request, things) | {"back": _page_of(things)})
    back = _list_of(things)
    plans = actions.delete(things, signed_in(request))
    undo = f"{reverse('bin-restore', args=[kind])}?{_keys(things)}"
    messages.info(request, f"{KINDS[kind].deleted} {named(things)}.", extra_tags=undo)
    _warn(request, plans)
    return redirect(back)


@require_POST
def restore(request: HttpRequest, kind: str) -> HttpResponse:
    things = _asked(request, kind, in_bin=True)
    if not things:
        raise Http404
    try:
        plans = actions.restore(things, signed_in(request))
    except actions.NotRestored as problem:
        messages.error(request, str(problem))
        return redirect(_asked_next(request) or "bin")
    messages.info(request, f"Restored {named(things)}.")
    _warn(request, plans)
    return redirect(_asked_next(request) or _page_of(things))


def _asked_next(request: HttpRequest) -> str:
    """The page of ours that somebody came from, if it is said."""
    asked = request.POST.get("next", "")
    return asked if url_has_allowed_host_and_scheme(asked, allowed_hosts=None) else ""


@require_http_methods(["GET", "HEAD", "POST"])
def delete_for_good(request: HttpRequest, kind: str) -> HttpResponse:
    things = _asked(request, kind, in_bin=True)
    if not things:
        raise Http404
    if request.method != "POST":
        return render(request, "bin/for_good.html", _context(request, things))
    try:
        for thing in things:
            actions.delete_for_good(thing)
    except WireDown as problem:
        messages.error(
            request, f"Not deleted, because the job cannot be told: {problem} Try again once it can."
        )
    else:
        messages.info(request, f"Deleted {named(things)} for good.")
    return redirect("bin")


def _asked(request: HttpRequest, kind: str, *, in_bin: bool) -> list[Any]:
    """The things that are named, if this person may delete all of them."""
    if kind not in KINDS:
        raise Http404
    check_may_edit(signed_in(request))
    keys = usable_keys(KINDS[kind], [*request.GET.getlist("key"), *request.POST.getlist("key")])
    things = [one for one in KINDS[kind].found(keys) if (one.deleted_at is not None) == in_bin]
    for thing in things:
        check_may_delete(signed_in(request), thing)
    return things


def _context(request: HttpRequest, things: list[Any]) -> dict[str, Any]:
    return {
        "things": things,
        "kind": kind_of(things[0]),
        "noun": KINDS[kind_of(things[0])].noun,
        "named": named(things),
        "keys": [key_of(thing) for thing in things],
        "parts": parts_of(things, signed_in(request)),
        "days": actions.kept_for().days,
    }


def _keys(things: list[Any]) -> str:
    return urlencode([("key", key_of(thing)) for thing in things])


def _page_of(things: list[Any]) -> str:
    """Where one thing is seen, or the list of several."""
    if len(things) > 1:
        return reverse(KINDS[kind_of(things[0])].page)
    thing = things[0]
    return str((thing.board if isinstance(thing, Panel) else thing).get_absolute_url())


def _list_of(things: list[Binned]) -> str:
    return _page_of(things) if isinstance(things[0], Panel) else reverse(KINDS[kind_of(things[0])].page)


def _warn(request: HttpRequest, plans: list[PlanVersion]) -> None:
    for plan in plans[:1]:
        warn_if_unheard(request, plan)
