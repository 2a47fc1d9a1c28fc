"""Mean of the values: shares its sum with that aggregate."""

import numpy as np

from streaming.aggregates.base import Aggregate, where_any
from streaming.aggregates.sum import Sum, as_sum

mean = Aggregate(
    "mean",
    (Sum(),),
    as_sum,
    lambda values, state: where_any(values, state[0] / np.maximum(values, 1)),
)
