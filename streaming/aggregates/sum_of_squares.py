"""Sum of the values' squares."""

from streaming.aggregates.base import Aggregate, where_any
from streaming.aggregates.gathering import Sums
from streaming.aggregates.sum import Sum

sum_of_squares = Aggregate(
    "sum_of_squares",
    (Sum(),),
    lambda value: ((value * value,),),
    lambda values, state: where_any(values, state[0]),
    lift_column=lambda values, times: ((values * values,),),
    state_names=("squares",),
    gatherings=(Sums(),),
)
