"""The page on which links are made and revoked, and what a link shows to somebody who has not signed in."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import check_may_share, may_share
from dashboard.boards.models import Board
from dashboard.boards.presentation import panel_view
from dashboard.boards.sight import Sight
from dashboard.past.forms import LinkForm
from dashboard.past.links import make_link, open_link, queries_of, revoke
from dashboard.past.models import ShareLink
from dashboard.past.views import marks_answer, panel_answer, past_answer
from dashboard.queries.models import SavedQuery


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def share(request: HttpRequest, slug: str) -> HttpResponse:
    """The links of a dashboard. A new one is in the answer to the form and nowhere else."""
    board = get_object_or_404(Board.objects.select_related("owner"), slug=slug)
    if request.method != "POST":
        return render(request, "past/share.html", _context(request, board, LinkForm()))
    check_may_share(signed_in(request), board)
    form = LinkForm(request.POST)
    if not form.is_valid():
        return render(request, "past/share.html", _context(request, board, form), status=422)
    made, token = make_link(board, signed_in(request), form.cleaned_data["label"], form.expires_at())
    address = request.build_absolute_uri(reverse("shared", args=[token]))
    context = _context(request, board, LinkForm()) | {"made": made, "address": address}
    return render(request, "past/share.html", context)


def _context(request: HttpRequest, board: Board, form: LinkForm) -> dict[str, Any]:
    return {
        "board": board,
        "form": form,
        "links": board.share_links.select_related("made_by"),
        "may_share": may_share(signed_in(request), board),
        "origins": settings.EMBED_ORIGINS,
    }


@require_POST
def share_revoke(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    link = get_object_or_404(ShareLink.objects.select_related("board__owner"), board__slug=slug, pk=pk)
    check_may_share(signed_in(request), link.board)
    revoke(link)
    messages.info(request, f"Revoked “{link}”: whoever has it sees nothing more.")
    return redirect("share", slug=slug)


@login_not_required
@never_cache
@require_safe
@xframe_options_exempt  # what may frame it is said below, by origin
def shared(request: HttpRequest, token: str) -> HttpResponse:
    link = open_link(token)
    if link is None:
        response = render(request, "past/link_closed.html", status=404)
    else:
        context = {"board": link.board, "panels": _panels(link), "token": token}
        response = render(request, "past/shared.html", context)
    response.framers = " ".join(["'self'", *settings.EMBED_ORIGINS])  # type: ignore[attr-defined]
    response["Referrer-Policy"] = "no-referrer"  # the address is the key
    return response


def _panels(link: ShareLink) -> list[dict[str, Any]]:
    """Those that the link shows; of others not even that they are there."""
    panels = list(link.board.panels.select_related("query"))
    sight = Sight.of(link.made_by, panels)
    views = [panel_view(panel, sight) for panel in panels]
    return [view for view in views if view["unseen"] is None]


@login_not_required
@require_safe
def shared_pasts(request: HttpRequest, token: str) -> HttpResponse:
    link = open_link(token)
    if link is None:
        return _closed()
    return past_answer(request, SavedQuery.objects.filter(key__in=queries_of(link)))


@login_not_required
@require_safe
def shared_file(request: HttpRequest, token: str, pk: int) -> HttpResponseBase:
    link = open_link(token)
    if link is None:
        return _closed()
    panel = get_object_or_404(link.board.panels, pk=pk)
    return panel_answer(request, panel, SavedQuery.objects.filter(key__in=queries_of(link)))


@login_not_required
@require_safe
def shared_marks(request: HttpRequest, token: str) -> HttpResponse:
    link = open_link(token)
    return marks_answer(request, link.board, queries_of(link)) if link else _closed()


def _closed() -> HttpResponse:
    return HttpResponse("This link has ended.", status=404, content_type="text/plain")
