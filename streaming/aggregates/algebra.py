"""Algebras: how partials of one kind are combined, and what that allows. Kernels know nothing else of them.

A state is a tuple of numbers (of a group in a slice, or in a window), as many as `identity` has, which is the
state of no values. Where numbers do not do `dtype` is object and a state is any Python value, which `combine`
leaves as it is. `combine` is associative. An algebra with an inverse also says how a running state takes
partials in and lets them go again.
"""

from typing import Any, Literal, Protocol

import numpy as np

from streaming.compiled import generic

State = Any  # a tuple of numbers; any Python value where `dtype` is object
Inverse = Literal["exact", "rounded", "none"]


class Algebra(Protocol):
    """Subclasses are named tuples, so that numba sees one type for each."""

    name: str
    dtype: type  # of the numbers in a state; `object` where a state is any Python value
    identity: State
    commutative: bool
    inverse: Inverse
    selective: bool  # the result is one of the operands
    idempotent: bool  # a value combined with itself stays what it is
    running_identity: State  # of the state that takes partials in and lets them go; () without an inverse

    def combine(self, older: State, newer: State) -> State: ...


class Running(Protocol):
    """What an algebra with an inverse has besides."""

    def enter(self, running: State, partial: State) -> State: ...

    def leave(self, running: State, partial: State) -> State: ...

    def settle(self, running: State) -> State: ...

    def intact(self, running: State) -> bool:
        """Whether it can go on; if not (an overflow, a NaN) it is made anew from its slices."""


@generic
def combine(self, older, newer):
    """older ⊕ newer"""


@generic
def enter(self, running, partial):
    """The running state with one more partial."""


@generic
def leave(self, running, partial):
    """The running state without its oldest partial."""


@generic
def settle(self, running):
    """The running state as a partial."""


@generic
def intact(self, running):
    """Whether the running state can go on."""


def lacks(algebra: Algebra, needed: str | None) -> bool:
    """Whether an algebra lacks what a kernel needs."""
    if needed is None:
        return False
    if needed == "invertible":
        return algebra.inverse == "none"
    if needed == "exactly invertible":
        return algebra.inverse != "exact"
    return not getattr(algebra, needed)


def identity_rows(algebra: Algebra, *shape: int) -> np.ndarray:
    """Rows of states that hold no values: (columns, *shape); objects are one column."""
    return _filled(algebra, algebra.identity, shape)


def running_rows(algebra: Algebra, *shape: int) -> np.ndarray:
    """The same for running states."""
    return _filled(algebra, algebra.running_identity, shape)


def _filled(algebra: Algebra, state: State, shape: tuple[int, ...]) -> np.ndarray:
    if algebra.dtype is object:
        rows = np.empty((1, *shape), object)
        rows.fill(state)
        return rows
    return np.stack([np.full(shape, value, algebra.dtype) for value in state])
