"""The forms of the source pages."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, get_args

from django import forms
from django.contrib.auth.models import User
from django.db import models
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict

from dashboard.connections.forms import CODE
from dashboard.connections.keys import free_key
from dashboard.connections.models import Connection
from dashboard.sources import topic_rights
from dashboard.sources.models import Source
from dashboard.texts import KeyChoice, Line, Lines, control_problem
from optimizer.durations import InvalidDuration, format_duration, parse_duration
from optimizer.queries import InvalidQuery
from streaming import event_time
from streaming.event_time import InvalidTime, UnfitTime
from streaming.formats.avro import check_schema
from streaming.formats.columns import Unreadable
from streaming.inference import has_odd_characters
from streaming.registry import InvalidAddress, check_address
from streaming.sources import FUTURE_BOUND_MS, READ_COMMITTED, FieldType, Isolation
from streaming.spec import check_fields

UNIT_CHOICES = [
    ("s", "seconds since 1970"),
    ("ms", "milliseconds since 1970"),
    ("us", "microseconds since 1970"),
    ("ns", "nanoseconds since 1970"),
    ("iso", "ISO 8601 text"),
    ("pattern", "text with a pattern"),
]
TIME_CHOICES = [
    ("field", "A field of the message"),
    ("message", "Message timestamp"),
    ("processing", "When Millrace reads it"),
]
FORMAT_CHOICES = [
    ("json", "JSON"),
    ("csv", "CSV"),
    ("tsv", "TSV"),
    ("avro-registry", "Avro with a schema registry"),
    ("avro", "Avro with a given schema"),
]
ISOLATION_CHOICES: list[tuple[Isolation, str]] = [
    ("read_committed", "Committed only"),
    ("read_uncommitted", "All, also of open and aborted transactions"),
]
DELIMITED = ("csv", "tsv")
KINDS: tuple[FieldType, ...] = get_args(FieldType)
_SELECT = {"class": "form-select"}


class AvroForm(forms.Form):
    """What describes Avro messages: a schema, or a registry that has the schemas."""

    avro_schema = Lines(max_length=200_000, required=False, widget=forms.Textarea(attrs={**CODE, "rows": 4}))
    registry = Line(
        max_length=300,
        required=False,
        widget=forms.TextInput(attrs={**CODE, "placeholder": "http://registry:8081"}),
    )

    def written_as(self) -> str:
        """The format that was chosen, one of FORMAT_CHOICES; what it does not use is emptied."""
        return str(self.cleaned_data.get("format"))

    def clean_avro_schema(self) -> str:
        schema: str = self.cleaned_data["avro_schema"].replace("\r\n", "\n")  # as some browsers end lines
        if self.written_as() != "avro":
            return ""
        if not schema:
            raise forms.ValidationError("Paste the schema with which the messages were written.")
        try:
            check_schema(schema)
        except Unreadable as problem:
            raise forms.ValidationError(str(problem)) from problem
        return schema

    def clean_registry(self) -> str:
        if self.written_as() != "avro-registry":
            return ""
        try:
            return check_address(self.cleaned_data["registry"])
        except InvalidAddress as problem:
            raise forms.ValidationError(str(problem)) from problem


class ProbeForm(AvroForm):
    """Where the messages are and how they are written. Without a topic, the topics are listed."""

    field_order = ("connection", "topic", "format")  # what Avro needs is checked by the format
    connection = KeyChoice(
        Connection.objects.all(),
        to_field_name="key",
        empty_label=None,
        error_messages={
            "required": "Choose a connection, or make one.",
            "invalid_choice": "There is no such connection any more: choose another.",
        },
        widget=forms.Select(attrs={**_SELECT, "form": "source-form"}),
    )
    topic = Line(max_length=249, required=False, widget=forms.TextInput(attrs={**CODE, "list": "topics"}))
    format = forms.ChoiceField(
        choices=FORMAT_CHOICES, required=False, initial="json", widget=forms.Select(attrs=_SELECT)
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, reader: User | None = None) -> None:
        """`reader` is who wants to read; none: a command, which may read everything."""
        super().__init__(data)
        self._reader = reader

    def clean_format(self) -> str:
        return self.cleaned_data["format"] or "json"

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        problem = _refusal(self._reader, cleaned.get("connection"), cleaned.get("topic", ""))
        if problem:
            self.add_error("topic", problem)
        return cleaned


def _refusal(reader: User | None, connection: Connection | None, topic: str) -> str:
    """Why who asks may not read a topic; a command may read any."""
    if reader is None or connection is None or not topic:
        return ""
    return topic_rights.refusal(reader, connection, topic)


class ReadingForm(forms.Form):
    """How the messages are read: what can be changed after a source was saved, too."""

    name = Line(
        max_length=80,
        error_messages={"required": "Give the source a name."},
        widget=forms.TextInput(attrs={"class": "form-control", "autocomplete": "off"}),
    )
    schema = forms.Field(required=False)  # made of `field` and `kind`, one of each for every field
    time_source = forms.ChoiceField(choices=TIME_CHOICES, required=False)
    event_time = Line(max_length=200, required=False)
    time_unit = forms.ChoiceField(choices=UNIT_CHOICES, required=False)
    time_pattern = Line(max_length=100, required=False)
    time_zone = Line(max_length=64, required=False)
    allowed_lateness = Line(
        initial="10s",
        widget=forms.TextInput(attrs=CODE),
        error_messages={"required": "Say how long, such as 10s."},
    )
    future_bound = Line(required=False)
    past_bound = Line(required=False)
    isolation = forms.ChoiceField(choices=ISOLATION_CHOICES, required=False)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"].strip()
        if self._others().filter(name__iexact=name).exists():
            raise forms.ValidationError(f"There is a source “{name}” already: choose another name.")
        return name

    def _others(self) -> models.QuerySet[Source]:
        """The sources that may not have the same name."""
        return Source.with_deleted.filter(deleted_at=None)

    def clean_allowed_lateness(self) -> int:
        return _duration(self.cleaned_data["allowed_lateness"])

    def clean_future_bound(self) -> int | None:
        if "future_bound" not in self.data:
            return FUTURE_BOUND_MS
        return _bound(self.cleaned_data["future_bound"])

    def clean_past_bound(self) -> int | None:
        return _bound(self.cleaned_data["past_bound"])

    def clean_time_zone(self) -> str:
        zone: str = self.cleaned_data["time_zone"] or "UTC"
        try:
            event_time.check_zone(zone)
        except InvalidTime as problem:
            raise forms.ValidationError(str(problem)) from problem
        return zone

    def clean_schema(self) -> list[list[str]]:
        names, kinds = _all(self.data, "field"), _all(self.data, "kind")
        if len(names) != len(kinds) or not set(kinds) <= {"", *KINDS}:
            raise forms.ValidationError("Read the messages again, so that the fields are known.")
        fields = [[name.strip(), kind] for name, kind in zip(names, kinds, strict=True) if kind]
        if not fields:
            raise forms.ValidationError("Read messages first, so that there are fields to use.")
        used = [name for name, _ in fields]
        problem = next(filter(None, map(control_problem, used)), "")
        if problem:
            raise forms.ValidationError(problem)
        odd = next(filter(has_odd_characters, used), None)
        if odd is not None:
            raise forms.ValidationError(
                f"“{odd}” has a quote or a backslash in its name, so it cannot be used."
            )
        if not all(used) or len(set(used)) < len(used):
            raise forms.ValidationError("Give every field a name of its own.")
        return fields

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        source = cleaned.get("time_source") or ("field" if cleaned.get("event_time") else "message")
        cleaned["processing_time"] = source == "processing"
        cleaned["event_time"] = cleaned.get("event_time") or None if source == "field" else None
        if source == "field":
            self._check_event_time(cleaned, dict(cleaned.get("schema") or []))
        return cleaned

    def _check_event_time(self, cleaned: dict[str, Any], types: dict[str, FieldType]) -> None:
        """Whether the chosen field can hold the event time as it is said to be written."""
        name, unit = cleaned.get("event_time"), cleaned.get("time_unit") or "ms"
        if not name:
            self.add_error("event_time", "Choose the field that holds the event time.")
            return
        try:
            if types:
                event_time.check_field(name, types.get(name), unit)
        except UnfitTime as problem:
            self.add_error(problem.about, str(problem))
        else:
            if unit == "pattern":
                self._check_pattern(cleaned.get("time_pattern", ""))

    def _check_pattern(self, pattern: str) -> None:
        try:
            if not pattern:
                raise InvalidTime("Write the pattern, such as %d/%m/%Y %H:%M:%S.")
            event_time.check_pattern(pattern)
        except InvalidTime as problem:
            self.add_error("time_pattern", str(problem))

    def reading(self) -> dict[str, Any]:
        """What is to be saved of how messages are read."""
        cleaned = self.cleaned_data
        names = ("schema", "event_time", "processing_time", "allowed_lateness", "future_bound", "past_bound")
        return {name: cleaned[name] for name in names} | {
            "time_unit": cleaned["time_unit"] or "ms",
            "time_pattern": cleaned["time_pattern"] if cleaned["time_unit"] == "pattern" else "",
            "time_zone": cleaned["time_zone"],
            "isolation": cleaned["isolation"] or READ_COMMITTED,
        }


class SourceForm(ReadingForm, ProbeForm):
    """A source as it will be saved; its fields are those found, with the types that people chose."""

    tested = forms.Field(required=False)  # compared, never kept

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        reader: User | None = None,
        all_at_once: bool = False,
    ) -> None:
        """`all_at_once`: not from a page, where a part can change after messages were read with it."""
        super().__init__(data, reader=reader)
        self._all_at_once = all_at_once

    def clean_topic(self) -> str:
        topic: str = self.cleaned_data["topic"]
        if not topic:
            raise forms.ValidationError("Choose a topic.")
        return topic

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if not self._all_at_once and {*ProbeForm.base_fields} <= cleaned.keys():
            self._check_mark(cleaned)
        if cleaned.get("format") in DELIMITED and "" in _all(self.data, "kind"):
            self.add_error("schema", "Records have all their columns: give each a type.")
        return cleaned

    def _check_mark(self, cleaned: dict[str, Any]) -> None:
        """Whether the fields are those of these messages, read in this way."""
        tested, place = str(cleaned["tested"]), (cleaned["connection"], cleaned["topic"], cleaned["format"])
        if tested == mark_of(*place, cleaned["avro_schema"] or cleaned["registry"]):
            return
        if not tested.startswith(f"{mark_of(*place)} "):
            self.add_error(
                "topic", "The topic changed after its messages were read: look at them, then save."
            )
            return
        field, word = ("avro_schema", "schema") if self.written_as() == "avro" else ("registry", "registry")
        self.add_error(
            field, f"The {word} changed after messages were read with it: look at them, then save."
        )

    def save(self, person: User | None, key: str = "") -> Source:
        cleaned = self.cleaned_data
        return Source.objects.create(
            key=key or free_key(Source, cleaned["name"]),
            name=cleaned["name"],
            connection=cleaned["connection"],
            topic=cleaned["topic"],
            format=cleaned["format"].removesuffix("-registry"),
            avro_schema=cleaned["avro_schema"],
            registry=cleaned["registry"],
            created_by=person,
            **self.reading(),
        )


class SettingsForm(ReadingForm, AvroForm):
    """Changes to a saved source; its topic and format stay, as another topic is another source."""

    connection = KeyChoice(Connection.objects.all(), to_field_name="key", required=False)

    def __init__(
        self, source: Source, data: Mapping[str, Any] | None = None, *, reader: User | None = None
    ) -> None:
        """What was not sent stays as it is."""
        self.source = source
        self._reader = reader
        merged = QueryDict(mutable=True)
        for name, values in as_typed(source).items():
            merged.setlist(name, values)
        for name in data or ():
            merged.setlist(name, _all(data or {}, name))
        super().__init__(merged)

    def clean_connection(self) -> Connection | None:
        """Through another connection its topic may be somebody else's."""
        connection: Connection | None = self.cleaned_data["connection"]
        is_other = connection != self.source.connection
        problem = _refusal(self._reader, connection, self.source.topic) if is_other else ""
        if problem:
            raise forms.ValidationError(problem)
        return connection

    def _others(self) -> models.QuerySet[Source]:
        return super()._others().exclude(pk=self.source.pk)

    def written_as(self) -> str:
        return self.source.written_as

    def clean_avro_schema(self) -> str:
        schema = self.cleaned_data["avro_schema"]
        self._refuse_unused(schema, "avro", "Avro schema")
        if schema.splitlines() == self.source.avro_schema.splitlines():
            return self.source.avro_schema  # other ends of lines do not start it anew
        return super().clean_avro_schema()

    def clean_registry(self) -> str:
        self._refuse_unused(self.cleaned_data["registry"], "avro-registry", "schema registry")
        return super().clean_registry()

    def _refuse_unused(self, value: str, written_as: str, what: str) -> None:
        if value and self.written_as() != written_as:
            sentence = f"“{self.source.name}” is read as {self.source.format_words}: it has no {what}."
            raise forms.ValidationError(sentence)

    def clean_schema(self) -> list[list[str]]:
        """Types can be corrected, and fields be added after those that are known."""
        fields = super().clean_schema() if _all(self.data, "field") else self.source.schema
        known = [name for name, _ in self.source.schema]
        if [name for name, _ in fields[: len(known)]] != known:
            raise forms.ValidationError("The fields of the source changed meanwhile: look at them again.")
        for name, kind in self.typed_fields()[len(known) :]:
            if name and not kind:
                raise forms.ValidationError(f"Choose a type for {name}.")
        for query in self.source.queries.all():
            try:
                check_fields(query.spec(), dict(fields))  # type: ignore[arg-type]  # of KINDS alone
            except InvalidQuery as problem:
                sentence = f"The query “{query.name}” would fail: {problem.sentence} Change it first."
                raise forms.ValidationError(sentence) from problem
        return fields

    def typed_fields(self) -> list[tuple[str, str]]:
        """Names and types, those of the source if none were sent."""
        sent = list(zip(_all(self.data, "field"), _all(self.data, "kind"), strict=False))
        return [(name.strip(), kind) for name, kind in sent or self.source.schema]

    def save(self) -> Source:
        self.source.name = self.cleaned_data["name"]
        self.source.connection = self.cleaned_data["connection"] or self.source.connection
        self.source.avro_schema = self.cleaned_data["avro_schema"]
        self.source.registry = self.cleaned_data["registry"]
        reading = self.reading()
        for name, value in reading.items():
            setattr(self.source, name, value)
        # No other field: somebody may have had it read again meanwhile.
        self.source.save(update_fields=["name", "connection", "avro_schema", "registry", *reading])
        return self.source


def as_typed(source: Source) -> dict[str, list[str]]:
    """A source's settings as a form with them would send them."""
    lateness = format_duration(source.allowed_lateness) if source.allowed_lateness else "0s"
    by_field = "field" if source.event_time else "message"
    single = {
        "name": source.name,
        "connection": source.connection.key,
        "avro_schema": source.avro_schema,
        "registry": source.registry,
        "time_source": "processing" if source.processing_time else by_field,
        "event_time": source.event_time or "",
        "time_unit": source.time_unit,
        "time_pattern": source.time_pattern,
        "time_zone": source.time_zone,
        "allowed_lateness": lateness,
        "future_bound": _spoken_bound(source.future_bound),
        "past_bound": _spoken_bound(source.past_bound),
        "isolation": source.isolation,
    }
    return {name: [value] for name, value in single.items()} | {
        "field": [name for name, _ in source.schema],
        "kind": [kind for _, kind in source.schema],
    }


def _spoken_bound(milliseconds: int | None) -> str:
    return "" if milliseconds is None else format_duration(milliseconds)


def _all(data: Mapping[str, Any], name: str) -> list[str]:
    """Every value of a name that may be sent several times."""
    if isinstance(data, MultiValueDict):
        return list(data.getlist(name))
    value = data.get(name, [])
    return [value] if isinstance(value, str) else list(value)


def _duration(text: str) -> int:
    if text.strip() in ("0", "0s"):
        return 0
    try:
        return parse_duration(text.strip())
    except InvalidDuration as error:
        raise forms.ValidationError(str(error)) from error


def _bound(text: str) -> int | None:
    return _duration(text) if text.strip() else None


def mark_of(connection: Connection, topic: str, written_as: str, described: str = "") -> str:
    """What the page sends back to show which messages its fields were read from, and how.

    `described` is the Avro schema, or the address of the registry that has it.
    """
    digest = sha256(described.encode()).hexdigest()[:12] if described else ""
    return f"{connection.key} {topic} {written_as} {digest}".rstrip()
