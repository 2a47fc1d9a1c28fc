"""Home, and the search of everything."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Case, Exists, OuterRef, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import visible_alerts, visible_boards, visible_queries, visible_sources
from dashboard.alerts.states import UNWELL, is_attended, state_of
from dashboard.alerts.views import row_of
from dashboard.boards.kinds import COLUMNS, KINDS
from dashboard.boards.views import HAS_PANELS
from dashboard.home.finding import found
from dashboard.models import Board, Panel, PlanVersion
from dashboard.planning.overview import headline, plans_seen
from dashboard.queries.states import state_of as query_state
from dashboard.queries.states import warnings_of

CHANGES_SHOWN = 6
QUERIES_SHOWN = 6
ALERTS_SHOWN = 8
SKETCH_ROWS = 32  # of a dashboard's grid: what lies below is cut off


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What sharing saves, the dashboards that have panels, and what goes on; before that, what to do next."""
    person = signed_in(request)
    seen = visible_sources(person)
    plans, others = plans_seen(person)
    sources = seen.prefetch_related("queries")
    changes = PlanVersion.objects.filter(source__in=seen).select_related("source").defer("plan", "statistics")
    context = {
        "sources": sources,
        "query_count": visible_queries(person).count(),
        "queries": _newest_queries(person),
        "board": visible_boards(person).first(),
        "cards": [Card.of(board) for board in _filled_boards(person)],
        "headline": headline(plans, others) if plans else None,
        "changes": changes.order_by("-created_at", "-pk")[:CHANGES_SHOWN],
        **_alerts(person),
    }
    return render(request, "home/home.html", context)


def _filled_boards(person: User) -> list[Board]:
    starred = Exists(person.starred_boards.filter(pk=OuterRef("pk")))
    filled = visible_boards(person).filter(HAS_PANELS).distinct().annotate(starred=starred)
    ordered = filled.order_by("-starred", "created_at", "pk")
    return list(ordered.select_related("owner").prefetch_related("panels"))


def _newest_queries(person: User) -> list[dict[str, object]]:
    """Somebody's own first."""
    is_own = Case(When(owner=person, then=0), default=1)
    seen = visible_queries(person).select_related("source", "paused_by")
    newest = list(seen.order_by(is_own, "-created_at", "-pk")[:QUERIES_SHOWN])
    warnings = warnings_of(newest)
    return [{"query": query, "state": query_state(query, warnings.get(query.key, ""))} for query in newest]


def _alerts(person: User) -> dict[str, object]:
    known = visible_alerts(person).select_related("query__source", "owner", "evaluation")
    alerts = list(known.prefetch_related("silences"))
    unwell = sorted(
        (one for one in alerts if state_of(one).kind in UNWELL), key=lambda one: state_of(one).rank
    )
    return {
        "alert_count": len(alerts),
        "alerts": [row_of(one) for one in unwell[:ALERTS_SHOWN]],
        "more_alerts": max(0, len(unwell) - ALERTS_SHOWN),
        "attended": is_attended(),
    }


@dataclass(frozen=True)
class Block:
    """A panel in the sketch of its dashboard, in percent of it."""

    icon: str
    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Card:
    """A dashboard as home shows it."""

    board: Board
    panels: int
    blocks: list[Block]

    @classmethod
    def of(cls, board: Board) -> "Card":
        panels = list(board.panels.all())
        return cls(board, len(panels), [_block(panel) for panel in panels if (panel.y or 0) < SKETCH_ROWS])


def _block(panel: Panel) -> Block:
    row, column = 100 / SKETCH_ROWS, 100 / COLUMNS
    x, y = panel.x or 0, panel.y or 0
    return Block(KINDS[panel.kind].icon, x * column, y * row, panel.w * column, panel.h * row)


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """What matches; the whole page where no script asked for its lines alone."""
    asked = request.GET.get("q", "").strip()
    template = "home/_found.html" if request.headers.get("HX-Request") else "home/search.html"
    return render(request, template, {"asked": asked, "found": found(signed_in(request), asked)})
