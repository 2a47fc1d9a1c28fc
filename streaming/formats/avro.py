"""Avro records, one per message: with the source's schema, or each with the schema whose id it names.

A schema becomes a small program that a compiled scan runs over plain messages; fastavro reads whatever is
unusual. Times and dates are numbers as they were written, decimals are numbers, enums are texts. A field
`a.b` is the field `b` of the record `a`.
"""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from itertools import count
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
from fastavro.schema import SchemaParseException, UnknownType

from streaming.decimals import DECIMALS, places_of
from streaming.formats.base import NO_OPTIONS, Decoded, FormatOptions
from streaming.formats.columns import Columns, Reader, Unreadable, WrongValue
from streaming.formats.paths import Node, tree
from streaming.formats.scan import avro as act
from streaming.sources import FieldType

MOST_INSTRUCTIONS = 10_000  # a type that is used in many places is repeated in each
_LARGEST = 10**18  # decimals of up to 18 digits fit into 64 bits

Types = tuple[tuple[str, FieldType], ...]
Schema = Any  # JSON

_PLAIN = {"int": act.LONG, "long": act.LONG, "float": act.FLOAT, "double": act.DOUBLE}
_SKIPS = {
    **_PLAIN,
    "boolean": act.BOOLEAN,
    "string": act.STRING,
    "bytes": act.BYTES,
    "fixed": act.FIXED,
    "enum": act.ENUM,
}
_TAKES: dict[FieldType, dict[str, int]] = {
    "text": {"string": act.STRING, "enum": act.ENUM},
    "integer": _PLAIN,
    "number": _PLAIN,
    "boolean": {"boolean": act.BOOLEAN},
    **{kind: {} for kind in DECIMALS},  # but for Avro's own: numbers of other types are read one by one
}
_WORDS = {"text": "text", "integer": "a number", "number": "a number", "boolean": "true or false"}
_WORDS |= dict.fromkeys(DECIMALS, "a number")


def decode_avro(
    values: pa.Array, types: dict[str, FieldType], options: FormatOptions = NO_OPTIONS, /
) -> Decoded:
    """Decode Avro's binary encoding, with a registry's header if the options have one."""
    fields = tuple(types.items())
    columns = scan(values, types, options)
    if options.schema_by_id is None:
        return columns.finish(reader(options.avro_schema, fields), options)
    return columns.finish(registry_reader(options.schema_by_id, fields), options)


def scan(values: pa.Array, types: dict[str, FieldType], options: FormatOptions) -> Columns:
    """Take what is plain, and mark what is doubtful."""
    columns = Columns(values, types)
    fields = tuple(types.items())
    if options.schema_by_id is None:
        _run(columns, np.arange(len(values)), 0, options.avro_schema, fields)
        return columns
    ids = np.empty(len(values), np.int64)
    act.schema_ids(columns.data, columns.offsets, ids)
    columns.doubtful |= ids < 0
    for number in np.unique(ids[ids >= 0]).tolist():
        rows = np.flatnonzero(ids == number)
        try:
            schema = _schema_text(options.schema_by_id, number)
        except Unreadable:
            columns.doubtful[rows] = True
        else:
            _run(columns, rows, act.HEADER, schema, fields)
    return columns


def _run(columns: Columns, rows: np.ndarray, header: int, schema: str, fields: Types) -> None:
    try:
        program = _program(schema, fields)
    except Unreadable:  # as will be said of every message
        columns.doubtful[rows] = True
        return
    act.scan_avro(
        columns.data,
        columns.offsets,
        rows,
        header,
        program.instructions,
        program.jumps,
        np.zeros(act.MOST_DEPTH, np.int64),
        len(columns.symbols),
        columns.numbers,
        columns.starts,
        columns.lengths,
        columns.doubtful,
    )
    columns.symbols += program.symbols


def _schema_text(by_id: Callable[[int], str], number: int) -> str:
    try:
        return by_id(number)
    except LookupError as error:
        raise Unreadable(f"There is no schema {number}.") from error


@dataclass(frozen=True)
class _Program:
    """A schema as `scan_avro` takes it."""

    instructions: np.ndarray
    jumps: np.ndarray
    symbols: list[str]


@lru_cache(maxsize=64)
def _program(schema: str, types: Types) -> _Program:
    """The program that takes these fields."""
    parsed, named = _parsed(schema)
    compiler = _Compiler(named, [kind for _, kind in types])
    compiler.record(parsed, tree([name for name, _ in types]))
    instructions = np.array(compiler.instructions, np.int64).reshape(-1, 5)
    return _Program(instructions, np.array(compiler.jumps, np.int64), compiler.symbols)


@dataclass
class _Compiler:
    named: dict[str, Schema]
    kinds: list[FieldType]
    instructions: list[list[int]] = field(default_factory=list)
    jumps: list[int] = field(default_factory=list)
    symbols: list[str] = field(default_factory=list)
    within: list[str] = field(default_factory=list)  # names of records

    def record(self, schema: Schema, needed: Node) -> None:
        if schema["name"] in self.within:
            # fastavro has no bound for the depth of a message: the process would end.
            raise Unreadable(f"In the Avro schema, {schema['name']} holds itself, which cannot be read.")
        self.within.append(schema["name"])
        for item in schema["fields"]:
            name = item["name"]
            self.value(item["type"], needed.children.get(name, Node()), needed.fields.get(name, -1))
        self.within.pop()

    def value(self, schema: Schema, needed: Node, place: int) -> None:
        """Code that reads a value into the field at `place`, or past it if that is -1."""
        if isinstance(schema, str) and schema in self.named:
            schema = self.named[schema]
        kind = schema["type"] if isinstance(schema, dict) else schema
        if isinstance(schema, list):
            self.union(schema, needed, place)
        elif kind in ("record", "error") and place < 0:
            self.record(schema, needed)
        elif kind == "array" and place < 0:
            self.array(schema["items"])
        elif isinstance(schema, dict) and schema.get("logicalType") == "decimal" and place >= 0:
            self.decimal(schema, place)
        elif kind != "null":
            self.scalar(schema, kind, place)

    def add(self, what: int, one: int = 0, two: int = 0, place: int = -1) -> list[int]:
        """One more instruction, for a value that is always there."""
        if len(self.instructions) == MOST_INSTRUCTIONS:
            raise Unreadable("The Avro schema has too many fields.")
        self.instructions.append([what, one, two, place, act.ALWAYS])
        return self.instructions[-1]

    def union(self, branches: list[Schema], needed: Node, place: int) -> None:
        if len(branches) == 2 and "null" in branches and not self.holds_others(branches):
            absent = branches.index("null")
            self.value(branches[1 - absent], needed, place)
            self.instructions[-1][-1] = absent
            return
        start = len(self.jumps)
        self.jumps += [0] * len(branches)
        self.add(act.UNION, start, len(branches))
        ends = []
        for number, branch in enumerate(branches):
            self.jumps[start + number] = len(self.instructions)
            self.value(branch, needed, place)
            ends.append(self.add(act.JUMP))
        for end in ends:
            end[1] = len(self.instructions)

    def holds_others(self, branches: list[Schema]) -> bool:
        """Whether a branch besides null takes more than one instruction to read, or none."""
        schemas = [
            self.named.get(branch, branch) if isinstance(branch, str) else branch for branch in branches
        ]
        kinds = [schema["type"] if isinstance(schema, dict) else schema for schema in schemas]
        return not set(kinds) <= {"null", *_SKIPS} or kinds == ["null", "null"]

    def array(self, items: Schema) -> None:
        self.add(act.REPEAT)
        again = len(self.instructions)
        following = self.add(act.NEXT)
        self.value(items, Node(), -1)
        if all(code == act.FIXED and size == 0 for code, size, *_ in self.instructions[again + 1 :]):
            # A few bytes could stand for any number of items, and fill the memory.
            raise Unreadable("In the Avro schema, the items of a list are empty, which cannot be read.")
        self.add(act.JUMP, again)
        following[1] = len(self.instructions)

    def decimal(self, schema: Schema, place: int) -> None:
        places = places_of(self.kinds[place])
        if places is None and self.kinds[place] not in ("integer", "number"):
            self.add(act.DOUBT)
            return
        if places is not None:
            self.units(schema, place, places)
            return
        start = len(self.jumps)
        self.jumps += [schema.get("scale", 0), min(10 ** schema["precision"], _LARGEST)]
        self.add(act.DECIMAL, start, schema["size"] if schema["type"] == "fixed" else -1, place)

    def units(self, schema: Schema, place: int, places: int) -> None:
        """A decimal into a field of so many places."""
        missing, precision = places - schema.get("scale", 0), schema["precision"]
        if missing < 0:
            self.add(act.DOUBT)
            return
        start = len(self.jumps)
        # One that has more digits, with the missing places, is read by itself: 63 bits may not hold it.
        self.jumps += [10**missing, min(10**precision, _LARGEST // 10**missing)]
        self.add(act.UNITS, start, schema["size"] if schema["type"] == "fixed" else -1, place)

    def scalar(self, schema: Schema, kind: str, place: int) -> None:
        code = (_SKIPS if place < 0 else _TAKES[self.kinds[place]]).get(kind)
        if code is None:
            self.add(act.DOUBT)
        elif code == act.ENUM:
            self.add(code, len(self.symbols), len(schema["symbols"]), place)
            self.symbols += schema["symbols"]
        else:
            self.add(code, schema["size"] if code == act.FIXED else 0, 0, place)


@lru_cache(maxsize=64)
def _parsed(schema: str) -> tuple[Schema, dict[str, Schema]]:
    """fastavro's reading of a schema, and its named types."""
    named: dict[str, Schema] = {}
    try:
        parsed = fastavro.parse_schema(_plain(json.loads(schema), count()), named)
    except (ValueError, TypeError, KeyError, SchemaParseException, UnknownType) as error:
        raise Unreadable("The Avro schema of the source cannot be read.") from error
    if not isinstance(parsed, dict) or parsed["type"] not in ("record", "error"):
        raise Unreadable("The Avro schema of the source is not a record.")
    _Compiler(named, []).record(parsed, Node())  # raises if it cannot be read
    return parsed, named


def _plain(schema: Schema, numbers: Iterator[int]) -> Schema:
    """The schema without what fastavro would make of logical types, and with maps as the lists that they are.

    A map is written as a list of entries. Read as a list it cannot be taken for a record.
    """
    if isinstance(schema, list):
        return [_plain(branch, numbers) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    if not isinstance(schema["type"], str):
        return _plain(schema["type"], numbers)
    _check(schema)
    plain = {key: schema[key] for key in ("type", "name", "namespace", "symbols", "size") if key in schema}
    if _is_decimal(schema):
        plain |= {key: schema[key] for key in ("logicalType", "precision", "scale") if key in schema}
    if schema["type"] == "map":
        value = {"name": "value", "type": _plain(schema["values"], numbers)}
        name = f"__entry_{next(numbers)}"
        entry = {"type": "record", "name": name, "fields": [{"name": "key", "type": "string"}, value]}
        return {"type": "array", "items": entry}
    if schema["type"] == "array":
        plain["items"] = _plain(schema["items"], numbers)
    elif "fields" in schema:
        plain["fields"] = [
            {"name": item["name"], "type": _plain(item["type"], numbers)} for item in schema["fields"]
        ]
    return plain


def _check(schema: Schema) -> None:
    """What fastavro takes on trust, and the scan too."""
    size, symbols = schema.get("size", 0), schema.get("symbols", [])
    if type(size) is not int or size < 0 or not all(isinstance(symbol, str) for symbol in symbols):
        raise ValueError


def _is_decimal(schema: Schema) -> bool:
    """Whether the bytes are a number; a decimal that is not fully described is just bytes, as Avro has it."""
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    return (
        schema.get("logicalType") == "decimal"
        and schema["type"] in ("bytes", "fixed")
        and type(precision) is int
        and type(scale) is int
        and 0 <= scale <= precision
        and precision > 0
    )


@lru_cache(maxsize=64)
def reader(schema: str, types: Types) -> Reader:
    """Reads one message with fastavro."""

    def read(message: bytes) -> list[Any]:
        record = _record(message, _parsed(schema)[0])
        return [_convert(name, kind, _follow(record, name)) for name, kind in types]

    return read


def registry_reader(by_id: Callable[[int], str], types: Types) -> Reader:
    def read(message: bytes) -> Any:
        if len(message) < act.HEADER or message[0] != 0:
            raise Unreadable("The message does not begin with a zero and the id of a schema.")
        schema = _schema_text(by_id, int.from_bytes(message[1 : act.HEADER], "big"))
        return reader(schema, types)(message[act.HEADER :])

    return read


def records(values: Sequence[bytes | None], options: FormatOptions) -> list[dict[str, Any] | None]:
    """Messages whole, one by one, for people to look at; None for those that cannot be read."""
    return [_whole(value or b"", options) for value in values]


def _whole(message: bytes, options: FormatOptions) -> dict[str, Any] | None:
    try:
        schema = options.avro_schema
        if options.schema_by_id is not None:
            if len(message) < act.HEADER or message[0] != 0:
                return None
            schema = _schema_text(options.schema_by_id, int.from_bytes(message[1 : act.HEADER], "big"))
            message = message[act.HEADER :]
        return _record(message, _parsed(schema)[0])
    except Unreadable:
        return None


def check_schema(schema: str) -> None:
    """Raise Unreadable if it is no schema of a record."""
    _parsed(schema)


def _record(message: bytes, schema: Schema) -> dict[str, Any]:
    stream = io.BytesIO(message)
    try:
        record = fastavro.schemaless_reader(stream, schema, None)
    except UnicodeDecodeError as error:
        raise Unreadable(f"Not readable as Avro: {error}.") from error
    except Exception as error:  # damaged bytes may lead fastavro anywhere
        raise Unreadable("Not readable as Avro: the bytes do not fit the schema.") from error
    rest = len(message) - stream.tell()
    if rest:
        raise Unreadable(f"Not readable as Avro: {rest} more bytes than the schema has.")
    return record  # type: ignore[return-value]


def _follow(record: dict[str, Any], name: str) -> Any:
    """The value at a path; anything but a record on the way means that it is missing."""
    value: Any = record
    for key in name.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _convert(name: str, kind: FieldType, value: Any) -> Any:
    word = _word(value)
    if word not in ("null", _WORDS[kind]):
        return WrongValue(f"{name} is {word}, not {_WORDS[kind]}.")
    return float(value) if word == "a number" and kind not in DECIMALS else value


def _word(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float() | Decimal():
            return "a number"
        case str():
            return "text"
        case bytes():
            return "bytes"
        case list():
            return "a list"
        case _:
            return "an object"
