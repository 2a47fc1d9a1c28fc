"""Message formats. A format is one file with one function; the table below is all there are."""

from streaming.formats.base import NO_OPTIONS, Decoded, Decoder, FormatOptions, Refused
from streaming.formats.json import decode_json

__all__ = ["FORMATS", "NO_OPTIONS", "Decoded", "Decoder", "FormatOptions", "Refused"]

FORMATS: dict[str, Decoder] = {
    "json": decode_json,
}
