"""Decimals: numbers with a fixed number of decimal places, exact from the message to the sum."""

from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import get_args

import pyarrow as pa

from streaming.sources import FieldType

DECIMALS: tuple[FieldType, ...] = tuple(kind for kind in get_args(FieldType) if kind.startswith("decimal"))
DIGITS = 36  # that a decimal holds, before and after its point
_EXACTLY = Context(prec=DIGITS, traps=[Inexact, InvalidOperation])


def decimal_of(places: int) -> FieldType | None:
    """The type of decimals with so many places; None: a double has to do.

    >>> decimal_of(2), decimal_of(19)
    ('decimal(2)', None)
    """
    return DECIMALS[places] if 0 <= places < len(DECIMALS) else None


def places_of(kind: str) -> int | None:
    """How many places decimals of this type have; None where it is another type.

    >>> places_of("decimal(2)"), places_of("number")
    (2, None)
    """
    return int(kind[8:-1]) if kind.startswith("decimal(") else None


def arrow_type(kind: FieldType) -> pa.DataType:
    return pa.decimal128(DIGITS, places_of(kind) or 0)


def units_of(value: Decimal, places: int) -> int:
    """How many units of the last place a fitted value is."""
    return int(value.scaleb(places, _EXACTLY))


def fitted(value: Decimal, places: int) -> Decimal:
    """The value with just so many places; raises ValueError, whose text follows “x is”, if it has more."""
    try:
        return value.quantize(Decimal(1).scaleb(-places), context=_EXACTLY)
    except Inexact as error:
        raise ValueError(f"{value}, which has more than {places} decimal places") from error
    except InvalidOperation as error:
        raise ValueError("a number out of range") from error
