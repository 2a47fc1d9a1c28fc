"""The pages of alerts."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import check_may_change, may_change, visible_alerts, visible_queries
from dashboard.alerts import actions, words
from dashboard.alerts.evaluator import instant
from dashboard.alerts.forms import AlertForm, SilenceForm
from dashboard.alerts.models import Alert
from dashboard.alerts.preview import preview
from dashboard.alerts.states import evaluation_of, is_attended, silenced_until, state_of
from dashboard.namesakes import note_namesake
from dashboard.texts import key_typed

HISTORY_SHOWN = 50
FIRING_SHOWN = 100
DELIVERIES_SHOWN = 10


def _known(request: HttpRequest) -> Any:
    found = visible_alerts(signed_in(request)).select_related("query__source", "owner", "evaluation")
    return found.prefetch_related("silences")


def _own(request: HttpRequest, key: str, *, deleted: bool = False) -> Alert:
    """The alert, if this person may change it."""
    manager = Alert.with_deleted if deleted else Alert.objects
    alert = get_object_or_404(manager.select_related("query__source", "owner"), key=key)
    check_may_change(signed_in(request), alert)
    return alert


def _handled(request: HttpRequest, key: str) -> Alert:
    """The alert, if this person may silence and acknowledge it."""
    alert = get_object_or_404(Alert.objects.select_related("query__source"), key=key)
    if not actions.may_handle(signed_in(request), alert):
        raise PermissionDenied("You may not answer to this alert.")
    return alert


@require_safe
def alert_list(request: HttpRequest) -> HttpResponse:
    asked = request.GET.get("q", "").strip()
    rows = [row_of(alert) for alert in _known(request)]
    if asked:
        rows = [row for row in rows if _matches(row["alert"], asked.casefold())]
    rows.sort(key=lambda row: (row["state"].rank, row["alert"].name.casefold()))
    context = {
        "rows": rows,
        "any": asked or rows,
        "asked": asked,
        "attended": is_attended(),
        "query_count": visible_queries(signed_in(request)).count(),
    }
    return render(request, "alerts/list.html", context)


def _matches(alert: Alert, asked: str) -> bool:
    owner = alert.owner.username if alert.owner else ""
    texts = (alert.name, alert.query.name, alert.query.source.name, alert.computation, owner)
    return any(asked in text.casefold() for text in texts)


def row_of(alert: Alert) -> dict[str, Any]:
    """An alert as lists show it."""
    last = alert.firings.first()
    return {
        "alert": alert,
        "state": state_of(alert),
        "condition": words.condition(alert),
        "subject": words.subject(alert),
        "silenced": silenced_until(alert),
        "last": last,
    }


@require_http_methods(["GET", "POST"])
def alert_new(request: HttpRequest) -> HttpResponse:
    data = request.POST if request.method == "POST" else request.GET
    queries = visible_queries(signed_in(request)).select_related("source")
    query = queries.filter(key=key_typed(data.get("query", ""))).first()
    if query is None:
        return render(request, "alerts/choose_query.html", {"queries": queries})
    form = AlertForm(query, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        alert = form.save(signed_in(request))
        messages.info(request, f"Saved “{alert.name}”.")
        note_namesake(request, visible_alerts(signed_in(request)), alert)
        return redirect(alert)
    return _form(request, form)


@require_http_methods(["GET", "POST"])
def alert_edit(request: HttpRequest, key: str) -> HttpResponse:
    alert = _own(request, key)
    form = AlertForm(alert.query, request.POST if request.method == "POST" else None, editing=alert)
    if request.method == "POST" and form.is_valid():
        form.save(signed_in(request))
        messages.info(request, f"Saved “{alert.name}”.")
        note_namesake(request, visible_alerts(signed_in(request)), alert)
        return redirect(alert)
    return _form(request, form)


def _form(request: HttpRequest, form: AlertForm) -> HttpResponse:
    context = {"form": form, "query": form.query, "editing": form.editing}
    return render(request, "alerts/form.html", context, status=422 if form.errors else 200)


@require_POST
def alert_preview(request: HttpRequest) -> HttpResponse:
    """What was typed so far, in words; while something is missing the last answer stays."""
    queries = visible_queries(signed_in(request)).select_related("source")
    query = get_object_or_404(queries, key=key_typed(request.POST.get("query", "")))
    form = AlertForm(query, {**request.POST.dict(), "name": "draft", "emails": "", "webhook": ""})
    if not form.is_valid():
        return HttpResponse(status=204)
    return render(request, "alerts/_preview.html", {"preview": preview(form.alert())})


@require_GET
def alert_page(request: HttpRequest, key: str) -> HttpResponse:
    alert = get_object_or_404(_known(request), key=key)
    now, person = timezone.now(), signed_in(request)
    firings = alert.firings.select_related("acknowledged_by")
    firing = list(firings.filter(resolved_at__isnull=True)[:FIRING_SHOWN])
    evaluation, own = evaluation_of(alert), may_change(person, alert)
    silences = [one for one in alert.silences.select_related("person") if one.until > now]
    context = {
        **row_of(alert),
        "evaluation": evaluation,
        "grouped": bool(alert.query.group_by) and alert.is_per_group,
        "firing": [{"firing": one, "group": words.group_words(one.group)} for one in firing],
        "waiting": any(one.acknowledged_at is None for one in firing),
        "pending": [
            {"group": words.group_words(one["group"]), "value": one["value"], "since": instant(one["since"])}
            for one in evaluation.pending_groups
        ],
        "history": [
            {"firing": one, "group": words.group_words(one.group)}
            for one in firings.filter(resolved_at__isnull=False)[:HISTORY_SHOWN]
        ],
        "silences": [
            {"silence": one, "group": "all groups" if one.group is None else words.group_words(one.group)}
            for one in silences
        ],
        "deliveries": alert.deliveries.all()[:DELIVERIES_SHOWN] if own else [],
        "attended": is_attended(),
        "may_change": own,
        "may_handle": actions.may_handle(person, alert),
        "form": SilenceForm(),
    }
    return render(request, "alerts/page.html", context)


@require_POST
def alert_silence(request: HttpRequest, key: str) -> HttpResponse:
    alert = _handled(request, key)
    form = SilenceForm(request.POST)
    if not form.is_valid():
        sentence = next(iter(form.errors.values()))[0]
        messages.error(request, f"Not silenced: {sentence}")
        return redirect(alert)
    chosen = alert.firings.filter(pk=_number(request.POST.get("firing"))).first()
    kept = actions.silence(
        alert,
        signed_in(request),
        form.cleaned_data["duration"],
        form.cleaned_data["reason"],
        None if chosen is None else chosen.group,
    )
    undo = reverse("alert-unsilence", args=[alert.key, kept.pk])
    what = f", {words.group_words(kept.group)}" if kept.group else ""
    messages.info(request, f"Silenced “{alert.name}”{what}: nobody is told.", extra_tags=undo)
    return redirect(alert)


@require_POST
def alert_unsilence(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    alert = _handled(request, key)
    if actions.end_silences(alert, pk):
        messages.info(request, f"“{alert.name}” speaks again.")
    return redirect(alert)


@require_POST
def alert_acknowledge(request: HttpRequest, key: str) -> HttpResponse:
    """One firing, or all where none is named."""
    alert = _handled(request, key)
    named = request.POST.get("firing")
    count = actions.acknowledge(alert, signed_in(request), _number(named) if named else None)
    told = words.counted(count, "firing") if count else "nothing: somebody else was faster"
    messages.info(request, f"Acknowledged {told}.")
    return redirect(alert)


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 18 else 0


@require_POST
def alert_pause(request: HttpRequest, key: str) -> HttpResponse:
    alert = _own(request, key)
    if alert.paused_at is None:
        actions.pause(alert)
        messages.info(request, f"Paused “{alert.name}”: it is not evaluated.")
    else:
        actions.resume(alert)
        messages.info(request, f"Resumed “{alert.name}”.")
    return redirect(alert)


@require_POST
def alert_test(request: HttpRequest, key: str) -> HttpResponse:
    alert = _own(request, key)
    sent = actions.send_test(alert)
    if sent:
        messages.info(
            request, f"Sending a test message to {words.counted(len(sent), 'address', 'addresses')}."
        )
    else:
        messages.error(request, words.NO_ADDRESS)
    return redirect(alert)
