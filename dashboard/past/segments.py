"""Segments: the results of one window over some time, by group, as compact bytes; and how they are thinned.

A thinned line is made of results that were there: of every span the least and the greatest, each at its own
time. So peaks stay however long the range is, and no value is shown that nobody computed.
"""

import zlib
from collections.abc import Iterable

import msgspec
import numpy as np
import numpy.typing as npt

from streaming.results import GroupKey

Ends = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]
Line = tuple[Ends, Values]  # ends ascending, each once; NaN where a window holds no value
Lines = dict[GroupKey, Line]

COMPRESSION = 1  # higher takes several times as long for a few percent


class _Packed(msgspec.Struct, array_like=True):
    groups: list[GroupKey]
    lengths: bytes  # int32 per group
    ends: bytes  # uint32 per result, ms after the segment's start
    values: bytes  # float64 per result, byte planes one after the other: like bytes compress better together


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Packed)


def encode(lines: Lines, start: int) -> bytes:
    ends = np.concatenate([line[0] for line in lines.values()]) - start
    values = np.concatenate([line[1] for line in lines.values()])
    packed = _Packed(
        list(lines),
        np.array([len(line[0]) for line in lines.values()], np.int32).tobytes(),
        ends.astype(np.uint32).tobytes(),
        values.view(np.uint8).reshape(-1, 8).T.tobytes(),
    )
    return zlib.compress(_encoder.encode(packed), COMPRESSION)


def decode(data: bytes, start: int) -> Lines:
    packed = _decoder.decode(zlib.decompress(data))
    ends = np.frombuffer(packed.ends, np.uint32).astype(np.int64) + start
    planes = np.frombuffer(packed.values, np.uint8).reshape(8, -1)
    values = np.ascontiguousarray(planes.T).view(np.float64).ravel()
    stops = np.cumsum(np.frombuffer(packed.lengths, np.int32)).tolist()
    return {
        group: (ends[low:high], values[low:high])
        for group, low, high in zip(packed.groups, [0, *stops], stops, strict=False)
    }


def merged(old: Line, new: Line) -> Line:
    """Both, in order of time; where both have a window end, the new value counts."""
    if not len(old[0]) or not len(new[0]):
        return new if len(new[0]) else old
    ends, values = np.concatenate([old[0], new[0]]), np.concatenate([old[1], new[1]])
    if new[0][0] > old[0][-1]:
        return ends, values
    order = np.argsort(ends, kind="stable")
    ends, values = ends[order], values[order]
    last = np.append(ends[1:] != ends[:-1], True)
    return ends[last], values[last]


def merge_into(lines: Lines, more: Lines) -> None:
    for group, line in more.items():
        lines[group] = merged(lines[group], line) if group in lines else line


def between(line: Line, start: int, until: int) -> Line:
    low, high = np.searchsorted(line[0], [start, until])
    return line[0][low:high], line[1][low:high]


def without(line: Line, start: int, until: int) -> Line:
    """What lies outside of a span."""
    low, high = np.searchsorted(line[0], [start, until])
    return np.delete(line[0], slice(low, high)), np.delete(line[1], slice(low, high))


def thinned(line: Line, step: int) -> Line:
    """Of every span of `step` ms the least and the greatest result; spans without a value have none."""
    known = ~np.isnan(line[1])
    ends, values = line[0][known], line[1][known]
    if not len(ends):
        return ends, values
    spans = ends // step
    order = np.lexsort((values, spans))
    sorted_spans = spans[order]
    begins = np.append(True, sorted_spans[1:] != sorted_spans[:-1])
    stops = np.append(begins[1:], True)
    kept = np.unique(np.concatenate([order[begins], order[stops]]))
    return ends[kept], values[kept]


def greatest(lines: Lines, count: int) -> list[GroupKey]:
    """The groups with the greatest results, greatest first; ties in the order of their names."""
    peaks = {group: _peak(values) for group, (_, values) in lines.items()}
    return sorted(peaks, key=lambda group: (-peaks[group], tuple(map(str, group))))[:count]


def _peak(values: Values) -> float:
    known = values[~np.isnan(values)]
    return float(known.max()) if len(known) else -np.inf


def first_and_last(lines: Iterable[Line]) -> tuple[int, int]:
    """The first and the last window end of lines of which none is empty."""
    ends = [(int(ends[0]), int(ends[-1])) for ends, _ in lines]
    return min(first for first, _ in ends), max(last for _, last in ends)
