"""The tabs of a source's page that look into Kafka; each is loaded into the page once it stands."""

from collections.abc import Callable
from typing import Any

import msgspec
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import may_change
from dashboard.sources.dead_letters import check_again, find_letter, recent_dead_letters
from dashboard.sources.kafka import KafkaProblem, Message, consumer_of
from dashboard.sources.legible import legible, legible_values
from dashboard.sources.models import Source
from dashboard.sources.presentation import dumped, printed
from dashboard.sources.topic_consumers import GROUPS_AT_ONCE, consumer_groups
from dashboard.sources.topic_inspector import inspect
from dashboard.sources.topic_overview import overview
from dashboard.sources.topic_pages import (
    DOWNLOADED,
    DOWNLOADED_BYTES,
    Asked,
    BadRequest,
    message_page,
    messages_to_download,
)
from dashboard.sources.topic_walk import extent, read_one


@require_GET
def source_overview(request: HttpRequest, key: str) -> HttpResponse:
    """What the cluster says of the topic."""
    return _told(request, key, "sources/_topic.html", "overview", overview)


def _told(
    request: HttpRequest, key: str, template: str, name: str, ask: Callable[[Source], Any]
) -> HttpResponse:
    """What Kafka says of the source, under that name in the template; or why it says nothing."""
    source = get_object_or_404(Source, key=key)
    context: dict[str, Any] = {"source": source, "may_change": may_change(signed_in(request), source)}
    try:
        context[name] = ask(source)
    except KafkaProblem as problem:
        context["problem"] = problem.sentence
    return render(request, template, context)


@require_GET
def source_check(request: HttpRequest, key: str) -> HttpResponse:
    """Whether the topic can be reached now."""
    source = get_object_or_404(Source, key=key)
    context: dict[str, Any] = {"source": source}
    try:
        with consumer_of(source) as consumer:
            context["extent"] = extent(consumer, source)
    except KafkaProblem as problem:
        context["problem"] = problem.sentence
    return render(request, "sources/_checked.html", context)


@require_GET
def source_messages(request: HttpRequest, key: str) -> HttpResponse:
    """One page of the topic's messages."""
    source = get_object_or_404(Source, key=key)
    context: dict[str, Any] = {"source": source, "most": DOWNLOADED, "most_bytes": DOWNLOADED_BYTES}
    try:
        asked = context["asked"] = Asked.of(request.GET)
        context["page"] = message_page(source, asked)
        context["same"] = _same(request)
    except (KafkaProblem, BadRequest) as problem:
        context["problem"] = str(problem)
    return render(request, "sources/_messages.html", context)


def _same(request: HttpRequest) -> str:
    """The address' search part without the place of the page: for the next page and the download."""
    kept = request.GET.copy()
    for name in ("before", "after"):
        kept.pop(name, None)
    return kept.urlencode()


@require_GET
def source_message(request: HttpRequest, key: str, partition: int, offset: int) -> HttpResponse:
    """One message in full."""
    source = get_object_or_404(Source, key=key)
    context: dict[str, Any] = {"source": source, "partition": partition, "offset": offset}
    try:
        with consumer_of(source) as consumer:
            message = read_one(consumer, source, partition, offset)
        context["one"] = inspect(source, message)
    except KafkaProblem as problem:
        context["problem"] = problem.sentence
    return render(request, "sources/_message.html", context)


@require_GET
def source_message_bytes(request: HttpRequest, key: str, partition: int, offset: int) -> HttpResponse:
    """The value of one message as it lies in the topic, to be saved: browsers must not open it as a page."""
    source = get_object_or_404(Source, key=key)
    try:
        with consumer_of(source) as consumer:
            message = read_one(consumer, source, partition, offset)
    except KafkaProblem as problem:
        return HttpResponse(problem.sentence, status=404, content_type="text/plain; charset=utf-8")
    return _file(message.value or b"", f"{source.key}-{partition}-{offset}.bin", "application/octet-stream")


@require_GET
def source_download(request: HttpRequest, key: str) -> HttpResponse:
    """Messages as JSON lines, from where the page begins, as many as a download may hold."""
    source = get_object_or_404(Source, key=key)
    try:
        messages = messages_to_download(source, Asked.of(request.GET))
        values = legible(source, messages)
    except (KafkaProblem, BadRequest) as problem:
        return HttpResponse(str(problem), status=422, content_type="text/plain; charset=utf-8")
    exported = (_exported(*pair) for pair in zip(messages, values, strict=True))
    lines = b"".join(msgspec.json.encode(one) + b"\n" for one in exported)
    return _file(lines, f"{source.key}.jsonl", "application/x-ndjson")


def _file(content: bytes, name: str, content_type: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return HttpResponse(content, content_type=content_type, headers=headers)


def _exported(message: Message, value: bytes | None) -> dict[str, Any]:
    return {
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": message.timestamp,
        "key": _plain(message.key),
        "headers": [[name, _plain(data)] for name, data in message.headers],
        "value": _plain(value, as_json=True),
    }


def _plain(data: bytes | None, *, as_json: bool = False) -> Any:
    """Text where it is text, a JSON value where that is asked for and it is one, else base64 in an object."""
    if data is None:
        return None
    try:
        text = data.decode()
        if as_json and data:
            msgspec.json.decode(data)
            return msgspec.Raw(data.strip().replace(b"\r", b" ").replace(b"\n", b" "))
    except (msgspec.DecodeError, RecursionError):
        return text
    except UnicodeDecodeError:
        return {"base64": data}
    return text


@require_GET
def source_consumers(request: HttpRequest, key: str) -> HttpResponse:
    """Who else reads the topic."""
    return _told(request, key, "sources/_consumers.html", "found", consumer_groups)


@require_GET
def source_consumers_count(request: HttpRequest, key: str) -> HttpResponse:
    """How many groups read the topic; nothing where that takes long to find out, or cannot be."""
    source = get_object_or_404(Source, key=key)
    try:
        found = consumer_groups(source, most=GROUPS_AT_ONCE)
    except KafkaProblem:
        return HttpResponse()
    return HttpResponse() if found.left_out else _count(len(found.groups))


@require_GET
def source_dead_letters_count(request: HttpRequest, key: str) -> HttpResponse:
    """How many letters the tab has."""
    source = get_object_or_404(Source, key=key)
    try:
        return _count(recent_dead_letters(source.key).total)
    except KafkaProblem:
        return HttpResponse()


def _count(number: int) -> HttpResponse:
    return HttpResponse(intcomma(number), content_type="text/plain; charset=utf-8")


@require_GET
def source_dead_letters(request: HttpRequest, key: str) -> HttpResponse:
    """The newest refused messages."""
    source = get_object_or_404(Source, key=key)
    group = request.GET.get("reason", "")
    context: dict[str, Any] = {
        "source": source,
        "reason": group,
        "may_change": may_change(signed_in(request), source),
        "queries": source.queries.all(),
    }
    try:
        context["found"] = recent_dead_letters(source.key, group)
    except KafkaProblem as problem:
        context["problem"] = problem.sentence
    return render(request, "sources/_dead_letters.html", context)


@require_GET
def source_dead_letter(request: HttpRequest, key: str, partition: int, offset: int) -> HttpResponse:
    """One refused message: what the letter kept of it."""
    source = get_object_or_404(Source, key=key)
    context: dict[str, Any] = {"source": source, "partition": partition, "offset": offset}
    try:
        letter = find_letter(source.key, partition, offset)
        if letter is None:
            context["problem"] = "This dead letter is no longer among the newest."
        else:
            kept = letter.kept_bytes
            context |= {"letter": letter, "value": printed(_legible(source, kept)), "raw": dumped(kept)}
    except KafkaProblem as problem:
        context["problem"] = problem.sentence
    return render(request, "sources/_dead_letter.html", context)


def _legible(source: Source, kept: bytes | None) -> bytes | None:
    """A letter can be read though its registry does not answer: that may be why there is one."""
    try:
        return legible_values(source, [kept])[0]
    except KafkaProblem:
        return kept


@require_GET
def source_dead_letters_check(request: HttpRequest, key: str) -> HttpResponse:
    """Whether refused messages would be read with the fields that are saved now; nothing is changed."""
    return _told(request, key, "sources/_letter_check.html", "check", check_again)
