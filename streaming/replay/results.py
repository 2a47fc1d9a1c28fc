"""Final results as JSON lines: in the order of the spec's queries, then time, then group.

Written column by column, since there may be many times more results than events.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from optimizer.queries import AnyQuery, AnyWindowSpec, CountSpec
from streaming.accounting import instant
from streaming.results import GroupKey, ResultBlock
from streaming.spec import Spec

ROWS_AT_ONCE = 200_000


def write_results(out: Path, spec: Spec, blocks: Sequence[ResultBlock]) -> int:
    """Write a file that is whole or not there; returns how many rows it has."""
    part = out.with_name(f".{out.name}.part")
    try:
        with part.open("wb") as file:
            written = _write(file, spec, blocks)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
    return written


def _write(file: BinaryIO, spec: Spec, blocks: Sequence[ResultBlock]) -> int:
    by_query: dict[str, list[ResultBlock]] = {}
    for block in blocks:
        by_query.setdefault(block.query, []).append(block)
    written = 0
    for item in spec.queries:
        for computation, window, query in item.members():
            found = sorted(by_query.get(query.id, []), key=lambda block: (block.end, block.start))
            told = {"computes": computation.written} if len(item.computations) > 1 else {}
            rows = _Rows(query, {**told, **_labels(window)}, found)
            for chunk in _chunks(found):
                lines = rows.lines(chunk)
                file.write(_bytes_of(lines))
                written += len(lines)
    return written


def _chunks(blocks: Sequence[ResultBlock]) -> Iterator[list[ResultBlock]]:
    chunk: list[ResultBlock] = []
    rows = 0
    for block in blocks:
        chunk.append(block)
        rows += block.size
        if rows >= ROWS_AT_ONCE:
            yield chunk
            chunk, rows = [], 0
    if chunk:
        yield chunk


@dataclass(frozen=True)
class _Order:
    """The groups of a block in the order of the file: which they are, and where the block has them."""

    numbers: np.ndarray
    places: np.ndarray


class _Rows:
    """The rows of one computation over one window; `labels` tell which."""

    def __init__(self, query: AnyQuery, labels: dict[str, Any], blocks: Sequence[ResultBlock]) -> None:
        keys: set[GroupKey] = set()
        for block in _of_other_groups(blocks):
            keys.update(block.groups)
        ordered = sorted(keys, key=lambda key: [str(part) for part in key])
        self._numbers = {key: number for number, key in enumerate(ordered)}
        groups = [_json(dict(zip(query.group_by, key, strict=True))) for key in ordered]
        self._groups = pa.array(groups, pa.string())
        head = _json({"query": query.name, **labels})
        self._head = pa.scalar(f'{head[:-1]},"group":')

    def lines(self, blocks: Sequence[ResultBlock]) -> pa.Array:
        orders = self._orders(blocks)
        sizes = [block.size for block in blocks]
        firsts = np.cumsum([0, *sizes[:-1]])
        places = pa.array(np.concatenate([o.places + first for o, first in zip(orders, firsts, strict=True)]))
        numbers = pa.array(np.concatenate([order.numbers for order in orders]))
        counts = pa.array(np.concatenate([block.event_counts() for block in blocks]))
        return pc.binary_join_element_wise(
            self._head,
            self._groups.take(numbers),
            _spans(blocks, sizes).take(places),
            _values(blocks).take(places),
            pa.scalar(',"count":'),
            counts.take(places).cast(pa.string()),
            pa.scalar("}\n"),
            "",
        )

    def _orders(self, blocks: Sequence[ResultBlock]) -> list[_Order]:
        known: dict[int, _Order] = {}
        for block in _of_other_groups(blocks):
            numbers = np.array([self._numbers[key] for key in block.groups], np.int64)
            places = np.argsort(numbers, kind="stable")  # a group may have several windows that end at once
            known[id(block)] = _Order(numbers[places], places)
        orders: list[_Order] = []
        for block in blocks:
            orders.append(known[id(block)] if id(block) in known else orders[-1])
        return orders


def _of_other_groups(blocks: Sequence[ResultBlock]) -> Iterator[ResultBlock]:
    """The blocks whose groups are not those of the block before: mostly they are, in the same order."""
    keys: msgspec.Raw | None = None
    for block in blocks:
        if block.keys is not keys and block.keys != keys:
            keys = block.keys
            yield block


_INFINITE = {np.inf: '"Infinity"', -np.inf: '"-Infinity"'}


def _values(blocks: Sequence[ResultBlock]) -> pa.Array:
    """As JSON; null where a window has no value, and infinities as texts: JSON has no number for them."""
    if any(block.others is not None for block in blocks):
        return pa.array([_json(value) for block in blocks for _, value, _ in block.rows()], pa.string())
    values = np.concatenate([np.frombuffer(block.values) for block in blocks])
    texts = pa.array(values).cast(pa.string())
    found = pc.if_else(pa.array(np.isnan(values)), pa.scalar("null"), texts)
    for infinite, text in _INFINITE.items():
        found = pc.if_else(pa.array(values == infinite), pa.scalar(text), found)
    return found


def _labels(window: AnyWindowSpec) -> dict[str, Any]:
    """The window as it was written; “count” is what every result has."""
    if isinstance(window, CountSpec):
        return {"last": window.count, "every": window.every}
    return dict(window.to_json())


def _spans(blocks: Sequence[ResultBlock], sizes: Sequence[int]) -> pa.Array:
    """When each row's window starts and ends."""
    if all(block.starts is None for block in blocks):
        texts = pa.array([_span(block.start, block.end) for block in blocks], pa.string())
        return texts.take(pa.array(np.repeat(np.arange(len(blocks)), sizes)))
    return pa.array(
        [_span(start, block.end) for block in blocks for start in block.row_starts()], pa.string()
    )


def _span(start: int, end: int) -> str:
    return f',"start":"{_instant(start)}","end":"{_instant(end)}","value":'


def _instant(milliseconds: int) -> str:
    return instant(milliseconds).replace(".000Z", "Z")


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _bytes_of(texts: pa.Array) -> memoryview:
    """All texts end to end, as they lie in memory."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)
    first, last = bounds[texts.offset], bounds[texts.offset + len(texts)]
    return memoryview(data)[first:last]
