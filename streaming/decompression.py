"""Decompressed bytes of record batches, up to a bound: a few kilobytes can be made of gigabytes.

What compressed data claim of their size is not believed: nothing is allocated for it before it is checked.
"""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator

import lz4.frame
import snappy
import zstandard

PIECE_BYTES = 1 << 20  # decompressed at once; more is no faster
JAVA_HEADER, JAVA_HEADER_BYTES = b"\x82SNAPPY\x00", 16  # of snappy in blocks, as Java writes it

_zstd = zstandard.ZstdDecompressor()  # making one takes longer than using it


class TooLarge(ValueError):
    """Data of which more than the bound would come."""


def decompressed(codec: int, data: memoryview, most: int) -> bytes:
    """At most `most` bytes; raises TooLarge for more, and what libraries raise for data that are damaged.

    `codec` is the number that Kafka has for it.
    """
    decompress = _CODECS.get(codec)
    if decompress is None:
        raise ValueError("nobody knows how it was compressed")
    found = decompress(data, most)
    if len(found) > most:
        raise TooLarge
    return found


def _gzip(data: memoryview, most: int) -> bytes:
    member = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    found = member.decompress(data, most + 1)
    if len(found) > most or (member.eof and not member.unused_data):
        return found
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as members:  # several of them, or it is cut off
        return members.read(most + 1)


def _snappy(data: memoryview, most: int) -> bytes:
    blocks = list(_snappy_blocks(data))
    if sum(map(_snappy_size, blocks)) > most:
        raise TooLarge
    return b"".join(snappy.decompress(bytes(block)) for block in blocks)


def _snappy_blocks(data: memoryview) -> Iterator[memoryview]:
    if data[: len(JAVA_HEADER)] != JAVA_HEADER:
        yield data
        return
    start = JAVA_HEADER_BYTES
    while start < len(data):
        begin = start + 4
        start = begin + int.from_bytes(data[begin - 4 : begin], "big")
        yield data[begin:start]


def _snappy_size(block: memoryview) -> int:
    """The size that a block claims, which is all that a decompressor allocates for it."""
    size = 0
    for place, byte in enumerate(block[:5]):
        size |= (byte & 127) << 7 * place
        if byte < 128:
            break
    return size


def _lz4(data: memoryview, most: int) -> bytes:
    return _bounded(_lz4_pieces(data), most)


def _lz4_pieces(data: memoryview) -> Iterator[bytes]:
    frame = lz4.frame.LZ4FrameDecompressor()
    yield frame.decompress(data, max_length=PIECE_BYTES)
    while not frame.eof:
        if frame.needs_input:
            raise EOFError("it is cut off")
        yield frame.decompress(b"", max_length=PIECE_BYTES)


def _zstandard(data: memoryview, most: int) -> bytes:
    with _zstd.stream_reader(data, read_across_frames=True) as reader:
        return _bounded(iter(lambda: reader.read(PIECE_BYTES), b""), most)


def _bounded(pieces: Iterator[bytes], most: int) -> bytes:
    found, size = [], 0
    for piece in pieces:
        size += len(piece)
        if size > most:
            raise TooLarge
        found.append(piece)
    return b"".join(found)


_CODECS: dict[int, Callable[[memoryview, int], bytes]] = {1: _gzip, 2: _snappy, 3: _lz4, 4: _zstandard}
