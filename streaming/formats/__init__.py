"""Message formats. A format is one file with one function; the table below is all there are."""

from streaming.formats.arrow import take_arrow
from streaming.formats.avro import decode_avro
from streaming.formats.base import NO_OPTIONS, Decoded, Decoder, FormatOptions, Refused
from streaming.formats.csv import decode_csv, decode_tsv
from streaming.formats.json import decode_json

__all__ = ["DECODERS", "FORMATS", "NO_OPTIONS", "Decoded", "Decoder", "FormatOptions", "Refused"]

FORMATS: dict[str, Decoder] = {
    "json": decode_json,
    "csv": decode_csv,
    "tsv": decode_tsv,
    "avro": decode_avro,
}
# What a map task can take: messages, and rows of files.
DECODERS: dict[str, Decoder] = {**FORMATS, "arrow": take_arrow}
