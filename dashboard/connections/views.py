"""The connection pages."""

from typing import Any

from django.contrib import messages
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dashboard.accounts.people import check_may_edit, signed_in
from dashboard.accounts.rights import check_may_change, may_change, visible_sources
from dashboard.connections.actions import change_connection
from dashboard.connections.forms import ConnectionForm
from dashboard.connections.models import Connection
from dashboard.planning.news import warn_if_unheard
from dashboard.sources.kafka import KafkaProblem, check
from dashboard.texts import key_typed
from streaming.security import SecretProblem


@require_GET
def connection_list(request: HttpRequest) -> HttpResponse:
    check_may_edit(signed_in(request))
    seen = Prefetch("sources", visible_sources(signed_in(request)))
    connections = Connection.objects.select_related("created_by").prefetch_related(seen)
    return render(request, "connections/list.html", {"listed": connections})


@sensitive_variables()
@sensitive_post_parameters("password", "key")
@require_http_methods(["GET", "POST"])
def connection_new(request: HttpRequest) -> HttpResponse:
    """A page of its own, or asked for by htmx the first step of the source wizard."""
    within_wizard = bool(request.headers.get("HX-Request"))
    form = ConnectionForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        if within_wizard:
            chosen = (request.POST or request.GET).get("connection", "")
            return _wizard_step(request, form, chosen)
        status = 422 if form.is_bound else 200
        return render(request, "connections/form.html", {"form": form}, status=status)
    connection = form.save(signed_in(request))
    if within_wizard:
        return _wizard_step(request, None, connection.key, just_made=True)
    messages.info(request, f"Saved “{connection.name}”.")
    return redirect("connections")


def _wizard_step(
    request: HttpRequest, form: ConnectionForm | None, chosen: str, *, just_made: bool = False
) -> HttpResponse:
    context = {
        "connections": Connection.objects.all(),
        "connection_form": form,
        "chosen": chosen,
        "just_made": just_made,
    }
    return render(request, "sources/_connection_step.html", context)


@sensitive_variables()
@sensitive_post_parameters("password", "key")
@require_http_methods(["GET", "POST"])
def connection_page(request: HttpRequest, key: str) -> HttpResponse:
    """Look at a connection; who may, changes it, and its sources go on with what it is now."""
    connection = get_object_or_404(Connection.objects.select_related("created_by"), key=key)
    if request.method == "GET":
        return render(request, "connections/form.html", _context(request, connection))
    _must_own(request, connection)
    form = ConnectionForm(request.POST, editing=connection)
    if not form.is_valid():
        context = {**_context(request, connection), "form": form}
        return render(request, "connections/form.html", context, status=422)
    plans = change_connection(form, signed_in(request))
    messages.info(request, f"Saved “{connection.name}”.")
    for plan in plans[:1]:
        warn_if_unheard(request, plan)
    return redirect("connections")


def _context(request: HttpRequest, connection: Connection) -> dict[str, Any]:
    return {
        "connection": connection,
        "form": ConnectionForm(editing=connection),
        "sources": visible_sources(signed_in(request))
        .filter(connection=connection)
        .prefetch_related("queries"),
        "may_change": may_change(signed_in(request), connection),
    }


def _must_own(request: HttpRequest, connection: Connection) -> None:
    check_may_change(signed_in(request), connection)


@sensitive_variables()
@sensitive_post_parameters("password", "key")
@require_POST
def connection_test(request: HttpRequest) -> HttpResponse:
    """Try a connection as typed; the answer is the strip under the form."""
    editing = None
    if request.POST.get("editing"):
        editing = get_object_or_404(Connection, key=key_typed(request.POST["editing"]))
        _must_own(request, editing)
    form = ConnectionForm(request.POST, editing=editing)
    form.fields["name"].required = False  # it can be tried before it has one
    return render(request, "connections/_tested.html", _tried(form))


def _tried(form: ConnectionForm) -> dict[str, Any]:
    form.full_clean()
    wrong = {field: lines for field, lines in form.errors.items() if field != "name"}
    if wrong:
        field, sentences = next(iter(wrong.items()))
        return {"problem": KafkaProblem(field, str(sentences[0]))}
    try:
        return {"topics": check(form.cleaned_data["bootstrap_servers"], form.security())}
    except KafkaProblem as problem:
        return {"problem": problem}
    except SecretProblem as problem:
        return {"problem": KafkaProblem("password", str(problem))}
