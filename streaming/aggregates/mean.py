"""Mean of the values: shares sum and count with those two."""

import numpy as np

from streaming.aggregates.base import Aggregate, where_any

mean = Aggregate("mean", "additive", lambda events, values, x: where_any(values, x / np.maximum(values, 1)))
