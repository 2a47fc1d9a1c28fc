"""The past of queries for charts and as files, notes, and how long results are kept."""

import gzip
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import msgspec
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
    StreamingHttpResponse,
)
from django.shortcuts import get_object_or_404, redirect
from django.utils.cache import patch_vary_headers
from django.utils.text import slugify
from django.views.decorators.http import require_POST, require_safe

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import check_may_change, check_may_see, visible_queries
from dashboard.boards.models import Board, Panel
from dashboard.boards.sight import check_may_see_panel
from dashboard.past.asked import BadRange, asked_queries, asked_range
from dashboard.past.forms import NoteForm, PolicyForm
from dashboard.past.marks import NOT_THE_AUTHOR, marks_of, marks_of_queries, may_remove, note_message
from dashboard.past.models import HistoryPolicy, Note
from dashboard.past.results import FilePart, panel_lines, past_of, query_lines
from dashboard.queries.models import SavedQuery


@require_safe
def pasts(request: HttpRequest) -> HttpResponse:
    """Of those of the queries asked for that this person may see."""
    return past_answer(request, visible_queries(signed_in(request)))


@require_safe
def query_file(request: HttpRequest, key: str) -> HttpResponseBase:
    query = _seen_query(request, key)
    return _file(request, query.name, lambda start, until: query_lines(query, start, until))


@require_safe
def panel_file(request: HttpRequest, slug: str, pk: int) -> HttpResponseBase:
    """What the panel shows of those of its queries that this person may see."""
    panel = get_object_or_404(_seen_board(request, slug).panels, pk=pk)
    check_may_see_panel(signed_in(request), panel)
    return panel_answer(request, panel, visible_queries(signed_in(request)))


@require_safe
def board_marks(request: HttpRequest, slug: str) -> HttpResponse:
    person = signed_in(request)
    seen = set(visible_queries(person).values_list("key", flat=True))
    return marks_answer(request, _seen_board(request, slug), seen, person)


@require_safe
def query_marks(request: HttpRequest, key: str) -> HttpResponse:
    """Of one query, for its own page, where nobody writes notes."""
    query = _seen_query(request, key)
    try:
        asked = asked_range(request)
    except BadRange as problem:
        return JsonResponse({"problem": str(problem)}, status=422)
    return JsonResponse({"notes": [], **marks_of_queries([query], asked.start, asked.until)})


@require_POST
def note_add(request: HttpRequest, slug: str) -> HttpResponse:
    board = _seen_board(request, slug)
    form = NoteForm(request.POST)
    if not form.is_valid():
        return JsonResponse({"problem": next(iter(form.errors.values()))[0]}, status=422)
    person = signed_in(request)
    note = Note.objects.create(board=board, author=person, **form.cleaned_data)
    return JsonResponse(note_message(note, person), status=201)


@require_POST
def note_remove(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    board = _seen_board(request, slug)
    note = get_object_or_404(Note.objects.select_related("author"), board=board, pk=pk)
    if not may_remove(signed_in(request), note):
        return JsonResponse({"problem": NOT_THE_AUTHOR}, status=403)
    note.delete()
    return HttpResponse(status=204)


@require_POST
def policy_change(request: HttpRequest, key: str) -> HttpResponse:
    query = get_object_or_404(SavedQuery.objects.select_related("owner"), key=key)
    check_may_change(signed_in(request), query)
    policy = HistoryPolicy.objects.filter(query=query).first() or HistoryPolicy(query=query)
    form = PolicyForm(request.POST, instance=policy)
    if form.is_valid():
        form.save()
        messages.info(request, f"Saved how long results of “{query.name}” are kept.")
    else:
        messages.error(request, f"Not saved: {next(iter(form.errors.values()))[0]}")
    return redirect(query)


def past_answer(request: HttpRequest, seen: QuerySet[SavedQuery]) -> HttpResponse:
    """By key, all queries of a page at once: each for itself would ask anew who asks, and may."""
    try:
        asked, keys = asked_range(request), asked_queries(request)
    except BadRange as problem:
        return JsonResponse({"problem": str(problem)}, status=422)
    queries = seen.select_related("source").filter(key__in=keys)
    told = {query.key: past_of(query, asked) for query in queries}
    return _packed(request, msgspec.json.encode(told))


def _packed(request: HttpRequest, body: bytes) -> HttpResponse:
    """By hand, as `gzip_page` packs a tenth tighter and takes five times as long, for which charts wait."""
    response = HttpResponse(body, content_type="application/json")
    patch_vary_headers(response, ["Accept-Encoding"])
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        response.content = gzip.compress(body, compresslevel=1)
        response["Content-Encoding"] = "gzip"
    return response


def panel_answer(request: HttpRequest, panel: Panel, seen: QuerySet[SavedQuery]) -> HttpResponseBase:
    """The file of a panel; `window` and `computation` are those that its viewer has switched to."""
    keys = [shown["query"] for shown in panel.shown]
    queries = {query.key: query for query in seen.filter(key__in=keys)}
    window, computation = request.GET.get("window", ""), request.GET.get("computation", "")
    shows = [shown for shown in panel.shown if shown["query"] in queries]
    parts = [
        _shown_part(queries[shown["query"]], shown, window, computation if len(shows) == 1 else None)
        for shown in shows
    ]
    if not parts:
        raise Http404
    return _file(request, panel.title, lambda start, until: panel_lines(parts, start, until))


def _shown_part(
    query: SavedQuery, shown: Mapping[str, Any], window: str, computation: str | None
) -> FilePart:
    """What is drawn of a query: by groups, one window unless more are chosen; alone, one computation."""
    spec = query.spec()
    windows, computed = shown.get("windows") or None, shown.get("computation")
    if windows is None and query.group_by:
        windows = [window or spec.windows[0].words]
    if not computed and computation is not None:
        computed = computation or spec.computations[0].words
    return FilePart(query, windows, [computed] if computed else None)


def _file(request: HttpRequest, title: str, lines: Callable[[int, int], Iterator[str]]) -> HttpResponseBase:
    try:
        asked = asked_range(request)
    except BadRange as problem:
        return HttpResponse(str(problem), status=422, content_type="text/plain")
    headers = {"Content-Disposition": f'attachment; filename="{slugify(title) or "results"}.csv"'}
    content = lines(asked.start, asked.until)
    return StreamingHttpResponse(content, content_type="text/csv; charset=utf-8", headers=headers)


def marks_answer(
    request: HttpRequest, board: Board, seen: Collection[str], viewer: User | None = None
) -> HttpResponse:
    """`seen` are the keys of the queries that who asks may see."""
    try:
        asked = asked_range(request)
    except BadRange as problem:
        return JsonResponse({"problem": str(problem)}, status=422)
    return JsonResponse(marks_of(board, asked.start, asked.until, seen, viewer))


def _seen_query(request: HttpRequest, key: str) -> SavedQuery:
    query = get_object_or_404(SavedQuery.objects.select_related("source"), key=key)
    check_may_see(signed_in(request), query)
    return query


def _seen_board(request: HttpRequest, slug: str) -> Board:
    board = get_object_or_404(Board, slug=slug)
    check_may_see(signed_in(request), board)
    return board
