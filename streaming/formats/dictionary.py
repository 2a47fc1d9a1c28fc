"""The distinct texts of a column and their numbers."""

import numpy as np
import pyarrow as pa

from streaming.formats.scan.texts import number_texts


class Dictionary:
    """Texts in the order in which they were first added; codes are their numbers, -1 for null."""

    def __init__(self, most: int) -> None:
        """`most` is the greatest number of texts that it can hold."""
        self.most = most
        self._slots = np.full(1 << (2 * most + 1).bit_length(), -1, np.int32)
        self._bounds = np.zeros(most + 1, np.int32)
        self._store = np.empty(0, np.uint8)
        self._count = 0

    def add(self, data: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """The codes of texts that lie in `data`; those of negative length are not there."""
        used = int(self._bounds[self._count])
        store = np.empty(used + int(np.maximum(lengths, 0).sum()), np.uint8)
        store[:used] = self._store[:used]
        self._store = store
        codes = np.empty(len(starts), np.int32)
        self._count = number_texts(
            data, starts, lengths, self._slots, codes, store, self._bounds, self._count
        )
        return codes

    def add_texts(self, texts: pa.Array) -> np.ndarray:
        data, bounds = byte_buffers(texts)
        present = texts.is_valid().to_numpy(zero_copy_only=False)
        lengths = np.where(present, np.diff(bounds), -1).astype(np.int32)
        return self.add(data, bounds[:-1], lengths)

    @property
    def texts(self) -> pa.Array:
        buffers = [None, pa.py_buffer(self._bounds), pa.py_buffer(self._store)]
        return pa.Array.from_buffers(pa.string(), self._count, buffers)


def byte_buffers(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """All bytes, and where each value begins and ends among them; the bytes are not copied."""
    values = values if values.type == pa.binary() else values.cast(pa.binary())
    _, offsets, data = values.buffers()
    content = np.frombuffer(data or b"", np.uint8)
    content.flags.writeable = False  # always, so that scans are compiled once
    if not len(values):
        return content, np.zeros(1, np.int64)
    bounds = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
    return content, bounds.astype(np.int64)
