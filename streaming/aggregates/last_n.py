"""The newest n values."""

from typing import NamedTuple

from streaming.aggregates.base import Aggregate
from streaming.aggregates.gathering import Items


class LastN(NamedTuple):
    """Values, the oldest first."""

    name = "last_n"
    dtype = object
    identity = ()
    commutative = False
    inverse = "none"
    selective = False
    idempotent = False
    running_identity = ()

    n: int = 10

    def combine(self, older, newer):
        return newer if len(newer) == self.n else (older + newer)[-self.n :]


def last_n(n: int = 10) -> Aggregate:
    if n < 1:
        raise ValueError("last_n keeps at least one value.")
    return Aggregate(
        "last_n",
        (LastN(n),),
        lambda value: ((value,),),
        lambda values, items: items if values else None,
        takes="anything",
        gatherings=(Items(LastN(n), lambda value: (value,), n, newest=True),),
    )
