"""Plan history: every version, what caused it and what it changed, and a way back."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import check_may_change, may_change, visible_sources
from dashboard.models import PlanVersion, Source
from dashboard.planning import service
from dashboard.planning.changes import change_picture, differences
from dashboard.planning.figures import saved_queries
from dashboard.planning.needs import needs_of
from dashboard.planning.news import warn_if_unheard
from dashboard.planning.views import running_plan
from dashboard.planning.what_if_views import preview_context
from optimizer.plan import Plan

PER_PAGE = 20


@require_safe
def history(request: HttpRequest, key: str) -> HttpResponse:
    source = get_object_or_404(Source, key=key)
    versions = PlanVersion.objects.filter(source=source).order_by("-version")
    page = Paginator(versions, PER_PAGE).get_page(request.GET.get("page"))
    plans = [version.value() for version in page]
    older = versions.filter(version__lt=plans[-1].version).first() if plans else None
    before = [*plans, older.value() if older else _nothing(source)][1:]
    rows = [
        {"version": version, "plan": plan, "changes": differences(earlier, plan)}
        for version, plan, earlier in zip(page, plans, before, strict=True)
    ]
    context = {
        "source": source,
        "sources": list(visible_sources(signed_in(request))),
        "rows": rows,
        "page": page,
    }
    return render(request, "planning/history.html", context)


@require_safe
def version(request: HttpRequest, key: str, number: int) -> HttpResponse:
    """One version: what it changed of the one before, in words and as a picture."""
    found = get_object_or_404(PlanVersion.objects.select_related("source"), source__key=key, version=number)
    earlier = PlanVersion.objects.filter(source=found.source, version__lt=number).order_by("-version").first()
    before, plan = earlier.value() if earlier else _nothing(found.source), found.value()
    newest = service.newest(found.source)
    context = {
        "source": found.source,
        "found": found,
        "plan": plan,
        "query_count": saved_queries(plan),
        "earlier": earlier,
        "later": PlanVersion.objects.filter(source=found.source, version__gt=number)
        .order_by("version")
        .first(),
        "changes": differences(before, plan),
        "change_picture": change_picture(before, plan),
        "is_newest": found == newest,
        "number": number,
        "needs": needs_of(found, signed_in(request)) if found != newest else None,
        "may_change": may_change(signed_in(request), found.source),
    }
    return render(request, "planning/version.html", context)


@require_safe
def back_preview(request: HttpRequest, key: str, number: int) -> HttpResponse:
    """What going back would do to today's queries, said before."""
    shown = running_plan(key)
    found = get_object_or_404(PlanVersion, source=shown.source, version=number)
    plan = service.planned_as_in(shown.source, found)
    context = {
        **preview_context(shown, plan, request),
        "title": f"Back to plan {number}",
        "label": f"the trees of plan {number}",
        "action": reverse("plan-back", args=[key, number]),
        "fields": {},
        "button": f"Go back to plan {number}",
        "back": reverse("plan-version", args=[key, number]),
        "back_words": f"Plan {number}",
        "number": number,
        "needs": needs_of(found, signed_in(request)),
    }
    return render(request, "planning/preview.html", context)


@require_POST
def go_back(request: HttpRequest, key: str, number: int) -> HttpResponse:
    source, person = get_object_or_404(Source, key=key), signed_in(request)
    found = get_object_or_404(PlanVersion, source=source, version=number)
    check_may_change(person, source)
    made = service.go_back(source, found, person)
    messages.info(request, f"Plan {made.version} has the trees of plan {number}.")
    warn_if_unheard(request, made)
    return redirect(f"{reverse('plan')}?source={key}")


def _nothing(source: Source) -> Plan:
    """Before the first plan there was none."""
    return Plan(source.key, 0, "")
