"""Percentiles, about: a KLL sketch (Karnin, Lang, Liberty 2016). All percentiles of a field share one."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from datasketches import kll_doubles_sketch

from streaming.aggregates.base import Aggregate
from streaming.aggregates.gathering import Bulk

K = 400  # exact up to so many values; ten kilobytes for any number of them


class QuantileSketch(NamedTuple):
    """A sketch as bytes, or None: bytes can be kept and sent, and merging leaves them as they are.

    Beyond K values a merge drops every other value, odd or even ones at random: laws hold within the error.
    """

    name = "quantile_sketch"
    dtype = object
    identity = None
    commutative = True
    inverse = "none"
    selective = False
    idempotent = False
    running_identity = ()

    def combine(self, older, newer):
        if older is None or newer is None:
            return newer if older is None else older
        sketch = kll_doubles_sketch.deserialize(older)
        sketch.merge(kll_doubles_sketch.deserialize(newer))
        return sketch.serialize()


def _sketch_of(values: Sequence[float]) -> bytes | None:
    known = [value for value in values if value == value]
    if not known:
        return None
    sketch = kll_doubles_sketch(K)
    sketch.update(np.array(known, np.float64))
    return sketch.serialize()


def as_sketch(value: Any) -> tuple[bytes | None, ...]:
    return (_sketch_of([value]),)


def percentile(fraction: float = 0.95) -> Aggregate:
    """As SQL's percentile_cont, interpolated between two values, while the sketch holds all of them.

    Beyond that it is one of the values.
    """
    if not 0 <= fraction <= 1:
        raise ValueError("The fraction of a percentile is from 0 to 1.")

    def lower(values: int, state: bytes | None) -> float | None:
        return None if state is None else _at(kll_doubles_sketch.deserialize(state), fraction)

    return Aggregate(
        "percentile",
        (QuantileSketch(),),
        as_sketch,
        lower,
        gatherings=(Bulk(QuantileSketch(), _sketch_of),),
        error=f"exact up to {K} values; beyond, the rank is off by less than 0.7 % of all values, 99 % sure",
    )


def _at(sketch: kll_doubles_sketch, fraction: float) -> float:
    if sketch.is_estimation_mode():
        return sketch.get_quantile(fraction, True)
    values = sorted(value for value, _ in sketch)
    place = fraction * (len(values) - 1)
    below, above = values[math.floor(place)], values[math.ceil(place)]
    share = place - math.floor(place)
    return below if below == above else below * (1 - share) + above * share
