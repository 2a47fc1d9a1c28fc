"""Alerts over the API: what the pages of alerts do, with the same sentences."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from ninja import Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import check_may_change, may_change, visible_alerts, visible_queries
from dashboard.alerts import actions, words
from dashboard.alerts.forms import AlertForm, SilenceForm, as_typed
from dashboard.alerts.models import Alert, Delivery, Firing, Silence
from dashboard.alerts.preview import preview
from dashboard.alerts.states import state_of
from dashboard.api import binned
from dashboard.api.pages import Page, PageAsked, page_of
from dashboard.api.refusals import REFUSALS, Refused, refuse_bad
from dashboard.api.shapes import Given, Text
from dashboard.queries.models import SavedQuery

router = Router(tags=["Alerts"])


class AlertGiven(Given):
    """Numbers and durations are texts, as they are typed: 80, 2.5, 5m, 1h30m."""

    name: Text = ""
    computation: Text = Field("", description="Such as max(temp); empty: the query's first.")
    window: Text = Field("", description="Such as 1m/10s; empty: the query's first.")
    condition: Text = Field("", description="above, below, between, outside, change or no_data.")
    threshold: Text = Field("", description="The bound; of between and outside the lower one.")
    upper: Text = Field("", description="The upper bound of between and outside.")
    percent: bool = Field(False, description="A change in per cent of the earlier value.")
    within: Text = Field("", description="How long ago a change is measured against.")
    hold: Text = Field("", description="How long it must hold, or no data come, before it fires.")
    margin: Text = Field("", description="How far back past the bound it is ok again.")
    per_group: bool = Field(True, description="No data of each group, or of all together.")
    provisional: bool = Field(False, description="Provisional results count as well.")
    emails: Text = Field("", description="Addresses, separated by commas.")
    webhook: Text = ""
    interval: Text = Field("5m", description="At most one message so often.")
    repeat: Text = Field("4h", description="Again so often while it fires; empty: told once.")


class AlertChange(AlertGiven):
    webhook_secret: Text = Field("", description="What is sent is signed with it. Never given out.")


class AlertSent(AlertChange):
    query: Text = Field("", description="The key of a query.")


class PendingShown(Schema):
    group: list[Any]
    since: int = Field(description="Milliseconds since the epoch.")
    value: float | None


class AlertShown(Schema):
    key: str
    query: str
    name: str
    computation: str
    window: str
    condition: str
    threshold: str
    upper: str
    percent: bool
    within: str
    hold: str
    margin: str
    per_group: bool
    provisional: bool
    emails: str
    webhook: str
    has_secret: bool
    interval: str
    repeat: str
    words: str = Field(description="The condition as the pages say it.")
    state: str = Field(description="ok, pending, firing, paused, or broken: its query lacks the window.")
    firing: int = Field(description="Groups that fire.")
    pending: list[PendingShown]
    paused_at: datetime | None
    owner: str | None

    @classmethod
    def of(cls, alert: Alert, person: User) -> "AlertShown":
        """Where its messages go is told to who may change it."""
        addresses = {} if may_change(person, alert) else {"emails": "", "webhook": ""}
        evaluation = getattr(alert, "evaluation", None)
        return cls(
            key=alert.key,
            query=alert.query.key,
            **{**as_typed(alert), **addresses},
            has_secret=bool(alert.sealed_secret),
            words=words.condition(alert),
            state=state_of(alert).kind,
            firing=evaluation.firing if evaluation else 0,
            pending=evaluation.pending_groups if evaluation else [],
            paused_at=alert.paused_at,
            owner=alert.owner.username if alert.owner else None,
        )


class FiringShown(Schema):
    id: int
    group: list[Any]
    since: datetime = Field(description="From when on the condition held.")
    fired_at: datetime
    value: float | None
    resolved_at: datetime | None
    reason: str
    last_value: float | None
    acknowledged_at: datetime | None
    acknowledged_by: str | None

    @classmethod
    def of(cls, firing: Firing) -> "FiringShown":
        person = firing.acknowledged_by
        return cls(
            id=firing.pk,
            group=firing.group,
            since=firing.since,
            fired_at=firing.fired_at,
            value=firing.value,
            resolved_at=firing.resolved_at,
            reason=firing.reason,
            last_value=firing.last_value,
            acknowledged_at=firing.acknowledged_at,
            acknowledged_by=person.username if person else None,
        )


class DeliveryShown(Schema):
    id: str
    channel: str = Field(description="email or webhook.")
    target: str
    attempts: int
    created_at: datetime
    due_at: datetime | None = Field(description="When it is tried next; null: it arrived, or was given up.")
    sent_at: datetime | None
    problem: str

    @classmethod
    def of(cls, delivery: Delivery) -> "DeliveryShown":
        return cls(
            id=delivery.key,
            channel=delivery.channel,
            target=delivery.target,
            attempts=delivery.attempts,
            created_at=delivery.created_at,
            due_at=delivery.due_at,
            sent_at=delivery.sent_at,
            problem=delivery.problem,
        )


class SilenceSent(Given):
    duration: Text = Field("", description="Such as 2h.")
    reason: Text = ""
    group: list[Any] | None = Field(None, description="The values of one group; none: all groups.")


class SilenceShown(Schema):
    id: int
    group: list[Any] | None
    until: datetime
    reason: str


class AcknowledgeSent(Given):
    firing: int | None = Field(None, ge=1, le=2**62, description="The id of a firing; none: all that fire.")


class Done(Schema):
    count: int


class WouldFireShown(Schema):
    group: str
    at: datetime
    until: datetime | None
    value: str


class PreviewShown(Schema):
    rule: str
    sentence: str
    count: int
    newest: list[WouldFireShown]


@router.get("", response={200: Page[AlertShown], **REFUSALS}, summary="List alerts")
def list_alerts(request: HttpRequest, asked: PageAsked, query: Text = "") -> Any:
    """All of them, or those of one query (its key)."""
    person = signed_in(request)
    alerts = visible_alerts(person).select_related("query__source", "owner", "evaluation")
    chosen = alerts.filter(query__key=query) if query else alerts
    return page_of(chosen, asked, lambda alert: AlertShown.of(alert, person))


@router.post("", response={201: AlertShown, **REFUSALS}, summary="Add an alert")
def add_alert(request: HttpRequest, sent: AlertSent) -> Any:
    form = AlertForm(_query(request, sent.query), sent.model_dump(exclude={"query"}))
    refuse_bad(form)
    return 201, AlertShown.of(form.save(signed_in(request)), signed_in(request))


@router.post("/preview", response={200: PreviewShown, **REFUSALS}, summary="How often it would have fired")
def preview_alert(request: HttpRequest, sent: AlertSent) -> Any:
    """On the results of the last hour, as far as they are kept; nothing is saved."""
    quiet = {"name": sent.name or "draft", "emails": "", "webhook": "", "webhook_secret": ""}
    form = AlertForm(_query(request, sent.query), {**sent.model_dump(exclude={"query"}), **quiet})
    refuse_bad(form)
    found = preview(form.alert())
    return PreviewShown(
        rule=found.rule,
        sentence=found.sentence,
        count=found.count,
        newest=[WouldFireShown(**vars(one)) for one in found.newest],
    )


@router.get("/{slug:key}", response={200: AlertShown, **REFUSALS}, summary="Look at an alert")
def show_alert(request: HttpRequest, key: str) -> Any:
    return AlertShown.of(_found(request, key), signed_in(request))


@router.patch("/{slug:key}", response={200: AlertShown, **REFUSALS}, summary="Change an alert")
def patch_alert(request: HttpRequest, key: str, sent: AlertChange) -> Any:
    """What is not sent stays. With another rule it begins anew."""
    alert = _own(request, key)
    form = AlertForm(alert.query, {**as_typed(alert), **sent.model_dump(exclude_unset=True)}, editing=alert)
    refuse_bad(form)
    form.save(signed_in(request))
    return AlertShown.of(_found(request, key), signed_in(request))


@router.delete("/{slug:key}", response={200: binned.Deleted, **REFUSALS}, summary="Delete an alert")
def remove_alert(request: HttpRequest, key: str) -> Any:
    """It goes to the bin with its past firings."""
    return binned.delete(request, _found(request, key))


@router.post("/{slug:key}/restore", response={200: AlertShown, **REFUSALS}, summary="Restore an alert")
def restore_alert(request: HttpRequest, key: str) -> Any:
    alert = Alert.with_deleted.select_related("query__source", "owner").filter(key=key).first()
    if alert is None:
        raise HttpError(404, f"There is no alert “{key}”.")
    binned.restore(alert, request)
    return AlertShown.of(_found(request, key), signed_in(request))


@router.post("/{slug:key}/pause", response={200: AlertShown, **REFUSALS}, summary="Pause an alert")
def pause_alert(request: HttpRequest, key: str) -> Any:
    """It is not evaluated until it is resumed."""
    alert = _own(request, key)
    actions.pause(alert)
    return AlertShown.of(alert, signed_in(request))


@router.post("/{slug:key}/resume", response={200: AlertShown, **REFUSALS}, summary="Resume an alert")
def resume_alert(request: HttpRequest, key: str) -> Any:
    alert = _own(request, key)
    actions.resume(alert)
    return AlertShown.of(alert, signed_in(request))


@router.get("/{slug:key}/firings", response={200: Page[FiringShown], **REFUSALS}, summary="Its firings")
def list_firings(request: HttpRequest, key: str, asked: PageAsked) -> Any:
    """The newest first, those that still fire among them."""
    return page_of(_found(request, key).firings.select_related("acknowledged_by"), asked, FiringShown.of)


@router.post("/{slug:key}/acknowledge", response={200: Done, **REFUSALS}, summary="Acknowledge firings")
def acknowledge(request: HttpRequest, key: str, sent: AcknowledgeSent) -> Any:
    """They are not repeated; how many that were."""
    alert = _handled(request, key)
    return Done(count=actions.acknowledge(alert, signed_in(request), sent.firing))


@router.post("/{slug:key}/silence", response={201: SilenceShown, **REFUSALS}, summary="Silence an alert")
def silence_alert(request: HttpRequest, key: str, sent: SilenceSent) -> Any:
    """What fires is kept, and nobody is told."""
    alert = _handled(request, key)
    form = SilenceForm({"duration": sent.duration, "reason": sent.reason})
    refuse_bad(form)
    kept: Silence = actions.silence(
        alert, signed_in(request), form.cleaned_data["duration"], form.cleaned_data["reason"], sent.group
    )
    return 201, SilenceShown(id=kept.pk, group=kept.group, until=kept.until, reason=kept.reason)


@router.post("/{slug:key}/unsilence", response={200: Done, **REFUSALS}, summary="End its silences")
def unsilence_alert(request: HttpRequest, key: str) -> Any:
    return Done(count=actions.end_silences(_handled(request, key)))


@router.get("/{slug:key}/deliveries", response={200: Page[DeliveryShown], **REFUSALS}, summary="Its messages")
def list_deliveries(request: HttpRequest, key: str, asked: PageAsked) -> Any:
    """What was sent where, the newest first; for who may change the alert."""
    return page_of(_own(request, key).deliveries.all(), asked, DeliveryShown.of)


@router.post("/{slug:key}/test", response={200: Done, **REFUSALS}, summary="Send a test message")
def send_test_message(request: HttpRequest, key: str) -> Any:
    """To all its addresses; to how many that is. Its messages say whether it arrived."""
    sent = actions.send_test(_own(request, key))
    if not sent:
        raise Refused({"emails": words.NO_ADDRESS})
    return Done(count=len(sent))


def _query(request: HttpRequest, key: str) -> SavedQuery:
    query = visible_queries(signed_in(request)).select_related("source").filter(key=key).first()
    if query is None:
        raise Refused({"query": "Choose the query that it watches."})
    return query


def _found(request: HttpRequest, key: str) -> Alert:
    known = visible_alerts(signed_in(request)).select_related("query__source", "owner", "evaluation")
    alert = known.filter(key=key).first()
    if alert is None:
        raise HttpError(404, f"There is no alert “{key}”.")
    return alert


def _own(request: HttpRequest, key: str) -> Alert:
    alert = _found(request, key)
    check_may_change(signed_in(request), alert)
    return alert


def _handled(request: HttpRequest, key: str) -> Alert:
    alert = _found(request, key)
    if not actions.may_handle(signed_in(request), alert):
        raise PermissionDenied("You may not answer to this alert.")
    return alert
