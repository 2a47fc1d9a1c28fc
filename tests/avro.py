"""Avro messages, and a schema registry that serves the documented HTTP protocol."""

import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from datetime import time as clock
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from uuid import UUID

import fastavro

Answers = dict[str, tuple[int, Any]]  # status and body, by path


@contextmanager
def served(answers: Answers) -> Iterator[str]:
    """The address of a registry that gives these answers; any other schema is not found."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answers.get(self.path, (404, {"error_code": 40403}))
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def known(number: int, schema: dict[str, Any]) -> Answers:
    """What a registry answers that has this schema under this id."""
    return {f"/schemas/ids/{number}": (200, {"schema": json.dumps(schema)})}


def written(schema: dict[str, Any], record: dict[str, Any], number: int | None = None) -> bytes:
    """A record as Avro; with the id of its schema before it, where there is one."""
    body = io.BytesIO()
    fastavro.schemaless_writer(body, schema, record)
    return (b"" if number is None else b"\0" + number.to_bytes(4, "big")) + body.getvalue()


def _logical(name: str, kind: str, plain: str | dict[str, Any], **more: int) -> dict[str, Any]:
    described = plain if isinstance(plain, dict) else {"type": plain}
    return {"name": name, "type": {**described, "logicalType": kind, **more}}


_DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
LOGICAL = {
    "type": "record",
    "name": "Logical",
    "fields": [
        {"name": "price", "type": _DECIMAL},
        _logical("fee", "decimal", {"type": "fixed", "name": "Fee", "size": 4}, precision=5, scale=1),
        _logical("id", "uuid", "string"),
        _logical("day", "date", "int"),
        _logical("time_ms", "time-millis", "int"),
        _logical("time_us", "time-micros", "long"),
        _logical("ms", "timestamp-millis", "long"),
        _logical("us", "timestamp-micros", "long"),
        _logical("local_ms", "local-timestamp-millis", "long"),
        _logical("wait", "duration", {"type": "fixed", "name": "Wait", "size": 12}),
        {"name": "prices", "type": {"type": "array", "items": _DECIMAL}},
    ],
}
_INSTANT = datetime(2026, 11, 16, 14, 12, 29, 377_000, UTC)
LOGICAL_RECORD = {
    "price": Decimal("12.50"),
    "fee": Decimal("-0.5"),
    "id": UUID("5f3e6f1c-0d5c-4d5e-9a0a-3c6a1f2b4d7e"),
    "day": _INSTANT.date(),
    "time_ms": clock(0, 0, 1),
    "time_us": clock(0, 0, 1),
    "ms": _INSTANT,
    "us": _INSTANT,
    "local_ms": _INSTANT.replace(tzinfo=None),
    "wait": b"\1\0\0\0\2\0\0\0\3\0\0\0",
    "prices": [Decimal("1.25")],
}
