"""Kinds of values, as compiled code tells them apart."""

from streaming.decimals import DECIMALS
from streaming.sources import FieldType

TEXT, NUMBER, BOOLEAN, DECIMAL = 0, 1, 2, 3  # one more than DECIMAL for every decimal place

KINDS: dict[FieldType, int] = {
    "text": TEXT,
    "integer": NUMBER,
    "number": NUMBER,
    "boolean": BOOLEAN,
    **{kind: DECIMAL + places for places, kind in enumerate(DECIMALS)},
}
