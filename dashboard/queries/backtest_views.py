"""The pages of a back-test: what is run and from when on, how far it is, and the whole history at once."""

from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dashboard.accounts.people import signed_in
from dashboard.instants import InvalidInstant
from dashboard.queries.backtests import (
    ASKED,
    DONE,
    FAILED,
    GONE,
    NO_RESULTS,
    RUNNING,
    BackTest,
    TooMany,
    beginning,
    check_may_see,
)
from dashboard.queries.models import SavedQuery
from dashboard.queries.views import typed, written_context
from dashboard.queries.windows_text import summary
from dashboard.sources.models import Source
from streaming.reach import SourceProblem

STARTS = (
    ("", "All that Kafka holds"),
    ("now-15m", "The last 15 minutes"),
    ("now-1h", "The last hour"),
    ("now-6h", "The last 6 hours"),
    ("now-24h", "The last 24 hours"),
)


@require_http_methods(["GET", "POST"])
def backtest_new(request: HttpRequest) -> HttpResponse:
    """Take the draft of the builder; a name is not needed yet."""
    if request.method == "GET":
        return redirect("query-new")
    editing, _, written = typed(request)
    checked = written.checked
    source = checked.draft.source
    if checked.answerable is None or source is None or checked.problems.keys() - {"name"}:
        context = written_context(request, written, editing=editing)
        context["problems"].pop("name", None)
        return render(request, "queries/form.html", context, status=422)
    key = editing.key if editing else ""
    test = BackTest.ask(source, checked.answerable, signed_in(request), editing=key)
    return redirect("backtest", test.key)


@require_GET
def backtest_page(request: HttpRequest, key: str) -> HttpResponse:
    test = _own(request, key)
    return render(request, "queries/backtest.html", _context(test))


@require_POST
def backtest_run(request: HttpRequest, key: str) -> HttpResponse:
    test = _own(request, key)
    source = get_object_or_404(Source, key=test.asked["source"])
    wanted = request.POST.get("exactly", "").strip() or request.POST.get("since", "").strip()
    try:
        test.start(source, beginning(wanted, request.POST.get("zone", "")))
    except (TooMany, InvalidInstant) as problem:
        typed_time = request.POST.get("exactly", "").strip()
        context = _context(test) | {"problem": str(problem), "wanted": wanted, "exactly": typed_time}
        return render(request, "queries/backtest.html", context, status=422)
    return redirect("backtest", test.key)


@require_POST
def backtest_cancel(request: HttpRequest, key: str) -> HttpResponse:
    test = _own(request, key)
    test.cancel()
    messages.info(request, "Cancelled the back-test.")
    return redirect("backtest", test.key)


@require_GET
def backtest_state(request: HttpRequest, key: str) -> HttpResponse:
    """How far it is; once it has ended the page is loaded anew."""
    test = _own(request, key)
    response = render(request, "queries/_backtest_state.html", _context(test))
    if test.state != RUNNING:
        response["HX-Refresh"] = "true"
    return response


@require_GET
def backtest_results(request: HttpRequest, key: str) -> JsonResponse:
    found = _own(request, key).read("chart")
    if found is None:
        raise Http404(NO_RESULTS)
    return JsonResponse(found)


@require_GET
def backtest_download(request: HttpRequest, key: str) -> FileResponse:
    test = _own(request, key)
    if test.state != DONE:
        raise Http404(NO_RESULTS)
    return FileResponse(test.results.open("rb"), as_attachment=True, filename=f"back-test-{test.key}.jsonl")


def _own(request: HttpRequest, key: str) -> BackTest:
    test = BackTest.find(key)
    if test is None:
        raise Http404(GONE)
    check_may_see(test, signed_in(request))
    return test


def _context(test: BackTest) -> dict[str, Any]:
    spec, source, state = test.spec(), Source.objects.filter(key=test.asked["source"]).first(), test.state
    editing = SavedQuery.objects.filter(key=test.asked["editing"]).first()
    back = reverse("query-edit", args=[editing.key]) if editing else reverse("query-new")
    context = {
        "test": test,
        "spec": spec,
        "source": source,
        "state": state,
        "computes": ", ".join(one.words for one in spec.computations),
        "windows": summary(spec.windows),
        "back": back if editing or source is None else f"{back}?source={source.key}",
        "starts": STARTS,
        "since": _moment((test.read("run") or {}).get("since")),
    }
    if state == RUNNING:
        context["progress"] = _progress(test.read("progress"))
    elif state == DONE:
        context["cells"] = _cells(test.read("summary") or {})
    elif state == FAILED:
        context["failure"] = test.problem
    if state == ASKED and source is not None:
        context |= _held(source)
    return context


def _held(source: Source) -> dict[str, Any]:
    """Since when Kafka holds messages, or why that cannot be said."""
    from streaming.replay.topics import SourceSpan

    try:
        span = SourceSpan(source.spec())
        try:
            oldest = span.oldest_timestamp()
        finally:
            span.close()
    except SourceProblem as problem:
        return {"out_of_reach": str(problem)}
    return {"held_since": _moment(oldest), "held": f"{span.total:,}"}


def _moment(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)


def _progress(told: dict[str, Any] | None) -> dict[str, Any]:
    if not told or not told["total"]:
        return {"percent": 0, "words": "Looking at the topic."}
    rate = told["done"] / told["seconds"] if told["seconds"] else 0
    words = f"{told['done']:,} of {told['total']:,} messages, {rate:,.0f} messages/s."
    return {"percent": round(100 * told["done"] / told["total"]), "words": words}


def _cells(told: dict[str, Any]) -> list[tuple[str, str, str]]:
    rate = told["messages"] / told["seconds"] if told["seconds"] else 0
    refused = told["malformed"] + told["late"] + told["misdated"] + told.get("aborted", 0)
    kinds = ("malformed", "late", "misdated", "aborted")
    parts = [f"{told[key]:,} {key}" for key in kinds if told.get(key)]  # older summaries have fewer
    return [
        ("Read", f"{told['messages']:,}", "messages"),
        ("Results", f"{told['results']:,}", "final ones"),
        ("Rate", f"{rate:,.0f}", f"messages/s, {told['seconds']:.1f} s in all"),
        ("Left out", f"{refused:,}", ", ".join(parts) or "nothing was refused"),
    ]
