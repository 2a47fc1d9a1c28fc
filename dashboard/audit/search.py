"""Looking into the audit log: by who, what, words and days. The same for the page and the API."""

from collections.abc import Mapping
from datetime import date as Date
from datetime import datetime, time, timedelta
from typing import Any

from django import forms
from django.db.models import Q, QuerySet
from django.utils import timezone

from dashboard.models import AuditEntry

KINDS = (
    "access",
    "alert",
    "connection",
    "dashboard",
    "group",
    "history",
    "link",
    "note",
    "panel",
    "person",
    "plan",
    "query",
    "session",
    "silence",
    "source",
    "token",
)
DAY = {"invalid": "Write a day as 2026-11-17."}


class AuditSearch(forms.Form):
    q = forms.CharField(max_length=200, required=False)
    person = forms.IntegerField(
        required=False, error_messages={"invalid": "A person is given by their number."}
    )
    kind = forms.CharField(max_length=20, required=False)
    since = forms.DateField(required=False, input_formats=["%Y-%m-%d"], error_messages=DAY)
    until = forms.DateField(required=False, input_formats=["%Y-%m-%d"], error_messages=DAY)

    def found(self) -> QuerySet[AuditEntry]:
        """The entries asked for, newest first; of a search with a mistake, what the rest of it finds."""
        asked: Mapping[str, Any] = getattr(self, "cleaned_data", {})
        entries = AuditEntry.objects.all()
        for word in asked.get("q", "").split():
            entries = entries.filter(
                Q(thing__icontains=word)
                | Q(thing_key__icontains=word)
                | Q(person_name__icontains=word)
                | Q(action__icontains=word)
                | Q(kind__icontains=word)
                | Q(changes__icontains=word)
            )
        if asked.get("person") is not None:
            entries = entries.filter(person=asked["person"])
        if asked.get("kind"):
            entries = entries.filter(kind=asked["kind"])
        if asked.get("since"):
            entries = entries.filter(at__gte=_begin(asked["since"]))
        if asked.get("until"):
            entries = entries.filter(at__lt=_begin(asked["until"]) + timedelta(days=1))
        return entries


def _begin(day: Date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
