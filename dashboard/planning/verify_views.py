"""Verify: choose a query, see how far Spark is, and the comparison row by row."""

from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import visible_sources
from dashboard.models import SavedQuery, Source
from dashboard.planning.verifying import MINUTES, Verifying, check_may_see
from dashboard.platform.folder_tasks import DONE, FAILED, RUNNING, TooMany


@require_http_methods(["GET", "HEAD", "POST"])
def verify(request: HttpRequest, key: str) -> HttpResponse:
    """Choose what to verify, and the last ones."""
    source, person = get_object_or_404(Source, key=key), signed_in(request)
    problem = ""
    if request.method == "POST":
        query = get_object_or_404(SavedQuery, source=source, key=request.POST.get("query", ""))
        try:
            return redirect("plan-verified", Verifying.start(query, _minutes(request), person).key)
        except (TooMany, ValueError) as refusal:
            problem = str(refusal)
    context = {
        "source": source,
        "sources": list(visible_sources(person)),
        "queries": SavedQuery.objects.filter(source=source).order_by("name"),
        "chosen": request.POST.get("query") or request.GET.get("query", ""),
        "minutes": MINUTES,
        "wanted": request.POST.get("minutes", str(MINUTES[0])),
        "problem": problem,
        "tasks": [_listed(task) for task in Verifying.newest(person)],
    }
    return render(request, "planning/verify.html", context, status=422 if problem else 200)


@require_safe
def verified(request: HttpRequest, task: str) -> HttpResponse:
    found = _own(request, task)
    state = found.state
    context: dict[str, Any] = {
        "task": found,
        "state": state,
        "query": found.query(),
        "minutes": found.asked["minutes"],
    }
    if state == RUNNING:
        context["progress"] = found.progress()
    elif state == DONE:
        context["summary"] = found.read("summary")
        context["members"] = [_member(one) for one in (found.read("compared") or {"members": []})["members"]]
    elif state == FAILED:
        context["problem"] = found.problem
    return render(request, "planning/verified.html", context)


@require_safe
def verify_state(request: HttpRequest, task: str) -> HttpResponse:
    """How far it is; once it has ended the page is loaded anew."""
    found = _own(request, task)
    response = render(request, "planning/_verify_state.html", {"progress": found.progress()})
    if found.state != RUNNING:
        response["HX-Refresh"] = "true"
    return response


@require_POST
def verify_cancel(request: HttpRequest, task: str) -> HttpResponse:
    found = _own(request, task)
    found.cancel()
    messages.info(request, "Cancelled the verification.")
    return redirect("plan-verified", found.key)


@require_safe
def verify_rows(request: HttpRequest, task: str) -> FileResponse:
    found = _own(request, task)
    if found.state != DONE:
        raise Http404("There are no rows.")
    return FileResponse(found.rows.open("rb"), as_attachment=True, filename=f"verified-{found.key}.jsonl")


def _own(request: HttpRequest, key: str) -> Verifying:
    task = Verifying.find(key)
    if task is None:
        raise Http404("There is no such verification; they are kept for a day.")
    check_may_see(task, signed_in(request))
    return task


def _minutes(request: HttpRequest) -> int:
    typed = request.POST.get("minutes", "")
    return int(typed) if typed.isdecimal() else 0


def _listed(task: Verifying) -> dict[str, Any]:
    query = task.query()
    summary = task.read("summary") or {}
    began = (task.read("run") or {}).get("began", 0)
    return {
        "task": task,
        "query": query.name if query else "a query that was deleted",
        "state": task.state,
        "at": datetime.fromtimestamp(began, UTC),
        "rows": summary.get("rows"),
        "within": summary.get("within"),
        "different": summary.get("different"),
        "minutes": task.asked["minutes"],
    }


def _member(told: dict[str, Any]) -> dict[str, Any]:
    rows = [
        {
            **row,
            "at": datetime.fromtimestamp(row["end"] / 1000, UTC),
            "place": ", ".join(map(str, row["group"])),
            "ours": _written(row["ours"]),
            "theirs": _written(row["theirs"]),
        }
        for row in told["shown"]
    ]
    return {**told, "shown": rows}


def _written(value: Any) -> Any:
    """Whole numbers as such: the job has every number as a double."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
