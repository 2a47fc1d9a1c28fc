"""Whether all truths are true. Trues are counted: a count can let them go again exactly."""

import numpy as np

from streaming.aggregates.base import Aggregate
from streaming.aggregates.count import Count


def _lower(values, trues):
    return np.where(np.asarray(values) > 0, trues[0] == values, None)[()]


all_true = Aggregate(
    "all",
    (Count(),),
    lambda value: ((1.0 if value else 0.0,),),
    _lower,
    takes="truths",
    lift_column=lambda values, times: (((values != 0) * 1.0,),),
    state_names=("trues",),
)
