"""One small protocol for aggregates: which partials a slice keeps, and how a window's answer is read off.

Every slice keeps, per group, `events` (rows) and `values` (rows whose field is not null). Beside them a
family keeps its own column `x`: the sum of the values, their greatest or their least. Aggregates of one
family share partials and kernels.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

Family = Literal["additive", "max", "min"]

IDENTITY: dict[Family, float] = {"additive": 0.0, "max": -np.inf, "min": np.inf}


@dataclass(frozen=True)
class Aggregate:
    """A named aggregate. `lower(events, values, x)` gives each group's answer, NaN where there is none."""

    name: str
    family: Family
    lower: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def where_any(values: np.ndarray, answer: np.ndarray) -> np.ndarray:
    """The answer of groups with at least one value; no value, no answer."""
    return np.where(values > 0, answer, np.nan)
