"""The panel editor: a form beside a live preview."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import check_may_change, visible_boards, visible_queries
from dashboard.boards.forms import AXES, CHANGES, COLOURS, DEFAULTS, SCALES, PanelForm, typed_panel
from dashboard.boards.kinds import KINDS
from dashboard.boards.presentation import choices, panel_view, told
from dashboard.boards.sight import Sight, check_may_see_all_of, queries_of
from dashboard.models import Panel


@require_http_methods(["GET", "HEAD", "POST"])
def edit_panel(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    panel = _panel(request, slug, pk)
    queries = visible_queries(signed_in(request))
    typed = typed_panel(request.POST) if request.method == "POST" else _kept(panel)
    form = PanelForm(typed, queries=queries)
    if request.method == "POST" and form.is_valid():
        form.fill(panel).save()
        return redirect(panel.board)
    context = {
        "board": panel.board,
        "view": panel_view(panel, Sight.of(signed_in(request), [panel])),
        "typed": form.data,
        "problems": _problems(form) if request.method == "POST" else {},
        "kinds": KINDS.values(),
        "choices": choices(queries),
        "colours": COLOURS,
        "axes": AXES,
        "scales": SCALES,
        "changes": CHANGES,
    }
    return render(request, "boards/panel_edit.html", context, status=422 if context["problems"] else 200)


@require_POST
def preview_panel(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What the panel would be, or what is wrong with it; nothing is saved."""
    panel = _panel(request, slug, pk)
    form = PanelForm(typed_panel(request.POST), queries=visible_queries(signed_in(request)))
    if not form.is_valid():
        return JsonResponse({"problems": _problems(form)})
    form.fill(panel)
    sight = Sight.of(signed_in(request), [panel])
    words = panel_view(panel, sight)["words"]
    return JsonResponse(
        {"problems": {}, "title": panel.title, "words": words, "panel": told(panel, sight.queries)}
    )


def _kept(panel: Panel) -> dict[str, Any]:
    there = queries_of([panel])  # of the others there is nothing to choose
    shows = [shown for shown in panel.shown if shown["query"] in there]
    return {**DEFAULTS, **panel.settings, "title": panel.title, "kind": panel.kind, "shows": shows}


def _problems(form: PanelForm) -> dict[str, str]:
    return {field: str(lines[0]) for field, lines in form.errors.items()}


def _panel(request: HttpRequest, slug: str, pk: int) -> Panel:
    board = get_object_or_404(visible_boards(signed_in(request)), slug=slug)
    check_may_change(signed_in(request), board)
    panel: Panel = get_object_or_404(Panel, board=board, pk=pk)
    check_may_see_all_of(signed_in(request), panel)
    return panel
