"""Home, the list of dashboards, and a dashboard with its panels."""

from django.contrib import messages
from django.core import signing
from django.db import transaction
from django.db.models import Count, F, Max, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.boards.forms import AddPanelForm, BoardForm, PanelTitleForm
from dashboard.models import Board, Panel, SavedQuery, Source
from dashboard.planning.overview import headline, running_plans

RESTORE_SALT = "panel.restore"
UNDO_SECONDS = 3600


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What sharing saves and the dashboards that have panels; before there is one, what to do next."""
    filled = Board.objects.filter(panels__query__deleted_at__isnull=True, panels__isnull=False)
    plans = running_plans()
    context = {
        "source": Source.objects.first(),
        "query_count": SavedQuery.objects.count(),
        "board": Board.objects.first(),
        "boards": filled.distinct().order_by("created_at", "pk"),
        "headline": headline(plans) if plans else None,
    }
    return render(request, "home/home.html", context)


@require_safe
def boards(request: HttpRequest) -> HttpResponse:
    live_panels = Count("panels", filter=Q(panels__query__deleted_at__isnull=True))
    every = Board.objects.select_related("owner").annotate(panel_count=live_panels)
    return render(request, "boards/list.html", {"boards": every})


@require_http_methods(["GET", "HEAD", "POST"])
def new_board(request: HttpRequest) -> HttpResponse:
    form = BoardForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        form.instance.owner = request.user
        return redirect(form.save())
    return render(request, "boards/new.html", {"form": form}, status=422 if form.errors else 200)


@require_safe
def board(request: HttpRequest, slug: str) -> HttpResponse:
    found = get_object_or_404(Board, slug=slug)
    context = {
        "board": found,
        "panels": found.panels.select_related("query__source"),
        "form": AddPanelForm(),
        "query_count": SavedQuery.objects.count(),
    }
    return render(request, "boards/board.html", context)


@require_POST
def rename_board(request: HttpRequest, slug: str) -> HttpResponse:
    found = get_object_or_404(Board, slug=slug)
    form = BoardForm(request.POST, instance=found)
    if form.is_valid():
        form.save()
    else:
        messages.error(request, f"Not renamed: {form.errors['name'][0]}")
    return redirect("board", slug=slug)


@require_POST
def add_panel(request: HttpRequest, slug: str) -> HttpResponse:
    found = get_object_or_404(Board, slug=slug)
    form = AddPanelForm(request.POST)
    if form.is_valid():
        query = form.cleaned_data["query"]
        last = found.panels.aggregate(last=Max("position"))["last"]
        Panel.objects.create(board=found, query=query, title=query.name, position=(last or 0) + 1)
    else:
        messages.error(request, f"No panel added: {form.errors['query'][0]}")
    return redirect(found)


@require_POST
def rename_panel(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    panel = get_object_or_404(Panel, board__slug=slug, pk=pk)
    form = PanelTitleForm(request.POST, instance=panel)
    if form.is_valid():
        form.save()
    else:
        messages.error(request, f"Not renamed: {form.errors['title'][0]}")
    return redirect("board", slug=slug)


@require_POST
def remove_panel(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Remove at once, with Undo: the panel travels in the signed address that brings it back."""
    panel = get_object_or_404(Panel, board__slug=slug, pk=pk)
    kept = {"board": slug, "query": panel.query.key, "title": panel.title, "position": panel.position}
    panel.delete()
    token = signing.dumps(kept, salt=RESTORE_SALT, compress=True)
    undo = reverse("panel-restore", args=[slug, token])
    messages.info(request, f"Removed “{panel.title}”.", extra_tags=undo)
    return redirect("board", slug=slug)


@require_POST
@transaction.atomic
def restore_panel(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    try:
        kept = signing.loads(token, salt=RESTORE_SALT, max_age=UNDO_SECONDS)
    except signing.BadSignature as error:
        raise Http404 from error
    found = get_object_or_404(Board, slug=kept["board"])
    query = get_object_or_404(SavedQuery, key=kept["query"])
    found.panels.filter(position__gte=kept["position"]).update(position=F("position") + 1)
    Panel.objects.create(board=found, query=query, title=kept["title"], position=kept["position"])
    return redirect(found)
