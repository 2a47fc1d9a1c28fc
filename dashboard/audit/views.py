"""The page of the audit log, for administrators; `gate` lets nobody else through."""

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from dashboard.audit.search import KINDS, AuditSearch
from dashboard.models import AuditEntry

AT_ONCE = 50


@require_GET
def audit_log(request: HttpRequest) -> HttpResponse:
    search = AuditSearch(request.GET)
    search.is_valid()
    page = Paginator(search.found(), AT_ONCE).get_page(request.GET.get("page"))
    kept = request.GET.copy()
    kept.pop("page", None)
    known = AuditEntry.objects.exclude(person=None).order_by("person").values_list("person", "person_name")
    context = {
        "search": search,
        "page": page,
        "same": kept.urlencode(),
        "kinds": KINDS,
        "people": dict(known.distinct()).items(),
        "is_narrowed": any(request.GET.get(name) for name in search.fields),
    }
    return render(request, "audit/log.html", context)
