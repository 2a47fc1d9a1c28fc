"""Standard deviation: of a sample as SQL's `stddev`, and of a whole population. Shares variance's state."""

import numpy as np

from streaming.aggregates.base import Aggregate
from streaming.aggregates.variance import (
    Moments,
    as_moments,
    as_moments_each,
    population_variance,
    sample_variance,
)

stddev = Aggregate(
    "stddev",
    (Moments(),),
    as_moments,
    lambda values, state: np.sqrt(sample_variance(values, state)),
    lift_column=as_moments_each,
)
stddev_population = Aggregate(
    "stddev_population",
    (Moments(),),
    as_moments,
    lambda values, state: np.sqrt(population_variance(values, state)),
    lift_column=as_moments_each,
)
