"""Alerts: what people want to hear of, what the evaluator knows of it, what fired, and what was sent."""

import hashlib
import json
import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone

from dashboard.alerts.rules import CONDITIONS, LEAST_PATIENCE_MS, Rule
from dashboard.bin.models import Binned
from dashboard.queries.models import SavedQuery, new_key
from optimizer.group_windows import SessionWindow
from optimizer.queries import AnyQuery, AnyWindowSpec, Computation, Query
from streaming.results import GroupKey

KEY_LENGTH = 200
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
GAPS_BEFORE_SILENT = 3  # slides


def group_key(group: GroupKey | list[Any]) -> str:
    """A group as an index takes it: its JSON, or what stands for one that is long."""
    text = json.dumps(list(group), ensure_ascii=False, default=str)
    return text if len(text) <= KEY_LENGTH else hashlib.sha256(text.encode()).hexdigest()


class Alert(Binned):
    """A rule about one computation over one window of a query, and who is told. Durations are in ms."""

    key = models.SlugField(max_length=16, unique=True, default=new_key)
    query = models.ForeignKey(SavedQuery, models.CASCADE, related_name="alerts")
    name = models.CharField(max_length=120)
    computation = models.CharField(max_length=500)  # as it is written: max(temp)
    window = models.CharField(max_length=120)  # likewise: 1m/10s
    condition = models.CharField(max_length=16, choices=[(one, one) for one in CONDITIONS])
    threshold = models.FloatField(default=0)
    upper = models.FloatField(default=0)
    margin = models.FloatField(default=0)
    percent = models.BooleanField(default=False)
    within = models.PositiveBigIntegerField(default=0)
    hold = models.PositiveBigIntegerField(default=0)
    per_group = models.BooleanField(default=True)  # of no data: each group for itself, or all together
    provisional = models.BooleanField(default=False)
    emails = models.TextField(blank=True)  # separated by commas
    webhook = models.CharField(max_length=500, blank=True)
    sealed_secret = models.TextField(blank=True)
    interval = models.PositiveBigIntegerField(default=5 * MINUTE_MS)  # between two messages
    repeat = models.PositiveBigIntegerField(default=4 * HOUR_MS)  # 0: a firing is told once
    paused_at = models.DateTimeField(null=True, blank=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="alerts")
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(default=timezone.now)  # results from then on count

    part_of = ("query", "query__source", "query__source__connection")

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("alert", args=[self.key])

    def target(self) -> tuple[Computation, AnyWindowSpec, AnyQuery] | None:
        """The single-window query it is about; None when its query no longer has it."""
        for computation, window, query in self.query.spec().members(self.query.key):
            if (computation.written, window.written) == (self.computation, self.window):
                return computation, window, query
        return None

    def rule(self, query: AnyQuery) -> Rule:
        return Rule(
            condition=self.condition,  # type: ignore[arg-type]  # the form admits CONDITIONS alone
            threshold=self.threshold,
            upper=self.upper,
            margin=self.margin,
            percent=self.percent,
            within=self.within,
            hold=self.hold,
            provisional=self.provisional,
            patience=max(LEAST_PATIENCE_MS, GAPS_BEFORE_SILENT * slide_of(query)),
        )

    @property
    def addresses(self) -> list[str]:
        return [one for one in self.emails.split(",") if one]

    @property
    def is_per_group(self) -> bool:
        return self.condition != "no_data" or self.per_group


def slide_of(query: AnyQuery) -> int:
    """How far apart results are; of count windows nobody can say."""
    if isinstance(query, Query):
        return query.window.slide
    return query.window.gap if isinstance(query.window, SessionWindow) else 0


class Evaluation(models.Model):
    """What the evaluator knows of an alert; nobody else writes it."""

    alert = models.OneToOneField(Alert, models.CASCADE, primary_key=True, related_name="evaluation")
    state = models.CharField(max_length=8, default="ok")
    firing = models.PositiveIntegerField(default=0)  # groups
    pending = models.PositiveIntegerField(default=0)
    pending_groups = models.JSONField(default=list)  # the first of them: group, since, value
    newest_end = models.DateTimeField(null=True)  # of the results that were looked at
    told_at = models.DateTimeField(null=True)
    problem = models.TextField(blank=True)  # why it is not evaluated
    memory = models.BinaryField(null=True)  # all groups, as of the seat's offset
    memory_of = models.CharField(max_length=40, blank=True)  # the alert's `changed_at`


class Seat(models.Model):
    """Who evaluates: one process at a time. It writes nothing unless it still has the seat."""

    holder = models.CharField(max_length=120, blank=True)
    until = models.FloatField(default=0)  # seconds since the epoch
    offset = models.BigIntegerField(null=True)  # of the results topic: what is before it is in `memory`


class Firing(models.Model):
    """One time that a group fired. What fires again after a restart has the same place: it is there once."""

    alert = models.ForeignKey(Alert, models.CASCADE, related_name="firings")
    group = models.JSONField(default=list)
    group_key = models.CharField(max_length=KEY_LENGTH)
    since = models.DateTimeField()  # from when on the condition held
    fired_at = models.DateTimeField()
    value = models.FloatField(null=True)
    resolved_at = models.DateTimeField(null=True, db_index=True)
    reason = models.CharField(max_length=80, blank=True)  # why it ended, where no result says so
    last_value = models.FloatField(null=True)
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    noted_at = models.DateTimeField(auto_now_add=True)
    told = models.CharField(max_length=8, blank=True)  # what was last said of it: firing, resolved
    untold = models.BooleanField(default=True, db_index=True)

    class Meta:
        ordering = ["-fired_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["alert", "group_key", "fired_at"], name="firing_once"),
        ]

    def __str__(self) -> str:
        return f"{self.alert} {self.group_key}"


class Silence(models.Model):
    """While it lasts, firings are kept and shown, and nobody is told."""

    alert = models.ForeignKey(Alert, models.CASCADE, related_name="silences")
    group = models.JSONField(null=True)  # null: all groups
    group_key = models.CharField(max_length=KEY_LENGTH, blank=True)  # empty: all groups
    until = models.DateTimeField()
    reason = models.CharField(max_length=200, blank=True)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["until", "pk"]

    def __str__(self) -> str:
        return f"{self.alert} until {self.until}"


def new_delivery_key() -> str:
    return uuid.uuid4().hex


class Delivery(models.Model):
    """One message to one address: kept until it has arrived or is given up."""

    alert = models.ForeignKey(Alert, models.CASCADE, related_name="deliveries")
    key = models.CharField(max_length=32, unique=True, default=new_delivery_key)
    channel = models.CharField(max_length=8)  # email, webhook
    target = models.CharField(max_length=500)
    payload = models.JSONField()
    attempts = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(null=True, db_index=True)  # null: sent or given up
    sent_at = models.DateTimeField(null=True)
    problem = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.channel} to {self.target}"
