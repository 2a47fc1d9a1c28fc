"""The query pages."""

import json
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dashboard.accounts.people import first_name, may_change, signed_in
from dashboard.planning import service as planning
from dashboard.planning.models import PlanVersion
from dashboard.planning.news import warn_if_unheard
from dashboard.queries import actions
from dashboard.queries.cost_words import cost_cells
from dashboard.queries.drafts import AGGREGATES, NUMERIC, Checked, Draft, check_draft
from dashboard.queries.models import SavedQuery
from dashboard.queries.windows_text import spoken, summary
from dashboard.sources.models import Source
from optimizer.queries import WindowSpec
from optimizer.windows import Window


@require_GET
def query_list(request: HttpRequest) -> HttpResponse:
    queries = list(SavedQuery.objects.select_related("source", "owner"))
    trees = _trees({query.source for query in queries})
    rows = [
        {
            "query": query,
            "windows": summary(query.spec().windows),
            "trees": sorted({trees[one.id] for one in query.queries() if one.id in trees}),
            "may_change": may_change(signed_in(request), query.owner),
        }
        for query in queries
    ]
    context = {"rows": rows, "has_sources": Source.objects.exists(), "first_source": Source.objects.first()}
    return render(request, "queries/list.html", context)


def _trees(sources: set[Source]) -> dict[str, str]:
    """The tree of every single-window query in the newest plans."""
    versions = [version for source in sources if (version := planning.newest(source))]
    return {
        query.id: tree.id
        for version in versions
        for tree in version.value().all_trees
        for query in tree.queries
    }


@require_http_methods(["GET", "POST"])
def query_new(request: HttpRequest) -> HttpResponse:
    source = _chosen_source(request)
    if request.method == "GET":
        return render(request, "queries/form.html", _form_context(Draft.first(source)))
    checked = check_draft(Draft.typed(request.POST, source))
    if checked.answerable is None or not checked.is_good or source is None:
        return render(request, "queries/form.html", _form_context(checked.draft, checked), status=422)
    query, plan = actions.add_query(source, checked.answerable, signed_in(request))
    _tell(request, plan, f"Saved “{query.name}”.")
    return redirect(query)


def _chosen_source(request: HttpRequest) -> Source | None:
    data = request.POST if request.method == "POST" else request.GET
    found = Source.objects.filter(key=data.get("source", "")).first()
    return found or (Source.objects.first() if request.method == "GET" else None)


@require_http_methods(["GET", "POST"])
def query_edit(request: HttpRequest, key: str) -> HttpResponse:
    query = _own_query(request, key)
    if request.method == "GET":
        return render(request, "queries/form.html", _form_context(Draft.saved(query), editing=query))
    checked = check_draft(Draft.typed(request.POST, query.source))
    if checked.answerable is None or not checked.is_good:
        context = _form_context(checked.draft, checked, editing=query)
        return render(request, "queries/form.html", context, status=422)
    plan = actions.change_query(query, checked.answerable, signed_in(request))
    _tell(request, plan, f"Saved “{query.name}”.")
    return redirect(query)


def _own_query(request: HttpRequest, key: str, *, deleted: bool = False) -> SavedQuery:
    """The query, if this person may change it."""
    manager = SavedQuery.with_deleted if deleted else SavedQuery.objects
    query = get_object_or_404(manager.select_related("source", "owner"), key=key)
    if not may_change(signed_in(request), query.owner):
        raise PermissionDenied(f"You may not change this query. {first_name(query.owner)} owns it.")
    return query


@require_POST
def query_preview(request: HttpRequest) -> HttpResponse:
    """What saving would do, while it is typed. Where nothing can be computed, the last answer stays."""
    editing = SavedQuery.objects.filter(key=request.POST.get("editing", "")).first()
    source = editing.source if editing else _chosen_source(request)
    draft = Draft.typed(request.POST, source)
    source_changed = source is not None and source.key != request.POST.get("shown_source", source.key)
    checked = check_draft(draft.moved() if source_changed else draft)
    context = _form_context(checked.draft, checked, editing=editing)
    if not draft.name:
        del context["problems"]["name"]  # not before someone tries to save: it is the first thing asked for
    context["source_changed"] = source_changed
    response = render(request, "queries/_preview.html", context)
    if checked.answerable is None:
        response["HX-Reswap"] = "none"
    return response


def _form_context(
    draft: Draft, checked: Checked | None = None, editing: SavedQuery | None = None
) -> dict[str, Any]:
    """Everything the form and its answers show; problems only once something was typed."""
    looked_at = checked or check_draft(draft)
    context: dict[str, Any] = {
        "draft": draft,
        "editing": editing,
        "sources": Source.objects.all(),
        "aggregates": AGGREGATES,
        "numeric": NUMERIC,
        "problems": dict(checked.problems) if checked else {},
        "window_chips": [spoken(window) for window in looked_at.windows],
        "filter_left_out": looked_at.filter_left_out,
    }
    if looked_at.answerable is not None and draft.source is not None:
        preview = planning.preview(draft.source, looked_at.answerable, replacing=editing)
        context["cost"] = cost_cells(preview, draft.source.allowed_lateness)
        timed = [spec.window() for spec in looked_at.answerable.windows if isinstance(spec, WindowSpec)]
        context["drawing"] = _drawing(timed) if timed else None
    return context


def _drawing(windows: list[Window]) -> str:
    """What the window drawing needs, as JSON: ranges, slides and the classes on which slices end."""
    ordered = sorted(windows)
    classes = sorted(set().union(*(window.edge_classes for window in ordered)))
    return json.dumps({"windows": [[w.range, w.slide] for w in ordered], "edges": classes})


@require_GET
def query_page(request: HttpRequest, key: str) -> HttpResponse:
    query = get_object_or_404(SavedQuery.objects.select_related("source", "owner"), key=key)
    trees = _trees({query.source})
    context = {
        "query": query,
        "windows": [
            {"words": spoken(spec), "tree": trees.get(one.id)}
            for spec, one in zip(query.spec().windows, query.queries(), strict=True)
        ],
        "window_words": summary(query.spec().windows),
        "plan": planning.newest(query.source),
        "may_change": may_change(signed_in(request), query.owner),
    }
    return render(request, "queries/page.html", context)


@require_POST
def query_delete(request: HttpRequest, key: str) -> HttpResponse:
    query = _own_query(request, key)
    plan = actions.delete_query(query, signed_in(request))
    _tell(request, plan, f"Deleted “{query.name}”.", undo=reverse("query-restore", args=[query.key]))
    return redirect("queries")


@require_POST
def query_restore(request: HttpRequest, key: str) -> HttpResponse:
    query = _own_query(request, key, deleted=True)
    plan = actions.restore_query(query, signed_in(request))
    _tell(request, plan, f"“{query.name}” is back.")
    return redirect(query)


def _tell(request: HttpRequest, plan: PlanVersion, done: str, undo: str = "") -> None:
    """Say what was done, and whether the job knows of it."""
    messages.info(request, done, extra_tags=undo)
    warn_if_unheard(request, plan)
