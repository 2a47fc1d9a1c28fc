"""The query pages."""

import json
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dashboard.accounts.people import first_name, signed_in
from dashboard.accounts.rights import check_may_change, may_change, visible_queries, visible_sources
from dashboard.live.meters import process_meters
from dashboard.namesakes import namesake, note_namesake
from dashboard.past.known import kept
from dashboard.planning import service as planning
from dashboard.planning.figures import query_shares, running_loads
from dashboard.planning.models import PlanVersion
from dashboard.planning.news import warn_if_unheard
from dashboard.queries import actions
from dashboard.queries.aggregate_words import EXPLAINED, GROUPS, explained
from dashboard.queries.cost_words import cost_cells
from dashboard.queries.drafts import NAME_LENGTH, Checked, Draft, check_draft
from dashboard.queries.field_values import field_values
from dashboard.queries.limits import limited
from dashboard.queries.models import SavedQuery, tidy_tags
from dashboard.queries.sampling import Busy, NoPreview, sampled
from dashboard.queries.states import state_of, warnings_of
from dashboard.queries.templates import fitting, from_template
from dashboard.queries.windows_text import skipping, spoken, summary
from dashboard.queries.written import FORM, VIEWS, Written, kept_to, read_written, shown_text
from dashboard.sources.forms import FORMAT_CHOICES
from dashboard.sources.models import Source
from dashboard.texts import control_problem, key_typed
from optimizer.aggregates import PARAMETERS
from optimizer.queries import WindowSpec
from optimizer.windows import Window

_FORMATS = dict(FORMAT_CHOICES)
LABELS = {"form": "Form", "sql": "SQL", "json": "JSON"}
WINDOW_PRESETS = {  # by the switch above the windows: what it sets, and what else people want often
    "time": ("1m every 10s", "5m every 30s", "1m, 5m, 15m, 1h every 10s", "1h", "1d every 1h"),
    "count": ("100 events every 10", "1000 events every 100", "10 events"),
    "session": ("gap 30s", "gap 5m", "gap 30m"),
}


@require_GET
def query_list(request: HttpRequest) -> HttpResponse:
    person = signed_in(request)
    queries = list(visible_queries(person).select_related("source", "owner", "paused_by"))
    words = request.GET.get("q", "").lower().split()
    sources = {query.source for query in queries}
    trees, shares, warnings = _trees(sources), query_shares(running_loads().values()), warnings_of(queries)
    rows = [
        {
            "query": query,
            "share": shares.get(query.key),
            "windows": summary(query.spec().windows),
            "trees": sorted({trees[one.id] for one in query.queries() if one.id in trees}),
            "state": state_of(query, warnings.get(query.key, "")),
            "may_change": may_change(person, query),
        }
        for query in queries
        if all(word in _searched(query) for word in words)
    ]
    context = {
        "rows": rows,
        "asked": request.GET.get("q", ""),
        "any": bool(queries),
        "first_source": visible_sources(person).first(),
    }
    return render(request, "queries/list.html", context)


def _searched(query: SavedQuery) -> str:
    """All that a search looks into."""
    parts = [query.name, query.source.name, query.computes, first_name(query.owner), *query.tags]
    return " ".join([*parts, *query.group_by, query.where or ""]).lower()


BULK = {
    # what is asked for: how it is done, what is said, and what undoes it
    "pause": (actions.pause_queries, "Paused {}.", "resume"),
    "resume": (actions.resume_queries, "Resumed {}.", "pause"),
}


@require_POST
def query_bulk(request: HttpRequest) -> HttpResponse:
    """Do the same to several queries; all of them, or none where one is not this person's to change."""
    asked = request.GET.get("do") or request.POST.get("do", "")
    if asked not in BULK:
        return HttpResponseBadRequest("Say what to do: pause or resume.")
    keys = request.GET.getlist("key") or request.POST.getlist("key")
    queries = [_own_query(request, key_typed(key)) for key in dict.fromkeys(keys)]
    if not queries:
        messages.info(request, "Nothing chosen: tick the queries first.")
        return redirect("queries")
    act, said, undone_by = BULK[asked]
    try:
        plans = act(queries, signed_in(request))
    except actions.OverLimit as problem:
        messages.error(request, str(problem))
        return redirect("queries")
    on_page = (request.GET.get("from") or request.POST.get("from")) == "page"  # of the one query
    asked_back = [("do", undone_by), *(("key", query.key) for query in queries)]
    back = urlencode([*asked_back, ("from", "page")] if on_page else asked_back)
    undo = f"{reverse('query-bulk')}?{back}"
    messages.info(request, said.format(actions.named(queries)), extra_tags=undo)
    for plan in plans[:1]:
        warn_if_unheard(request, plan)
    return redirect(queries[0]) if on_page else redirect("queries")


@require_POST
def query_tags(request: HttpRequest, key: str) -> HttpResponse:
    query = _own_query(request, key)
    typed_tags = request.POST.get("tags", "")
    problem = control_problem(typed_tags)
    if problem:
        messages.error(request, f"The tags are not saved: {problem}")
        return redirect(query)
    query.tags = tidy_tags(typed_tags.split(","))
    query.save(update_fields=["tags"])
    messages.info(request, f"Saved the tags of “{query.name}”.")
    return redirect(query)


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
        copied = _named(request, request.GET.get("copy", ""))
        template = _from_template(request.GET.get("template", ""), source)
        draft = _copy_of(copied) if copied else template or Draft.first(source)
        context = _form_context(request, draft) | {"begun": copied is not None or template is not None}
        return render(request, "queries/form.html", context)
    person = signed_in(request)
    written = limited(read_written(request.POST, source, visible_sources(person)), person)
    checked, source = written.checked, written.draft.source
    if checked.answerable is None or not checked.is_good or source is None:
        return render(request, "queries/form.html", written_context(request, written), status=422)
    query, plan = actions.add_query(source, checked.answerable, signed_in(request))
    _tell(request, plan, f"Saved “{query.name}”.")
    note_namesake(request, visible_queries(signed_in(request)), query)
    return redirect(query)


def _from_template(key: str, source: Source | None) -> Draft | None:
    return from_template(key, source, field_values(source)) if key and source is not None else None


def _copy_of(query: SavedQuery) -> Draft:
    return replace(Draft.saved(query), name=f"{query.name}, copy"[:NAME_LENGTH])


def _chosen_source(request: HttpRequest) -> Source | None:
    data = request.POST if request.method == "POST" else request.GET
    seen = visible_sources(signed_in(request))
    found = seen.filter(key=key_typed(data.get("source", ""))).first()
    return found or (seen.first() if request.method == "GET" else None)


@require_http_methods(["GET", "POST"])
def query_edit(request: HttpRequest, key: str) -> HttpResponse:
    query = _own_query(request, key)
    if request.method == "GET":
        return render(request, "queries/form.html", _form_context(request, Draft.saved(query), editing=query))
    written = kept_to(
        query.source, read_written(request.POST, query.source, visible_sources(signed_in(request)))
    )
    written = limited(written, signed_in(request), query)
    if written.checked.answerable is None or not written.checked.is_good:
        return render(
            request, "queries/form.html", written_context(request, written, editing=query), status=422
        )
    plan = actions.change_query(query, written.checked.answerable, signed_in(request))
    _tell(request, plan, f"Saved “{query.name}”.")
    note_namesake(request, visible_queries(signed_in(request)), query)
    return redirect(query)


def _own_query(request: HttpRequest, key: str) -> SavedQuery:
    """The query, if this person may change it."""
    query = get_object_or_404(SavedQuery.objects.select_related("source", "owner"), key=key)
    check_may_change(signed_in(request), query)
    return query


@require_POST
def query_preview(request: HttpRequest) -> HttpResponse:
    """What saving would do, while it is typed. Where nothing can be computed, the last answer stays."""
    editing, source, written = typed(request)
    source_changed = (
        written.view == FORM
        and source is not None
        and source.key != request.POST.get("shown_source", source.key)
    )
    if source_changed:
        written = replace(written, checked=check_draft(written.draft.moved()))
    written = limited(written, signed_in(request), editing)
    context = written_context(request, written, editing=editing)
    if not written.draft.name:
        context["problems"].pop("name", None)  # not before someone tries to save: it is asked for first
    context["source_changed"] = source_changed
    response = render(request, "queries/_preview.html", context)
    if written.checked.answerable is None:
        response["HX-Reswap"] = "none"
    return response


def _named(request: HttpRequest, key: str) -> SavedQuery | None:
    return visible_queries(signed_in(request)).filter(key=key_typed(key)).first()


def typed(request: HttpRequest) -> tuple[SavedQuery | None, Source | None, Written]:
    """What stands in the form: the query that is edited, the source that is chosen, and what was typed."""
    editing = _named(request, request.POST.get("editing", ""))
    source = editing.source if editing else _chosen_source(request)
    written = read_written(request.POST, source, visible_sources(signed_in(request)))
    return editing, source, kept_to(editing.source, written) if editing else written


@require_POST
def query_sample(request: HttpRequest) -> JsonResponse:
    """The draft computed on the newest messages, as series; nothing while there is nothing to compute."""
    checked = typed(request)[2].checked
    if checked.answerable is None or checked.draft.source is None:
        return JsonResponse({"answerable": False})
    try:
        return JsonResponse({"answerable": True, **sampled(checked.draft.source, checked.answerable)})
    except NoPreview as problem:
        told = {"problem": str(problem), "busy": isinstance(problem, Busy)}
        return JsonResponse({"answerable": True, **told})


@require_POST
def query_view(request: HttpRequest) -> HttpResponse:
    """The same query in another view; a text or form with a slip stays as it is until that is mended."""
    editing = _named(request, request.POST.get("editing", ""))
    source = editing.source if editing else _chosen_source(request)
    written = read_written(request.POST, source, visible_sources(signed_in(request)))
    asked = request.POST.get("to", FORM)
    wanted = asked if asked in VIEWS else FORM
    context = written_context(request, written, editing=editing)
    if not written.checked.problems.keys() - {"name"} or not request.POST.get(written.view, "x").strip():
        text = shown_text(wanted, written.draft)
        context |= {"view": wanted, "text": text, "problems": {}, "stays": ""}
    elif wanted != written.view:
        context["stays"] = f"Mend this first: then the query can be shown as {LABELS[wanted]}."
    return render(request, "queries/_body.html", context)


def written_context(
    request: HttpRequest, written: Written, editing: SavedQuery | None = None
) -> dict[str, Any]:
    context = _form_context(request, written.draft, written.checked, editing=editing)
    return context | {"view": written.view, "text": written.text}


def _form_context(
    request: HttpRequest, draft: Draft, checked: Checked | None = None, editing: SavedQuery | None = None
) -> dict[str, Any]:
    """Everything the form and its answers show; problems only once something was typed."""
    looked_at = checked or check_draft(draft)
    problems = dict(checked.problems) if checked else {}
    context: dict[str, Any] = {
        "draft": draft,
        "editing": editing,
        "sources": visible_sources(signed_in(request)),
        "view": FORM,
        "views": [(view, LABELS[view]) for view in VIEWS],
        "lines": [
            {
                "typed": one,
                "takes": PARAMETERS.get(one.aggregate),
                "problem": problems.get(f"computation-{number}"),
            }
            for number, one in enumerate(draft.computations)
        ],
        "aggregate_groups": GROUPS,
        "parameters": PARAMETERS,
        "explained": {
            one.aggregate: explained(one.aggregate)
            for one in draft.computations
            if one.aggregate in EXPLAINED
        },
        "presets": WINDOW_PRESETS,
        "templates": [] if editing else fitting(draft.source),
        "problems": problems,
        "source_rate": process_meters.recent(draft.source.key)[0] if draft.source else 0.0,
        "source_format": _FORMATS.get(draft.source.format, "") if draft.source else "",
        "window_chips": [spoken(window) for window in looked_at.windows],
        "filter_left_out": looked_at.filter_left_out,
        "skipping": skipping(looked_at.windows),
        "namesake": namesake(visible_queries(signed_in(request)), draft.name, besides=editing),
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
    return json.dumps({"windows": [[w.range, w.slide, w.offset] for w in ordered], "edges": classes})


@require_GET
def query_page(request: HttpRequest, key: str) -> HttpResponse:
    query = get_object_or_404(SavedQuery.objects.select_related("source", "owner", "paused_by"), key=key)
    trees = _trees({query.source})
    members = query.spec().members(query.key)
    context = {
        "query": query,
        "windows": [
            {
                "words": spoken(spec),
                "trees": sorted({trees[one.id] for _, of, one in members if of == spec and one.id in trees}),
            }
            for spec in query.spec().windows
        ],
        "window_words": summary(query.spec().windows),
        "skipping": skipping(query.spec().windows),
        "plan": planning.newest(query.source),
        "state": state_of(query, warnings_of([query]).get(query.key, "")),
        "may_change": may_change(signed_in(request), query),
        "history": kept(query),
        "version": query.versions.select_related("person").first(),
    }
    return render(request, "queries/page.html", context)


def _tell(request: HttpRequest, plan: PlanVersion, done: str) -> None:
    """Say what was done, and whether the job knows of it."""
    messages.info(request, done)
    warn_if_unheard(request, plan)
