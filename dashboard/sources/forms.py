"""The forms of the source pages."""

import json
from collections.abc import Mapping
from typing import Any, get_args

from django import forms
from django.contrib.auth.models import User
from django.db import models
from django.utils.text import slugify

from dashboard.sources.kafka import KafkaProblem, split_address
from dashboard.sources.models import Source
from optimizer.durations import InvalidDuration, format_duration, parse_duration
from streaming.sources import FieldType

UNIT_CHOICES = [
    ("s", "seconds since 1970"),
    ("ms", "milliseconds since 1970"),
    ("us", "microseconds since 1970"),
    ("ns", "nanoseconds since 1970"),
    ("iso", "ISO 8601 text"),
]
_CODE = {"class": "form-control code", "spellcheck": "false", "autocomplete": "off", "autocapitalize": "off"}


class ConnectionForm(forms.Form):
    """Where the messages are. Without a topic, the topics are listed to choose from."""

    bootstrap_servers = forms.CharField(
        max_length=500,
        error_messages={"required": "Give at least one broker as host:port."},
        widget=forms.TextInput(attrs={**_CODE, "placeholder": "kafka-1:9092, kafka-2:9092"}),
    )
    topic = forms.CharField(
        max_length=249, required=False, widget=forms.TextInput(attrs={**_CODE, "list": "topics"})
    )

    def clean_bootstrap_servers(self) -> str:
        addresses = [
            part.strip() for part in self.cleaned_data["bootstrap_servers"].split(",") if part.strip()
        ]
        try:
            for address in addresses:
                split_address(address)
        except KafkaProblem as problem:
            raise forms.ValidationError(problem.sentence) from problem
        return ",".join(addresses)


class ReadingForm(forms.Form):
    """How the messages are read: what can be changed after a source was saved, too."""

    name = forms.CharField(
        max_length=80,
        error_messages={"required": "Give the source a name."},
        widget=forms.TextInput(attrs={"class": "form-control", "autocomplete": "off"}),
    )
    event_time = forms.CharField(required=False)
    time_unit = forms.ChoiceField(choices=UNIT_CHOICES, required=False)
    allowed_lateness = forms.CharField(
        initial="10s",
        widget=forms.TextInput(attrs={**_CODE}),
        error_messages={"required": "Say how long, such as 10s."},
    )

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"].strip()
        if self._others().filter(name__iexact=name).exists():
            raise forms.ValidationError(f"There is a source “{name}” already: choose another name.")
        return name

    def _others(self) -> models.QuerySet[Source]:
        """The sources that may not have the same name."""
        return Source.objects.all()

    def clean_allowed_lateness(self) -> int:
        text = self.cleaned_data["allowed_lateness"].strip()
        if text in ("0", "0s"):
            return 0
        try:
            return parse_duration(text)
        except InvalidDuration as error:
            raise forms.ValidationError(str(error)) from error

    def check_event_time(self, types: dict[str, str]) -> None:
        """Whether the chosen field can hold the event time as it is said to be written."""
        name, unit = self.cleaned_data.get("event_time"), self.cleaned_data.get("time_unit")
        if not name or not types:
            return
        kind = types.get(name)
        if kind not in ("integer", "number", "text"):
            self.add_error(
                "event_time", f"“{name}” cannot hold the event time: choose a number or a text field."
            )
        elif (unit == "iso") != (kind == "text"):
            wanted = "ISO 8601 text" if kind == "text" else "one of the numeric units"
            self.add_error("time_unit", f"“{name}” holds {kind} values: choose {wanted}.")


class SourceForm(ReadingForm, ConnectionForm):
    """A source as it will be saved; the schema is what the connection test found."""

    schema = forms.CharField(required=False, widget=forms.HiddenInput)
    tested = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean_topic(self) -> str:
        topic: str = self.cleaned_data["topic"]
        if not topic:
            raise forms.ValidationError("Choose a topic.")
        return topic

    def clean_schema(self) -> list[list[str]]:
        try:
            schema = json.loads(self.cleaned_data["schema"] or "[]")
            fields = [[str(name), str(kind)] for name, kind in schema]
        except (ValueError, TypeError):
            fields = []
        if not fields or any(kind not in get_args(FieldType) for _, kind in fields):
            raise forms.ValidationError("Test the connection, so that the fields are known.")
        return fields

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        servers, topic = cleaned.get("bootstrap_servers"), cleaned.get("topic")
        if servers and topic and cleaned.get("tested") != connection_mark(servers, topic):
            self.add_error(
                "topic", "The connection changed after the test: look at what was found, then save."
            )
        self.check_event_time(dict(cleaned.get("schema") or []))
        return cleaned

    def save(self, person: User) -> Source:
        cleaned = self.cleaned_data
        return Source.objects.create(
            key=_free_key(cleaned["name"]),
            name=cleaned["name"],
            bootstrap_servers=cleaned["bootstrap_servers"],
            topic=cleaned["topic"],
            schema=cleaned["schema"],
            event_time=cleaned["event_time"] or None,
            time_unit=cleaned["time_unit"] or "ms",
            allowed_lateness=cleaned["allowed_lateness"],
            created_by=person,
        )


class SettingsForm(ReadingForm):
    """Changes to a saved source; where its messages are stays, as another topic is another source."""

    def __init__(self, source: Source, data: Mapping[str, Any] | None = None) -> None:
        self.source = source
        super().__init__(data if data is not None else _as_typed(source))

    def _others(self) -> models.QuerySet[Source]:
        return super()._others().exclude(pk=self.source.pk)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self.check_event_time(dict(self.source.schema))
        return cleaned

    def save(self) -> Source:
        cleaned = self.cleaned_data
        self.source.name = cleaned["name"]
        self.source.event_time = cleaned["event_time"] or None
        self.source.time_unit = cleaned["time_unit"] or self.source.time_unit
        self.source.allowed_lateness = cleaned["allowed_lateness"]
        self.source.save(update_fields=["name", "event_time", "time_unit", "allowed_lateness"])
        return self.source


def _as_typed(source: Source) -> dict[str, Any]:
    """A source's settings as someone would type them."""
    lateness = format_duration(source.allowed_lateness) if source.allowed_lateness else "0s"
    return {
        "name": source.name,
        "event_time": source.event_time or "",
        "time_unit": source.time_unit,
        "allowed_lateness": lateness,
    }


def connection_mark(bootstrap_servers: str, topic: str) -> str:
    """What the page sends back to show which connection its schema was read from."""
    return f"{bootstrap_servers} {topic}"


def _free_key(name: str) -> str:
    """A key made of the name, with a number behind it where another source has it."""
    stem = slugify(name.replace(".", "-").replace("_", "-"))[:40].strip("-") or "source"
    taken = set(Source.objects.filter(key__startswith=stem).values_list("key", flat=True))
    candidates = (stem if number == 1 else f"{stem}-{number}" for number in range(1, len(taken) + 2))
    return next(key for key in candidates if key not in taken)
