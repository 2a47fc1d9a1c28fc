"""Kinds of values, as compiled code tells them apart."""

from streaming.sources import FieldType

TEXT, NUMBER, BOOLEAN = 0, 1, 2

KINDS: dict[FieldType, int] = {"text": TEXT, "integer": NUMBER, "number": NUMBER, "boolean": BOOLEAN}
