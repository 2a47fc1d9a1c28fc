"""JSON objects, one per message. Only the fields that the plan needs are built; the rest is skipped over.

A compiled scan takes plain messages at once. Whatever is unusual or wrong in any way is left to msgspec, so
that what is accepted, what it means and why a message is refused is msgspec's word alone. A message is
refused for what it is as a whole, whichever fields are needed; a field that does not fit its type only has no
value. A field `a.b` is the key of that name or, where there is none, the key `b` of the object `a`.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from streaming.decimals import DECIMALS
from streaming.formats.base import NO_OPTIONS, Decoded, FormatOptions
from streaming.formats.columns import Columns, Reader, Unreadable, WrongValue
from streaming.formats.paths import Node, tree
from streaming.formats.scan.json import MOST_KEYS, scan_json
from streaming.formats.scan.kinds import KINDS
from streaming.sources import FieldType

# A field that was whole in the sample may carry a fraction later: both numeric types take both.
_PYTHON_TYPES: dict[FieldType, Any] = {
    "text": str | None,
    "integer": float | None,
    "number": float | None,
    "boolean": bool | None,
    **dict.fromkeys(DECIMALS, Decimal | None),  # a text with a number in it will do: so nothing is rounded
}
_WORDS = {
    "str": "text",
    "float": "a number",
    "int": "a number",
    "bool": "true or false",
    "array": "a list",
    "decimal": "a number",
}
_NOT_JSON = "Not readable as JSON"
_OUT_OF_RANGE = re.compile(r"Number out of range - at `\$\.(.*)`")
_NO_NUMBER = re.compile(r"Invalid decimal string - at `\$\.(.*)`")
_MISMATCH = re.compile(r"Expected `(\w+)[^`]*`, got `(\w+)`(?: - at `\$\.?(.*)`)?")


def decode_json(
    values: pa.Array, types: dict[str, FieldType], options: FormatOptions = NO_OPTIONS, /
) -> Decoded:
    """Decode a column of messages into one Arrow column per field of `types`."""
    columns = scan(values, types)
    return columns.finish(reader(tuple(types.items())), options)


def scan(values: pa.Array, types: dict[str, FieldType]) -> Columns:
    """Take what is plain, and mark what is doubtful."""
    columns = Columns(values, types, unescape=_unescape)
    paths, kinds = _paths(tuple(types.items()))
    entries, nodes = len(paths[3]), len(paths[2])
    shape = (*(np.full(MOST_KEYS, -1, np.int64) for _ in range(4)), np.empty(nodes, np.int64))
    seen = np.full((2, entries), -1, np.int64)  # the row in which an entry and a field came last
    scan_json(
        columns.data,
        columns.offsets,
        paths,
        kinds,
        shape,
        seen,
        columns.numbers,
        columns.starts,
        columns.lengths,
        columns.doubtful,
    )
    return columns


@lru_cache(maxsize=64)
def _paths(types: tuple[tuple[str, FieldType], ...]) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """The tree of needed keys as `scan_json` takes it, and the fields' kinds."""
    nodes = [tree([name for name, _ in types])]
    keys: list[bytes] = []
    first, fields, children = [0], [], []
    for node in nodes:  # grows while it is walked
        for key in node.keys:
            keys.append(key.encode())
            fields.append(node.fields.get(key, -1))
            children.append(len(nodes) if key in node.children else -1)
            nodes += [node.children[key]] if key in node.children else []
        first.append(len(keys))
    bounds = np.cumsum([0, *map(len, keys)])
    numbers = (np.array(part, np.int64) for part in (bounds, first, fields, children))
    kinds = np.array([KINDS[kind] for _, kind in types], np.int64)
    return (np.frombuffer(b"".join(keys), np.uint8), *numbers), kinds


@lru_cache(maxsize=64)
def reader(types: tuple[tuple[str, FieldType], ...]) -> Reader:
    """Reads one message with msgspec: at once, or field by field where one of them does not fit."""
    at_once, nothing = _strict_reader(types), _strict_reader(())
    alone = [(name, _strict_reader(((name, kind),))) for name, kind in types]

    def read(message: bytes) -> Sequence[Any]:
        try:
            return at_once(message)
        except Unreadable:
            nothing(message)  # raises if it is no JSON object, whatever is read of it
        return [_value(name, read_one, message) for name, read_one in alone]

    return read


def _value(name: str, read: Reader, message: bytes) -> Any:
    try:
        [value] = read(message)
    except Unreadable as error:
        return WrongValue(str(error).replace(_NOT_JSON, f"{name} is not readable"))
    return value


@lru_cache(maxsize=256)
def _strict_reader(types: tuple[tuple[str, FieldType], ...]) -> Reader:
    """Takes all of these fields or raises Unreadable."""
    kinds = [_PYTHON_TYPES[kind] for _, kind in types]
    if not any("." in name for name, _ in types):
        return _flat_reader(types)
    root = _ObjectReader(tree([name for name, _ in types]), kinds)

    def read(message: bytes) -> list[Any]:
        values: list[Any] = [None] * len(kinds)
        root.read(message, values)
        return values

    return read


def _flat_reader(types: tuple[tuple[str, FieldType], ...]) -> Reader:
    attributes = [(f"f{position}", _PYTHON_TYPES[kind], None) for position, (_, kind) in enumerate(types)]
    rename = {f"f{position}": name for position, (name, _) in enumerate(types)}
    struct = msgspec.defstruct("Message", attributes, rename=rename, gc=False)
    decoder = msgspec.json.Decoder(struct)
    return lambda message: msgspec.structs.astuple(_decode(decoder, message, ""))


def _unescape(text: str) -> str:
    return msgspec.json.decode(f'"{text}"'.encode(), type=str)


class _ObjectReader:
    """Reads the needed keys of an object; attribute names are ours, so any JSON key will do.

    An object on the way to a field is looked into only after the whole message has proved to be JSON;
    anything else in its place means that the field is missing.
    """

    def __init__(self, node: Node, kinds: list[Any], path: str = "") -> None:
        self.path = path
        self.fields = [
            (f"f{key}", node.fields[name]) for key, name in enumerate(node.keys) if name in node.fields
        ]
        self.children = [
            (f"f{key}", _ObjectReader(node.children[name], kinds, f"{path}.{name}"))
            for key, name in enumerate(node.keys)
            if name in node.children
        ]
        self.both = {
            f"f{key}": (msgspec.json.Decoder(kinds[node.fields[name]]), f"{path}.{name}")
            for key, name in enumerate(node.keys)
            if name in node.children and name in node.fields
        }
        attributes = [
            (f"f{key}", msgspec.Raw if name in node.children else kinds[node.fields[name]], msgspec.UNSET)
            for key, name in enumerate(node.keys)
        ]
        rename = {f"f{key}": name for key, name in enumerate(node.keys)}
        struct = msgspec.defstruct("Message", attributes, rename=rename, gc=False)
        self.decoder = msgspec.json.Decoder(struct)

    def read(self, message: bytes | msgspec.Raw, values: list[Any]) -> None:
        """Put the fields in their places; what this object has itself wins over what its objects have."""
        item = _decode(self.decoder, message, self.path)
        for attribute, child in self.children:
            raw = getattr(item, attribute)
            if raw is not msgspec.UNSET and bytes(raw).startswith(b"{"):
                child.read(raw, values)
        for attribute, position in self.fields:
            value = getattr(item, attribute)
            if value is not msgspec.UNSET:
                if attribute in self.both:
                    decoder, path = self.both[attribute]
                    value = _decode(decoder, value, path)
                values[position] = value


def _decode(decoder: msgspec.json.Decoder[Any], message: bytes | msgspec.Raw, path: str) -> Any:
    try:
        return decoder.decode(message)
    except msgspec.DecodeError as error:
        raise Unreadable(_reason(_placed(str(error), path))) from error
    except UnicodeDecodeError as error:
        raise Unreadable(_reason(str(error))) from error
    except RecursionError:
        raise Unreadable(f"{_NOT_JSON}: it is nested too deeply.") from None


def _placed(error: str, path: str) -> str:
    """msgspec's sentence about a part of a message, with the part's own place in the message."""
    if not path:
        return error
    sentence, _, inner = error.partition(" - at `$")
    return f"{sentence} - at `${path}{inner or '`'}"


def _reason(error: str) -> str:
    if out_of_range := _OUT_OF_RANGE.fullmatch(error):
        return f"{out_of_range[1]} is a number out of range."
    if no_number := _NO_NUMBER.fullmatch(error):
        return f"{no_number[1]} is text, not a number."
    mismatch = _MISMATCH.fullmatch(error)
    if mismatch is None:
        return f"{_NOT_JSON}: {error.replace('`', '')}."
    expected, got, name = mismatch.groups()
    expected, got = _WORDS.get(expected, f"an {expected}"), _WORDS.get(got, f"an {got}")
    return f"{name or 'The message'} is {got}, not {expected}."
