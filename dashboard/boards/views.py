"""The list of dashboards, and a dashboard with its panels."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.accounts.people import first_name, signed_in
from dashboard.accounts.rights import (
    check_may_change,
    may_change,
    may_share,
    visible_boards,
    visible_queries,
    visible_sources,
)
from dashboard.boards import actions
from dashboard.boards.forms import AddPanelForm, BoardForm, NewBoardForm, PanelTitleForm
from dashboard.boards.kinds import KINDS
from dashboard.boards.presentation import panel_view
from dashboard.boards.sight import Sight, check_may_see_panel
from dashboard.boards.templates import TEMPLATES, of_one_query
from dashboard.models import Board, FirstBoard, Panel
from dashboard.namesakes import note_namesake

ROTATION_SECONDS = (15, 30, 60, 300)
HAS_PANELS = Q(panels__isnull=False) & Panel.living("panels__")


@require_safe
def start(request: HttpRequest) -> HttpResponse:
    """Where signing in leads to: somebody's own first dashboard, else home."""
    return redirect(actions.first_board_of(signed_in(request)) or "home")


@require_safe
def boards(request: HttpRequest) -> HttpResponse:
    person = signed_in(request)
    every = visible_boards(person).select_related("owner").order_by("name", "pk")
    every = every.annotate(panel_count=Count("panels", filter=HAS_PANELS, distinct=True))
    starred = set(Board.objects.filter(starred_by=person).values_list("pk", flat=True))
    first = FirstBoard.objects.filter(person=person).values_list("board_id", flat=True).first()
    asked = request.GET.get("q", "").strip()
    rows = [
        {
            "board": one,
            "starred": one.pk in starred,
            "first": one.pk == first,
            "may_change": may_change(person, one),
        }
        for one in every
        if all(word in _searched(one) for word in asked.lower().split())
    ]
    rows.sort(key=lambda row: not row["starred"])
    context = {
        "rows": rows,
        "asked": asked,
        "any": every.exists(),
        "tags": sorted({tag for one in every for tag in one.tags}),
    }
    return render(request, "boards/list.html", context)


def _searched(board: Board) -> str:
    return " ".join([board.name, first_name(board.owner), *board.tags]).lower()


@require_http_methods(["GET", "HEAD", "POST"])
def new_board(request: HttpRequest) -> HttpResponse:
    person = signed_in(request)
    form = NewBoardForm(visible_sources(person), request.POST if request.method == "POST" else None)
    queries = visible_queries(person)
    if request.method == "POST" and form.is_valid():
        made = actions.make_board(form.cleaned_data["name"], person, form.panels(queries))
        note_namesake(request, visible_boards(person), made)
        return redirect(made)
    context = {"form": form, "templates": TEMPLATES.values(), "any": queries.exists()}
    return render(request, "boards/new.html", context, status=422 if form.errors else 200)


@require_POST
def board_from_query(request: HttpRequest, key: str) -> HttpResponse:
    """One click: a dashboard that shows a query from all sides."""
    query = get_object_or_404(visible_queries(signed_in(request)), key=key)
    return redirect(actions.make_board(query.name, signed_in(request), of_one_query(query)))


@require_safe
def board(request: HttpRequest, slug: str) -> HttpResponse:
    person = signed_in(request)
    found = get_object_or_404(visible_boards(person), slug=slug)
    context = {
        "board": found,
        "panels": _panels(found, person),
        "may_change": may_change(person, found),
        "may_share": may_share(person, found),
        "starred": found.starred_by.filter(pk=person.pk).exists(),
        "first": FirstBoard.objects.filter(person=person, board=found).exists(),
        "form": AddPanelForm(visible_queries(person)),
        "kinds": KINDS.values(),
        "query_count": visible_queries(person).count(),
        "rotation": _rotation(request, found),
        "rotation_seconds": ROTATION_SECONDS,
        "all_tags": sorted({tag for one in visible_boards(person) for tag in one.tags}),
    }
    return render(request, "boards/board.html", context)


def _panels(board: Board, person: User) -> list[dict[str, Any]]:
    """The panels; one of a query that this person may not see says so, and nothing more."""
    panels = list(board.panels.select_related("query"))
    sight = Sight.of(person, panels)
    return [panel_view(panel, sight) for panel in panels]


def _rotation(request: HttpRequest, found: Board) -> list[str]:
    """The addresses through which a kiosk goes round: favourites, those with a tag, or all."""
    person, asked = signed_in(request), request.GET.get("of", "")
    every: QuerySet[Board] = visible_boards(person).order_by("name", "pk")
    if asked == "favourites":
        every = every.filter(starred_by=person)
    chosen = [one for one in every if not asked.startswith("tag:") or asked[4:] in one.tags]
    return [one.get_absolute_url() for one in chosen]


@require_POST
def change_board(request: HttpRequest, slug: str) -> HttpResponse:
    """Its name and its tags."""
    found = _board(request, slug)
    before = found.name
    form = BoardForm(_typed(request, "name"), instance=found)
    if form.is_valid():
        form.save()
        _offer_old_name(request, "name", before, found.name)
        if before != found.name:
            note_namesake(request, visible_boards(signed_in(request)), found)
    else:
        messages.error(request, f"Not renamed: {form.errors['name'][0]}")
    return redirect("board", slug=slug)


@require_POST
def duplicate_board(request: HttpRequest, slug: str) -> HttpResponse:
    found = get_object_or_404(visible_boards(signed_in(request)), slug=slug)
    return redirect(actions.duplicate_board(found, signed_in(request)))


@require_POST
def star_board(request: HttpRequest, slug: str) -> HttpResponse:
    found = get_object_or_404(visible_boards(signed_in(request)), slug=slug)
    actions.star(found, signed_in(request), request.POST.get("starred") == "yes")
    return redirect(_back(request, found))


@require_POST
def first_board(request: HttpRequest, slug: str) -> HttpResponse:
    """Make it the one that signing in leads to, or no longer."""
    found = get_object_or_404(visible_boards(signed_in(request)), slug=slug)
    actions.see_first(found, signed_in(request), request.POST.get("first") == "yes")
    return redirect(_back(request, found))


def _back(request: HttpRequest, found: Board) -> str:
    return reverse("boards") if request.POST.get("back") == "list" else found.get_absolute_url()


@require_POST
def add_panel(request: HttpRequest, slug: str) -> HttpResponse:
    found = _board(request, slug)
    form = AddPanelForm(visible_queries(signed_in(request)), request.POST)
    if not form.is_valid():
        messages.error(request, f"No panel added: {next(iter(form.errors.values()))[0]}")
        return redirect(found)
    panel = actions.add_panel(found, form.panel())
    if not KINDS[panel.kind].is_query:
        return redirect("panel-edit", slug=slug, pk=panel.pk)  # without its text it says nothing
    return redirect(found)


@require_POST
def rename_panel(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    panel = _panel(request, slug, pk)
    before = panel.title
    form = PanelTitleForm(_typed(request, "title"), instance=panel)
    if form.is_valid():
        form.save()
        _offer_old_name(request, "title", before, panel.title)
    else:
        messages.error(request, f"Not renamed: {form.errors['title'][0]}")
    return redirect("board", slug=slug)


def _typed(request: HttpRequest, field: str) -> QueryDict:
    """What was typed; Undo, which types nothing, has the old name in its address."""
    return request.POST if field in request.POST else request.GET


def _offer_old_name(request: HttpRequest, field: str, before: str, now: str) -> None:
    if before != now and field in request.POST:
        undo = f"{request.path}?{urlencode({field: before})}"
        messages.info(request, f"Renamed “{before}” to “{now}”.", extra_tags=undo)


@require_POST
def duplicate_panel(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    actions.duplicate_panel(_panel(request, slug, pk))
    return redirect("board", slug=slug)


def _board(request: HttpRequest, slug: str) -> Board:
    """A dashboard that whoever asks may change."""
    found = get_object_or_404(visible_boards(signed_in(request)), slug=slug)
    check_may_change(signed_in(request), found)
    return found


def _panel(request: HttpRequest, slug: str, pk: int) -> Panel:
    """A panel that whoever asks may change: on a dashboard that they may change, and not hidden from them."""
    panel: Panel = get_object_or_404(Panel, board=_board(request, slug), pk=pk)
    check_may_see_panel(signed_in(request), panel)
    return panel
