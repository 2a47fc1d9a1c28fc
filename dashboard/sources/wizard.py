"""Adding a source, step by step on one page: connection, topic, messages, fields, event time, name.

Every step is sent with all that was typed in the others and comes back with it, so that any of them can be
gone back to.
"""

from dataclasses import dataclass
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.accounts.people import signed_in
from dashboard.connections.forms import ConnectionForm
from dashboard.connections.models import Connection
from dashboard.sources import topic_rights
from dashboard.sources.forms import DELIMITED, KINDS, ProbeForm, SourceForm, mark_of
from dashboard.sources.kafka import SHOWN_MESSAGES, KafkaProblem, Sample, check, newest_messages
from dashboard.sources.legible import as_json, avro_records
from dashboard.sources.presentation import ShownMessage, present
from dashboard.sources.reading import ShownField, corrected, found_fields, reading_context
from dashboard.sources.type_check import fit_words
from streaming.formats.base import FormatOptions
from streaming.inference import Inference, infer, infer_objects
from streaming.registry import schemas_of
from streaming.sources import FieldType

INFERRED_FROM = 200
FORMAT_WORDS = {"json": "JSON objects", "csv": "CSV records", "tsv": "TSV records"}


@dataclass(frozen=True)
class Found:
    """What the newest messages of a topic brought to light."""

    partitions: int
    kept: int
    messages: tuple[ShownMessage, ...]
    inference: Inference
    wanted: str  # what messages should be, in words

    @property
    def suggested_time(self) -> str:
        field = self.inference.event_time
        return field.name if field else ""

    @property
    def suggested_unit(self) -> str:
        field = self.inference.event_time
        return (field.time_unit if field else None) or "ms"


@require_http_methods(["GET", "POST"])
def source_new(request: HttpRequest) -> HttpResponse:
    context: dict[str, Any] = {"connections": Connection.objects.all()}
    if request.method == "GET":
        context |= {"form": SourceForm(), "chosen": request.GET.get("connection", "")}
        if not context["connections"]:
            context["connection_form"] = ConnectionForm()
        return render(request, "sources/new.html", context)
    form = SourceForm(request.POST, reader=signed_in(request))
    if form.is_valid():
        source = form.save(signed_in(request))
        messages.info(request, f"Saved “{source.name}”.")
        if warning := topic_rights.warning(source.topic):
            messages.warning(request, warning)
        return redirect(source)
    context |= {**_look(request), "form": form, "chosen": request.POST.get("connection", "")}
    return render(request, "sources/new.html", context, status=422)


@require_POST
def source_probe(request: HttpRequest) -> HttpResponse:
    """Look into Kafka as far as is typed; the answer is the part of the page under it."""
    context = _look(request)
    return render(request, "sources/_found.html" if context.get("topic") else "sources/_topics.html", context)


@require_POST
def source_type_check(request: HttpRequest) -> HttpResponse:
    """Whether the sampled values fit the type that was just chosen for one field."""
    probe = ProbeForm(request.POST, reader=signed_in(request))
    names, kinds = request.POST.getlist("field"), request.POST.getlist("kind")
    types = dict(zip(names, kinds, strict=False))
    checked = dict(zip(map(str, range(len(types))), names)).get(request.POST.get("checked", ""))
    if not probe.is_valid() or not probe.cleaned_data["topic"] or checked is None:
        return HttpResponse(status=204)
    try:
        sentence = _type_words(probe.cleaned_data, types, checked)
    except KafkaProblem as problem:
        sentence = str(problem)
    return render(request, "sources/_type_note.html", {"sentence": sentence})


def _type_words(cleaned: dict[str, Any], types: dict[str, str], field: str) -> str:
    """Of the field alone; of a record all columns are needed to find it."""
    if types[field] not in KINDS:
        return ""
    connection: Connection = cleaned["connection"]
    sample = newest_messages(
        connection.bootstrap_servers, cleaned["topic"], INFERRED_FROM, connection.security()
    )
    written_as = cleaned["format"].removesuffix("-registry")
    if written_as not in DELIMITED:
        types = {field: types[field]}
    by_id = schemas_of(cleaned["registry"]) if cleaned["registry"] else None
    options = FormatOptions(tuple(types), cleaned["avro_schema"], by_id)
    values = [message.value for message in sample.messages]
    return fit_words(values, written_as, options, cast(dict[str, FieldType], types), field)


def _look(request: HttpRequest) -> dict[str, Any]:
    """Either what was found or, in one sentence, what is wrong."""
    person = signed_in(request)
    probe = ProbeForm(request.POST, reader=person)
    if not probe.is_valid():
        field, sentences = next(iter(probe.errors.items()))
        topic = request.POST.get("topic", "")
        return {"problem": KafkaProblem(field, str(sentences[0])), "topic": topic}
    cleaned = probe.cleaned_data
    connection: Connection = cleaned["connection"]
    context: dict[str, Any] = {"topic": cleaned["topic"], "connection": connection}
    try:
        if cleaned["topic"]:
            context |= _topic_context(request, cleaned)
        else:
            context |= _topics_context(connection, person)
    except KafkaProblem as problem:
        context["problem"] = problem
        if problem.field == "topic":
            context |= _topics_instead(connection, person)
    return context


def _topics_context(connection: Connection, person: User) -> dict[str, Any]:
    """The topics to choose from; an administrator can type Millrace's own."""
    found = check(connection.bootstrap_servers, connection.security())
    topics, prefix = topic_rights.readable(person, connection, found), topic_rights.own_prefix()
    others = [name for name in topics if not name.startswith(prefix)]
    return {"topics": others, "own_topics": len(topics) - len(others), "own_prefix": prefix}


def _topic_context(request: HttpRequest, cleaned: dict[str, Any]) -> dict[str, Any]:
    found = _find(cleaned)
    described = cleaned["avro_schema"] or cleaned["registry"]
    mark = mark_of(cleaned["connection"], cleaned["topic"], cleaned["format"], described)
    fields = found_fields(found.inference.fields)
    if request.POST.get("tested") == mark:
        fields = corrected(fields, request.POST.getlist("field"), request.POST.getlist("kind"))
    return {
        "found": found,
        "topic_warning": topic_rights.warning(cleaned["topic"]),
        "tested": mark,
        "form": SourceForm(_with_defaults(request.POST, cleaned["topic"], found, fields)),
        **reading_context(fields, cleaned),
    }


def _with_defaults(typed: QueryDict, topic: str, found: Found, fields: list[ShownField]) -> QueryDict:
    """What was typed so far, and what fits the messages where nothing was."""
    data = typed.copy()
    names = {field.name for field in fields if field.can_hold_time}
    if data.get("event_time") not in names:
        data["event_time"] = found.suggested_time
        data["time_unit"] = found.suggested_unit
        if data.get("time_source") in (None, "", "field"):
            data["time_source"] = "field" if found.suggested_time else "message"
    defaults = {"name": topic, "allowed_lateness": "10s", "time_zone": "UTC", "time_unit": "ms"}
    for name, value in defaults.items():
        if not data.get(name):
            data[name] = value
    if "future_bound" not in data:
        data["future_bound"] = "5m"
    data.setlist("field", [field.name for field in fields])
    data.setlist("kind", [field.kind for field in fields])
    return data


def _find(cleaned: dict[str, Any]) -> Found:
    connection: Connection = cleaned["connection"]
    sample = newest_messages(
        connection.bootstrap_servers, cleaned["topic"], INFERRED_FROM, connection.security()
    )
    inference, legible = _read(sample, cleaned)
    shown = zip(sample.messages[:SHOWN_MESSAGES], legible, strict=True)
    return Found(
        partitions=sample.partitions,
        kept=sample.kept,
        messages=tuple(present(*pair) for pair in shown),
        inference=inference,
        wanted=FORMAT_WORDS.get(cleaned["format"], "Avro records of the schema"),
    )


def _read(sample: Sample, cleaned: dict[str, Any]) -> tuple[Inference, list[bytes | None]]:
    """The fields of the messages, and the values of the newest as people read them."""
    values = [message.value for message in sample.messages]
    if not cleaned["format"].startswith("avro"):
        return infer(values, cleaned["format"]), values[:SHOWN_MESSAGES]
    by_id = schemas_of(cleaned["registry"]) if cleaned["registry"] else None
    options = FormatOptions(avro_schema=cleaned["avro_schema"], schema_by_id=by_id)
    inference = infer_objects(avro_records(values, options), len(values))
    return inference, as_json(values[:SHOWN_MESSAGES], options)


def _topics_instead(connection: Connection, person: User) -> dict[str, Any]:
    try:
        return _topics_context(connection, person)
    except KafkaProblem:
        return {}
