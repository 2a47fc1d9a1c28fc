"""From what a scan has found to Arrow columns; doubtful messages are read one by one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streaming.decimals import DIGITS, fitted, places_of, units_of
from streaming.expressions import ARROW_TYPES
from streaming.formats.base import Decoded, FormatOptions, Refused, Wrong
from streaming.formats.dictionary import Dictionary, byte_buffers
from streaming.formats.scan.texts import SYMBOL
from streaming.sources import FieldType


class Unreadable(ValueError):
    """A message that is refused; the text is the reason shown to people."""


@dataclass(frozen=True, slots=True)
class WrongValue:
    """What a field holds that its type cannot take: it has no value, and the rest of the message counts."""

    reason: str


Reader = Callable[[bytes], Sequence[Any]]  # a message's needed fields (WrongValue among them), or Unreadable


@dataclass(frozen=True)
class _Read:
    """What was read one by one."""

    rows: np.ndarray
    records: list[Sequence[Any]]
    refused: list[Refused]
    wrong: dict[int, list[tuple[int, str]]]  # by field: row and reason

    def values(self, field: int) -> list[Any]:
        return [record[field] for record in self.records]


class Columns:
    """What a scan fills in: for every field and row a number, or where its text lies."""

    def __init__(
        self, values: pa.Array, types: dict[str, FieldType], unescape: Callable[[str], str] | None = None
    ) -> None:
        self.values = values
        self.types = types
        self.unescape = unescape  # of texts with a backslash
        self.data, self.offsets = byte_buffers(values)
        shape = len(types), len(values)
        self.numbers = np.empty(shape)  # truth values as 0 and 1
        self.starts = np.empty(shape, np.int64)
        self.lengths = np.full(shape, -1, np.int32)  # -1: null
        self.doubtful = np.zeros(len(values), np.bool_)
        self.symbols: list[str] = []  # texts that are not in the messages; a scan gives their numbers
        if values.null_count:
            self.doubtful[:] = values.is_null().to_numpy(zero_copy_only=False)

    def finish(self, read: Reader, options: FormatOptions) -> Decoded:
        """Read the doubtful rows, leave out those that are refused, and build the columns."""
        slowly = self._read_doubtful(read)
        self.lengths[:, self.doubtful] = -1  # a scan may have taken some fields before it gave up
        kept = np.ones(len(self.values), np.bool_)
        kept[[item.row for item in slowly.refused]] = False
        columns = {}
        for field, (name, kind) in enumerate(self.types.items()):
            if kind == "text":
                columns[name] = self._texts(field, slowly, kept, options)
            elif (places := places_of(kind)) is not None:
                columns[name] = self._decimals(field, slowly, kept, places)
            else:
                columns[name] = self._numbers(field, slowly, kept, kind)
        if not columns:  # a table without columns has no length
            columns[""] = pa.nulls(int(kept.sum()))
        return Decoded(np.flatnonzero(kept), pa.table(columns), slowly.refused, self._wrong(slowly, kept))

    def _wrong(self, read: _Read, kept: np.ndarray) -> dict[str, Wrong]:
        names = list(self.types)
        return {names[field]: Wrong.of(found).among(kept) for field, found in read.wrong.items()}

    def _read_doubtful(self, read: Reader) -> _Read:
        doubtful = np.flatnonzero(self.doubtful)
        rows, records, refused = [], [], []
        wrong: dict[int, list[tuple[int, str]]] = {}
        decimals = [
            (field, name, places)
            for field, (name, kind) in enumerate(self.types.items())
            if (places := places_of(kind)) is not None
        ]
        for row, message in zip(doubtful.tolist(), self.values.take(pa.array(doubtful)).to_pylist()):
            try:
                if message is None:
                    raise Unreadable("The message is empty.")
                record = read(message)
                record = _with_decimals(record, decimals) if decimals else record
                records.append(_fitting(record, row, wrong) if WrongValue in map(type, record) else record)
                rows.append(row)
            except Unreadable as error:
                refused.append(Refused(row, str(error)))
        return _Read(np.array(rows, np.int64), records, refused, wrong)

    def _numbers(self, field: int, read: _Read, kept: np.ndarray, kind: FieldType) -> pa.Array:
        numbers, lengths = self.numbers[field], self.lengths[field]
        values = read.values(field)
        lengths[read.rows] = [-1 if value is None else 0 for value in values]
        numbers[read.rows] = [0.0 if value is None else value for value in values]
        present = lengths >= 0
        if not kept.all():
            numbers, present = numbers[kept], present[kept]
        data = np.packbits(numbers != 0, bitorder="little") if kind == "boolean" else numbers
        bits = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
        return pa.Array.from_buffers(ARROW_TYPES[kind], len(numbers), [bits, pa.py_buffer(data)])

    def _decimals(self, field: int, read: _Read, kept: np.ndarray, places: int) -> pa.Array:
        """What a scan took fits into 64 bits; of what was read one by one the upper ones may be others."""
        lengths = self.lengths[field]
        low = self.numbers[field].view(np.int64)
        units = np.stack([low, low >> 63], axis=1)
        for row, value in zip(read.rows.tolist(), read.values(field), strict=True):
            lengths[row] = -1 if value is None else 0
            whole = 0 if value is None else units_of(value, places)
            units[row] = np.frombuffer(whole.to_bytes(16, "little", signed=True), np.int64)
        present = lengths >= 0
        if not kept.all():
            units, present = units[kept], present[kept]
        bits = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
        kind = pa.decimal128(DIGITS, places)
        return pa.Array.from_buffers(kind, len(units), [bits, pa.py_buffer(np.ascontiguousarray(units))])

    def _texts(self, field: int, read: _Read, kept: np.ndarray, options: FormatOptions) -> pa.Array:
        starts, lengths = self.starts[field], self.lengths[field]
        dictionary = Dictionary(len(starts) + len(self.symbols))
        codes = dictionary.add(self.data, starts, lengths)
        if self.unescape is not None:
            codes, dictionary = _unescaped(codes, dictionary, self.unescape)
        if self.symbols:
            symbols = np.flatnonzero(lengths == SYMBOL)
            codes[symbols] = dictionary.add_texts(pa.array(self.symbols, pa.string()))[starts[symbols]]
        codes[read.rows] = dictionary.add_texts(pa.array(read.values(field), pa.string()))
        if not kept.all():
            codes = codes[kept]
        absent = codes < 0
        bits = pa.py_buffer(np.packbits(~absent, bitorder="little")) if absent.any() else None
        indices = pa.Array.from_buffers(pa.int32(), len(codes), [bits, pa.py_buffer(codes)])
        encoded = pa.DictionaryArray.from_arrays(indices, dictionary.texts, safe=False)
        return encoded if options.dictionaries else encoded.dictionary_decode()


def _with_decimals(record: Sequence[Any], decimals: Sequence[tuple[int, str, int]]) -> list[Any]:
    """The record with numbers that are to be decimals as such, or wrong where they do not fit."""
    fitting = list(record)
    for field, name, places in decimals:
        value = fitting[field]
        if value is None or isinstance(value, WrongValue):
            continue
        try:
            # A float is taken for the shortest number that it is nearest to: as it was written, mostly.
            fitting[field] = fitted(
                Decimal(repr(value)) if isinstance(value, float) else Decimal(value), places
            )
        except ValueError as error:
            fitting[field] = WrongValue(f"{name} is {error}.")
    return fitting


def _fitting(record: Sequence[Any], row: int, wrong: dict[int, list[tuple[int, str]]]) -> Sequence[Any]:
    """The record without its wrong values, which are noted."""
    for field, value in enumerate(record):
        if isinstance(value, WrongValue):
            wrong.setdefault(field, []).append((row, value.reason))
    return [None if isinstance(value, WrongValue) else value for value in record]


def _unescaped(
    codes: np.ndarray, dictionary: Dictionary, unescape: Callable[[str], str]
) -> tuple[np.ndarray, Dictionary]:
    """Codes and dictionary of what was meant, each distinct text being unescaped once."""
    texts = dictionary.texts
    if not pc.any(pc.match_substring(texts, "\\")).as_py():
        return codes, dictionary
    meant = [unescape(text) if "\\" in text else text for text in texts.to_pylist()]
    other = Dictionary(dictionary.most)
    numbers = other.add_texts(pa.array(meant, pa.string()))
    return np.append(numbers, np.int32(-1))[codes], other
