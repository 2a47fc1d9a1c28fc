"""The page that describes the API, made of its OpenAPI description and served without a script."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from dashboard.api.api import described

WORDS = {"string": "text", "array": "list", "integer": "whole number", "boolean": "true or false"}
EXAMPLES: dict[str, dict[str, Any]] = {  # bodies that a person can copy and change
    "add_connection": {"name": "Plant", "bootstrap_servers": "kafka-1:9092"},
    "patch_connection": {"bootstrap_servers": "kafka-1:9092,kafka-2:9092"},
    "add_source": {
        "name": "sensors",
        "connection": "plant",
        "topic": "plant.sensors",
        "fields": [{"name": "ts", "type": "integer"}, {"name": "temp", "type": "number"}],
        "event_time": "ts",
    },
    "patch_source": {"allowed_lateness": "30s"},
    "add_query": {
        "source": "sensors",
        "name": "Hottest",
        "computations": [{"aggregate": "max", "field": "temp"}],
        "windows": "1m, 5m every 10s",
    },
    "preview_new": {"sql": "SELECT max(temp) FROM sensors WINDOW HOPPING (5m, 10s)"},
    "patch_query": {"where": "temp > 20"},
    "preview_change": {"windows": "1m, 5m, 1h every 10s"},
    "start_backtest": {
        "source": "sensors",
        "computations": [{"aggregate": "max", "field": "temp"}],
        "windows": "5m every 10s",
        "since": "now-6h",
    },
    "set_source_access": {"for_all": "none", "people": {"bo": "see"}, "groups": {"Plant": "change"}},
    "set_dashboard_access": {"for_all": "see", "groups": {"Plant": "change"}},
    "patch_account": {"first_name": "Ana"},
    "change_own_password": {"present": "…", "new": "…"},
    "answer_one": {"gives": True},
    "ask_owner": {"kind": "query", "key": "KEY"},
    "invite_person": {"username": "bo", "first_name": "Bo", "role": "viewer", "groups": ["Plant"]},
    "patch_person": {"role": "editor"},
    "add_group": {"name": "Plant", "members": ["ana", "bo"]},
    "patch_group": {"members": ["ana"]},
    "add_alert": {
        "query": "KEY",
        "name": "Too hot",
        "condition": "above",
        "threshold": "80",
        "hold": "5m",
        "margin": "5",
        "emails": "on-call@example.org",
    },
    "preview_alert": {"query": "KEY", "condition": "no_data", "hold": "10m"},
    "patch_alert": {"threshold": "85"},
    "silence_alert": {"duration": "2h", "reason": "maintenance"},
    "acknowledge": {},
    "preview_strategy": {"strategy": "best", "nodes": 2},
    "adopt_strategy": {"strategy": "best", "nodes": 2},
    "verify_query": {"query": "abcd2345", "minutes": 5},
}


@dataclass(frozen=True)
class Line:
    """One thing that can be sent."""

    name: str
    kind: str
    default: str
    note: str


@dataclass(frozen=True)
class Call:
    """One operation of the API."""

    id: str
    method: str
    path: str
    summary: str
    note: str
    lines: tuple[Line, ...]
    curl: str


@require_GET
def page(request: HttpRequest) -> HttpResponse:
    calls: dict[str, list[Call]] = {}
    for tag, call in _calls(described(), request.build_absolute_uri("/").rstrip("/")):
        calls.setdefault(tag, []).append(call)
    return render(request, "api/reference.html", {"groups": calls.items()})


def _calls(described: dict[str, Any], site: str) -> Iterator[tuple[str, Call]]:
    shapes = described["components"]["schemas"]
    for path, operations in described["paths"].items():
        for method, told in operations.items():
            name = told["operationId"]
            yield (
                told["tags"][0],
                Call(
                    id=name.replace("_", "-"),
                    method=method.upper(),
                    path=path,
                    summary=told["summary"],
                    note=told.get("description", ""),
                    lines=(*_parameters(told), *_body(told, shapes)),
                    curl=_curl(method.upper(), site + path, EXAMPLES.get(name)),
                ),
            )


def _parameters(told: dict[str, Any]) -> Iterator[Line]:
    for one in told.get("parameters", ()):
        if one["in"] == "query":
            yield _line(f"?{one['name']}=", one["schema"])


def _body(told: dict[str, Any], shapes: dict[str, Any]) -> Iterator[Line]:
    if "requestBody" in told:
        shape = told["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        for name, schema in shapes[shape]["properties"].items():
            yield _line(name, schema)


def _line(name: str, schema: dict[str, Any]) -> Line:
    default = schema.get("default")
    shown = "" if default in (None, "", []) else json.dumps(default)
    return Line(name, _kind(schema), shown.strip('"'), schema.get("description", ""))


def _kind(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        kinds = [_kind(one) for one in schema["anyOf"] if one.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if schema.get("type") == "array":
        return f"list of {_kind(schema['items'])}s"
    return WORDS.get(schema.get("type", ""), "object")


def _curl(method: str, address: str, body: dict[str, Any] | None) -> str:
    lines = [f"curl {'' if method == 'GET' else f'-X {method} '}{address.replace('{key}', 'KEY')}"]
    lines.append('-H "Authorization: Bearer $MILLRACE_TOKEN"')
    if body is not None:
        lines.append('-H "Content-Type: application/json"')
        lines.append(f"-d '{json.dumps(body, ensure_ascii=False)}'")
    return " \\\n  ".join(lines)
