"""Values for every kind of aggregate, and folds of them in any bracketing."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from datasketches import kll_doubles_sketch
from hypothesis import strategies as st

from streaming.aggregates import AGGREGATES
from streaming.aggregates.algebra import Algebra
from streaming.aggregates.base import Aggregate
from streaming.aggregates.collect import collect
from streaming.aggregates.collect_distinct import collect_distinct
from streaming.aggregates.concat import concat
from streaming.aggregates.first_n import first_n
from streaming.aggregates.last_n import last_n
from streaming.aggregates.top_k import top_k

NUMBERS = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e6, 1e6))
VALUES = {
    "numbers": NUMBERS,
    "texts": st.text("abcä", max_size=3),
    "truths": st.booleans(),
    "anything": st.integers(0, 9),
    "pairs": st.tuples(NUMBERS, st.integers(0, 9).map(float)),
}
FEW: dict[str, list[Any]] = {
    "numbers": [2.0, 3.0, 2.0],
    "texts": ["b", "a", "bb"],
    "truths": [True, False, True],
    "anything": [2, 3, 2],
    "pairs": [(2.0, 1.0), (3.0, 2.0), (2.0, 3.0)],
}
# The table's bounds are too wide to be reached by examples.
NARROW = {
    "first_n of 3": first_n(3),
    "last_n of 3": last_n(3),
    "top_k of 3": top_k(3),
    "collect 3": collect(3),
    "collect_distinct 3": collect_distinct(3),
    "concat 5": concat(", ", 5),
}
EVERY = AGGREGATES | NARROW
ROUNDED = {"sum", "product", "log_sum", "moments"}


def values_of(name: str) -> st.SearchStrategy[Any]:
    return st.integers(-(2**80), 2**80) if name == "exact_sum" else VALUES[EVERY[name].takes]


def few_of(name: str) -> list[Any]:
    return [2, 3, 2] if name == "exact_sum" else FEW[EVERY[name].takes]


def parts() -> list[tuple[str, int]]:
    """Every algebra once for each way of lifting values to it."""
    ways: dict[Any, tuple[str, int]] = {}
    for name, aggregate in EVERY.items():
        for part, algebra in enumerate(aggregate.parts):
            ways.setdefault((algebra.name, aggregate.lift), (name, part))
    return list(ways.values())


def number_algebras() -> list[tuple[str, int]]:
    seen: dict[str, tuple[str, int]] = {}
    for name, part in parts():
        algebra = EVERY[name].parts[part]
        if algebra.dtype is not object:
            seen.setdefault(algebra.name, (name, part))
    return list(seen.values())


def fold(algebra: Algebra, states: Sequence[Any]) -> Any:
    """One after the other."""
    folded = algebra.identity
    for state in states:
        folded = algebra.combine(folded, state)
    return folded


def bracketed(algebra: Algebra, states: Sequence[Any], chance: random.Random) -> Any:
    """In order, with brackets at random, and identities here and there."""
    if not states:
        return algebra.identity
    if len(states) == 1:
        return states[0]
    cut = chance.randrange(len(states) + 1)
    if cut in (0, len(states)):
        cut = len(states) // 2
    return algebra.combine(bracketed(algebra, states[:cut], chance), bracketed(algebra, states[cut:], chance))


def states_of(aggregate: Aggregate, values: Sequence[Any], part: int = 0) -> list[Any]:
    return [aggregate.lift(value)[part] for value in values]


def answer(aggregate: Aggregate, values: Sequence[Any], seed: int = 0) -> Any:
    """Lift, combine in some bracketing, lower."""
    chance = random.Random(seed)
    lifted = [aggregate.lift(value) for value in values]
    states = [
        bracketed(algebra, [states[part] for states in lifted], chance)
        for part, algebra in enumerate(aggregate.parts)
    ]
    return aggregate.lower(len(values), *states)


def seen(algebra: Algebra, state: Any) -> Any:
    """A state as what it stands for, where that has several forms."""
    if algebra.name == "product":
        return (np.sign(state[0]), np.log2(abs(state[0] + state[1])) + state[2], state[3])
    if algebra.name == "quantile_sketch" and state is not None:
        sketch = kll_doubles_sketch.deserialize(state)
        return (sketch.n, [sketch.get_quantile(rank / 50, True) for rank in range(51)])
    return state


def same(algebra: Algebra, one: Any, other: Any) -> bool:
    one, other = seen(algebra, one), seen(algebra, other)
    if algebra.name not in ROUNDED:
        return bool(one == other)
    scale = 1e12 if algebra.name == "moments" else 1e7  # of squares, or sums, of values up to 10⁶
    return bool(np.allclose(one, other, rtol=1e-9, atol=scale * 1e-14))
