"""The oldest n values."""

from typing import NamedTuple

from streaming.aggregates.base import Aggregate
from streaming.aggregates.gathering import Items


class FirstN(NamedTuple):
    """Values, the oldest first."""

    name = "first_n"
    dtype = object
    identity = ()
    commutative = False
    inverse = "none"
    selective = False
    idempotent = False
    running_identity = ()

    n: int = 10

    def combine(self, older, newer):
        return older if len(older) == self.n else (older + newer)[: self.n]


def first_n(n: int = 10) -> Aggregate:
    if n < 1:
        raise ValueError("first_n keeps at least one value.")
    return Aggregate(
        "first_n",
        (FirstN(n),),
        lambda value: ((value,),),
        lambda values, items: items if values else None,
        takes="anything",
        gatherings=(Items(FirstN(n), lambda value: (value,), n),),
    )
