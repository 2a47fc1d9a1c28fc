"""Mean of the values: shares its sum with that aggregate."""

import numpy as np

from streaming.aggregates.base import Aggregate, where_any
from streaming.aggregates.gathering import Sums
from streaming.aggregates.sum import Sum, as_sum, as_sums

mean = Aggregate(
    "mean",
    (Sum(),),
    as_sum,
    lambda values, state: where_any(values, state[0] / np.maximum(values, 1)),
    lift_column=as_sums,
    gatherings=(Sums(),),
)
