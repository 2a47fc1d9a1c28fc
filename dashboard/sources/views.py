"""The source pages."""

import json
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dashboard.accounts.people import may_change, signed_in
from dashboard.sources.forms import (
    UNIT_CHOICES,
    ConnectionForm,
    SettingsForm,
    SourceForm,
    connection_mark,
)
from dashboard.sources.kafka import SHOWN_MESSAGES, KafkaProblem, list_topics, newest_messages
from dashboard.sources.models import Source
from dashboard.sources.presentation import ShownMessage, present
from streaming.inference import Inference, infer

INFERRED_FROM = 200
SEEK_CHOICES = (
    ("live", "Live"),
    ("newest", "Newest"),
    ("oldest", "Oldest"),
    ("offset", "From offset"),
    ("time", "Since time"),
)
TABS = ("overview", "messages", "consumers", "dead-letters", "settings")


@dataclass(frozen=True)
class Found:
    """What a connection test brought to light."""

    topics: list[str]
    partitions: int = 0
    kept: int = 0
    messages: tuple[ShownMessage, ...] = ()
    inference: Inference | None = None

    @property
    def schema_json(self) -> str:
        return json.dumps(self.inference.schema if self.inference else [])


@require_GET
def source_list(request: HttpRequest) -> HttpResponse:
    sources = Source.objects.select_related("created_by").prefetch_related("queries")
    return render(request, "sources/list.html", {"sources": sources})


@require_http_methods(["GET", "POST"])
def source_new(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        return render(request, "sources/new.html", {"form": SourceForm(), "unit_choices": UNIT_CHOICES})
    form = SourceForm(request.POST)
    if form.is_valid():
        source = form.save(signed_in(request))
        messages.info(request, f"Saved “{source.name}”.")
        return redirect(source)
    return render(request, "sources/new.html", {**_look(request), "form": form}, status=422)


@require_POST
def source_probe(request: HttpRequest) -> HttpResponse:
    """Test the connection as typed; the answer is the part of the page under it."""
    return render(request, "sources/_found.html", _look(request))


def _look(request: HttpRequest) -> dict[str, Any]:
    """Context of the found part: either what was found or, in one sentence, what is wrong."""
    connection = ConnectionForm(request.POST)
    if not connection.is_valid():
        field, sentences = next(iter(connection.errors.items()))
        return {"problem": KafkaProblem(field, str(sentences[0]))}
    servers, topic = connection.cleaned_data["bootstrap_servers"], connection.cleaned_data["topic"]
    context: dict[str, Any] = {
        "unit_choices": UNIT_CHOICES,
        "topic": topic,
        "tested": connection_mark(servers, topic),
        "form": SourceForm(_with_defaults(request, topic)),
    }
    try:
        context["found"] = _find(servers, topic)
    except KafkaProblem as problem:
        context["problem"] = problem
        context["topics"] = _topics_instead(servers) if problem.field == "topic" else []
    return context


def _with_defaults(request: HttpRequest, topic: str) -> dict[str, Any]:
    """What was typed so far, and sensible values where nothing was."""
    typed = {name: value for name, value in request.POST.items() if value}
    return {"name": topic, "allowed_lateness": "10s", **typed}


def _find(servers: str, topic: str) -> Found:
    if not topic:
        return Found(topics=list_topics(servers))
    sample = newest_messages(servers, topic, INFERRED_FROM)
    return Found(
        topics=[],
        partitions=sample.partitions,
        kept=sample.kept,
        messages=tuple(present(message) for message in sample.messages[:SHOWN_MESSAGES]),
        inference=infer([message.value for message in sample.messages]),
    )


def _topics_instead(servers: str) -> list[str]:
    try:
        return list_topics(servers)
    except KafkaProblem:
        return []


@require_GET
def source_page(request: HttpRequest, key: str) -> HttpResponse:
    source = get_object_or_404(Source.objects.select_related("created_by"), key=key)
    tab = request.GET.get("tab")
    return render(request, "sources/page.html", page_context(request, source, tab or TABS[0]))


def page_context(request: HttpRequest, source: Source, tab: str) -> dict[str, Any]:
    """What every tab of a source's page needs; settings are shown to who may change them alone."""
    may = may_change(signed_in(request), source.created_by)
    shown = TABS if may else TABS[:-1]
    return {
        "source": source,
        "tab": tab if tab in shown else TABS[0],
        "unit": dict(UNIT_CHOICES).get(source.time_unit, ""),
        "queries": source.queries.select_related("owner"),
        "may_change": may,
        "form": SettingsForm(source),
        "unit_choices": UNIT_CHOICES,
        "seek_choices": SEEK_CHOICES,
        "seek": request.GET.get("seek") if request.GET.get("seek") in dict(SEEK_CHOICES) else "live",
    }
