"""Aggregates: what people ask for, in terms of algebras.

An aggregate lifts a value to a state for each of its parts, kernels combine states, and `lower` reads the
answer off. How many values a window holds is known beside every state: no values, no answer. Nulls are not
values and are never lifted. NaN has no place in an order: aggregates that order values pass it over.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from streaming.aggregates.algebra import Algebra, State


@dataclass(frozen=True)
class Aggregate:
    """`lift(value)` gives a state for each part; `lower(values, *states)` the answer, NaN or None for none.

    Where all parts are numbers `lower` takes columns of many groups as well as those of one. Aggregates with
    the same parts and the same `lift` have the same states.
    """

    name: str
    parts: tuple[Algebra, ...]
    lift: Callable[[Any], tuple[State, ...]]
    lower: Callable[..., Any]
    takes: str = "numbers"  # or "texts", "anything", "truths", "pairs": what kind of values it is for
    error: str = ""  # of an approximate one: how far off it may be, in words

    @property
    def exact(self) -> bool:
        return not self.error


def where_any(values: np.ndarray, answer: np.ndarray) -> np.ndarray:
    """The answer of groups with at least one value; no value, no answer."""
    return np.where(values > 0, answer, np.nan)[()]  # [()]: a number, where there is one group only


def where_ordered(values: np.ndarray, answer: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """The same for aggregates that order values: groups of NaNs only have no answer either."""
    return np.where((values > 0) & ordered, answer, np.nan)[()]
