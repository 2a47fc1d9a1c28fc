"""The alphabetically last text, by code points as SQL's binary collation has it."""

from typing import NamedTuple

from streaming.aggregates.base import Aggregate


class TextMax(NamedTuple):
    """A text, or None."""

    name = "text_max"
    dtype = object
    identity = None
    commutative = True
    inverse = "none"
    selective = True
    idempotent = True
    running_identity = ()

    def combine(self, older, newer):
        if older is None or newer is None:
            return newer if older is None else older
        return older if older >= newer else newer


text_max = Aggregate(
    "text_max",
    (TextMax(),),
    lambda value: (value,),
    lambda values, text: text if values else None,
    takes="texts",
)
