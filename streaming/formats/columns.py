"""From what a scan has found to Arrow columns; doubtful messages are read one by one."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from streaming.expressions import ARROW_TYPES
from streaming.formats.base import Decoded, FormatOptions, Refused
from streaming.formats.scan.texts import SYMBOL, number_texts
from streaming.sources import FieldType


class Unreadable(ValueError):
    """A message that is refused; the text is the reason shown to people."""


Reader = Callable[[bytes], Sequence[Any]]  # a message's needed fields, or Unreadable


class Columns:
    """What a scan fills in: for every field and row a number, or where its text lies."""

    def __init__(self, values: pa.Array, types: dict[str, FieldType]) -> None:
        self.values = values
        self.types = types
        self.data, self.offsets = _buffers(values)
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
        rows, records, refused = self._read_doubtful(read)
        self.lengths[:, self.doubtful] = -1  # a scan may have taken some fields before it gave up
        kept = np.ones(len(self.values), np.bool_)
        kept[[item.row for item in refused]] = False
        columns = {}
        for field, (name, kind) in enumerate(self.types.items()):
            own = [record[field] for record in records]
            if kind == "text":
                columns[name] = self._texts(field, rows, own, kept, options)
            else:
                self._put_numbers(field, rows, own)
                columns[name] = self._numbers(field, kind, kept)
        if not columns:  # a table without columns has no length
            columns[""] = pa.nulls(int(kept.sum()))
        return Decoded(np.flatnonzero(kept), pa.table(columns), refused)

    def _read_doubtful(self, read: Reader) -> tuple[np.ndarray, list[Sequence[Any]], list[Refused]]:
        doubtful = np.flatnonzero(self.doubtful)
        rows, records, refused = [], [], []
        for row, message in zip(doubtful.tolist(), self.values.take(pa.array(doubtful)).to_pylist()):
            try:
                if message is None:
                    raise Unreadable("The message is empty.")
                records.append(read(message))
                rows.append(row)
            except Unreadable as error:
                refused.append(Refused(row, str(error)))
        return np.array(rows, np.int64), records, refused

    def _put_numbers(self, field: int, rows: np.ndarray, values: list[Any]) -> None:
        self.lengths[field, rows] = [-1 if value is None else 0 for value in values]
        self.numbers[field, rows] = [0.0 if value is None else value for value in values]

    def _numbers(self, field: int, kind: FieldType, kept: np.ndarray) -> pa.Array:
        numbers, present = self.numbers[field], self.lengths[field] >= 0
        if not kept.all():
            numbers, present = numbers[kept], present[kept]
        data = np.packbits(numbers != 0, bitorder="little") if kind == "boolean" else numbers
        bits = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
        return pa.Array.from_buffers(ARROW_TYPES[kind], len(numbers), [bits, pa.py_buffer(data)])

    def _texts(
        self, field: int, rows: np.ndarray, values: list[str | None], kept: np.ndarray, options: FormatOptions
    ) -> pa.Array:
        codes, dictionary = self._number(field, rows, values)
        if not kept.all():
            codes = codes[kept]
        absent = codes < 0
        bits = pa.py_buffer(np.packbits(~absent, bitorder="little")) if absent.any() else None
        indices = pa.Array.from_buffers(pa.int32(), len(codes), [bits, pa.py_buffer(codes)])
        encoded = pa.DictionaryArray.from_arrays(indices, dictionary, safe=False)
        return encoded if options.dictionaries else encoded.dictionary_decode()

    def _number(self, field: int, rows: np.ndarray, values: list[str | None]) -> tuple[np.ndarray, pa.Array]:
        """Codes of a column of texts and the distinct ones; `values` are those of `rows`, read one by one."""
        starts, lengths = self.starts[field], self.lengths[field]
        more = pa.array([*self.symbols, *values], pa.string())
        more_data, more_bounds = _buffers(more)
        present = more.is_valid().to_numpy(zero_copy_only=False)
        more_lengths = np.where(present, np.diff(more_bounds), -1).astype(np.int32)
        size = len(starts) + len(self.symbols)
        slots = np.full(1 << (2 * size + 1).bit_length(), -1, np.int32)
        store = np.empty(int(np.maximum(lengths, 0).sum()) + len(more_data), np.uint8)
        bounds = np.zeros(size + 1, np.int32)
        codes = np.empty(len(starts), np.int32)
        more_codes = np.empty(len(more), np.int32)
        count = number_texts(self.data, starts, lengths, slots, codes, store, bounds, 0)
        count = number_texts(
            more_data,
            more_bounds[:-1],
            more_lengths,
            slots,
            more_codes,
            store,
            bounds,
            count,
        )
        if self.symbols:
            symbols = np.flatnonzero(lengths == SYMBOL)
            codes[symbols] = more_codes[starts[symbols]]
        codes[rows] = more_codes[len(self.symbols) :]
        buffers = [None, pa.py_buffer(bounds), pa.py_buffer(store)]
        return codes, pa.Array.from_buffers(pa.string(), count, buffers)


def _buffers(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """All bytes, and where each message begins and ends among them; the bytes are not copied."""
    values = values if values.type == pa.binary() else values.cast(pa.binary())
    _, offsets, data = values.buffers()
    content = np.frombuffer(data or b"", np.uint8)
    content.flags.writeable = False  # always, so that scans are compiled once
    if not len(values):
        return content, np.zeros(1, np.int64)
    bounds = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
    return content, bounds.astype(np.int64)
