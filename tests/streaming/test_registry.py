"""Schemas by id from a registry: the documented HTTP protocol, served here."""

import socket
import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from streaming.formats import FORMATS, FormatOptions
from streaming.formats.avro import records
from streaming.inference import infer_objects
from streaming.reach import SourceProblem
from streaming.registry import InvalidAddress, check_address, schemas_of
from tests.avro import known, served, written

SCHEMA = {
    "type": "record",
    "name": "Reading",
    "fields": [
        {"name": "ts", "type": "long"},
        {"name": "room", "type": ["null", "string"]},
        {
            "name": "at",
            "type": {"type": "record", "name": "Place", "fields": [{"name": "x", "type": "double"}]},
        },
        {"name": "raw", "type": "bytes"},
    ],
}
ANSWERS = {
    **known(7, SCHEMA),
    "/schemas/ids/8": (200, {"schema": "syntax = ...", "schemaType": "PROTOBUF"}),
    "/schemas/ids/9": (500, {"error_code": 50001}),
}


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    """The address of a registry that knows one Avro schema."""
    with served(ANSWERS) as address:
        yield address


def message(number: int, **changes: object) -> bytes:
    return written(SCHEMA, {"ts": 1, "room": "r", "at": {"x": 0.5}, "raw": b"\xff", **changes}, number)


def test_messages_are_decoded_by_the_schema_that_they_name(registry: str) -> None:
    values = pa.array([message(7, ts=5), message(1), b"no header"], pa.binary())
    options = FormatOptions(schema_by_id=schemas_of(registry))
    decoded = FORMATS["avro"](values, {"ts": "integer", "at.x": "number"}, options)
    assert decoded.table.to_pylist() == [{"ts": 5, "at.x": 0.5}]
    assert [refused.row for refused in decoded.refused] == [1, 2]
    assert "There is no schema 1." in decoded.refused[0].reason


def test_fields_are_inferred_from_messages_of_a_registry(registry: str) -> None:
    values = [message(7, room=None), message(7), b"", None, message(1)]
    found = infer_objects(records(values, FormatOptions(schema_by_id=schemas_of(registry))), len(values))
    assert found.schema == [("ts", "integer"), ("room", "text"), ("at.x", "number")]
    assert (found.messages, found.readable) == (5, 2)
    assert found.fields[-1].note == "Holds bytes, which queries cannot use."


def test_what_a_registry_cannot_tell_is_said(registry: str) -> None:
    with pytest.raises(LookupError):
        schemas_of(registry)(1)
    with pytest.raises(SourceProblem, match="is PROTOBUF; only Avro can be read"):
        schemas_of(registry)(8)
    with pytest.raises(SourceProblem, match="answered with status 500"):
        schemas_of(registry)(9)
    with pytest.raises(SourceProblem, match="does not answer"):
        schemas_of("http://127.0.0.1:1")(7)


def test_what_does_not_speak_http_is_no_registry() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=lambda: _say(server, b"220 mail ready\r\n"), daemon=True).start()
        with pytest.raises(SourceProblem, match="answers, but not as a schema registry"):
            schemas_of(f"http://127.0.0.1:{server.getsockname()[1]}")(7)


def _say(server: socket.socket, words: bytes) -> None:
    caller, _ = server.accept()
    with caller:
        caller.recv(1 << 16)
        caller.sendall(words)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "registry:8081",
        "file:///etc/passwd",
        "http://",
        "http://[::",
        "http://registry:http",
        "http://my registry",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InvalidAddress, match="write it as http://registry:8081"):
        check_address(address)


def test_a_login_in_the_address_is_refused() -> None:
    with pytest.raises(InvalidAddress, match="leave the user name out"):
        check_address("http://ana:secret@registry:8081")
