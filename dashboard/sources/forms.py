"""The forms of the source pages."""

import json
from typing import Any, get_args

from django import forms
from django.contrib.auth.models import User
from django.utils.text import slugify

from dashboard.sources.kafka import KafkaProblem, split_address
from dashboard.sources.models import Source
from optimizer.durations import InvalidDuration, parse_duration
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


class SourceForm(ConnectionForm):
    """A source as it will be saved; the schema is what the connection test found."""

    name = forms.CharField(
        max_length=80,
        error_messages={"required": "Give the source a name."},
        widget=forms.TextInput(attrs={"class": "form-control", "autocomplete": "off"}),
    )
    schema = forms.CharField(required=False, widget=forms.HiddenInput)
    tested = forms.CharField(required=False, widget=forms.HiddenInput)
    event_time = forms.CharField(required=False)
    time_unit = forms.ChoiceField(choices=UNIT_CHOICES, required=False)
    allowed_lateness = forms.CharField(
        initial="10s",
        widget=forms.TextInput(attrs={**_CODE}),
        error_messages={"required": "Say how long, such as 10s."},
    )

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"].strip()
        if Source.objects.filter(name__iexact=name).exists():
            raise forms.ValidationError(f"There is a source “{name}” already: choose another name.")
        return name

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

    def clean_allowed_lateness(self) -> int:
        text = self.cleaned_data["allowed_lateness"].strip()
        if text in ("0", "0s"):
            return 0
        try:
            return parse_duration(text)
        except InvalidDuration as error:
            raise forms.ValidationError(str(error)) from error

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        servers, topic = cleaned.get("bootstrap_servers"), cleaned.get("topic")
        if servers and topic and cleaned.get("tested") != connection_mark(servers, topic):
            self.add_error(
                "topic", "The connection changed after the test: look at what was found, then save."
            )
        self._clean_event_time(dict(cleaned.get("schema") or []))
        return cleaned

    def _clean_event_time(self, types: dict[str, str]) -> None:
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


def connection_mark(bootstrap_servers: str, topic: str) -> str:
    """What the page sends back to show which connection its schema was read from."""
    return f"{bootstrap_servers} {topic}"


def _free_key(name: str) -> str:
    """A key made of the name, with a number behind it where another source has it."""
    stem = slugify(name.replace(".", "-").replace("_", "-"))[:40].strip("-") or "source"
    taken = set(Source.objects.filter(key__startswith=stem).values_list("key", flat=True))
    candidates = (stem if number == 1 else f"{stem}-{number}" for number in range(1, len(taken) + 2))
    return next(key for key in candidates if key not in taken)
