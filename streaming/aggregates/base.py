"""Aggregates: what people ask for, in terms of algebras.

An aggregate lifts a value to a state for each of its parts, kernels combine states, and `lower` reads the
answer off. How many values a window holds is known beside every state: no values, no answer. Nulls are not
values and are never lifted. NaN has no place in an order: aggregates that order values pass it over.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from streaming.aggregates.algebra import Algebra, State
from streaming.aggregates.gathering import Columns, Gathering, Numbers, Objects


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
    # `lift` for a whole column of numbers and the times of their events: the columns of each part's states.
    lift_column: Callable[[np.ndarray, np.ndarray], tuple[Columns, ...]] | None = None
    # The same for decimals: the upper and lower 64 bits of their units, and how many places they have.
    lift_units: Callable[[np.ndarray, int], tuple[Columns, ...]] | None = None
    state_names: tuple[str, ...] = ()  # of its parts, where another makes other states of the same algebra
    gatherings: tuple[Gathering, ...] = ()  # of its parts, where states are not gathered as they are

    @property
    def exact(self) -> bool:
        return not self.error

    @cached_property
    def states(self) -> tuple["Part", ...]:
        """Its parts as a lane keeps them; those of the same name are the same states."""
        names = self.state_names or tuple(map(_name_of, self.parts))
        gatherings = self.gatherings or tuple(self._gathered_as_they_are(at) for at in range(len(self.parts)))
        return tuple(
            Part(name, algebra, gathering, self, at)
            for at, (name, algebra, gathering) in enumerate(zip(names, self.parts, gatherings, strict=True))
        )

    def _gathered_as_they_are(self, at: int) -> Gathering:
        algebra = self.parts[at]
        if algebra.dtype is object:
            return Objects(algebra, lambda value: self.lift(value)[at])
        return Numbers(algebra)


@dataclass(frozen=True)
class Part:
    """One part of an aggregate's states, which other aggregates may have as well."""

    name: str
    algebra: Algebra
    gathering: Gathering
    aggregate: Aggregate = field(compare=False)  # that says how values are lifted
    at: int = field(compare=False)  # which of the aggregate's parts

    @property
    def takes(self) -> str:
        return self.aggregate.takes


def _name_of(algebra: Algebra) -> str:
    """With its parameters, where it has any."""
    return algebra.name if not algebra else f"{algebra.name}{tuple(algebra)}"


def where_any(values: np.ndarray, answer: np.ndarray) -> np.ndarray:
    """The answer of groups with at least one value; no value, no answer."""
    return np.where(values > 0, answer, np.nan)[()]  # [()]: a number, where there is one group only


def where_ordered(values: np.ndarray, answer: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """The same for aggregates that order values: groups of NaNs only have no answer either."""
    return np.where((values > 0) & ordered, answer, np.nan)[()]
