"""What every aggregate is of a list of values, by the standard library."""

import math
import statistics
from fractions import Fraction
from typing import Any

from streaming.aggregates.bounded import Bounded

NAN = math.nan


def continuous(fraction: float) -> Any:
    """percentile_cont: between the two values around that place, by fractions without any rounding."""

    def of(values: list[float]) -> float:
        ordered = sorted(map(Fraction, values))
        place = Fraction(str(fraction)) * (len(ordered) - 1)
        below, above = ordered[math.floor(place)], ordered[math.ceil(place)]
        return float(below + (above - below) * (place - math.floor(place)))

    return of


def geometric(values: list[float]) -> float:
    if min(values) < 0:
        return NAN
    return 0.0 if 0 in values else math.exp(math.fsum(map(math.log, values)) / len(values))


REFERENCES: dict[str, Any] = {
    "count": len,
    "sum": math.fsum,
    "exact_sum": sum,
    "mean": statistics.fmean,
    "min": min,
    "max": max,
    "range": lambda values: max(values) - min(values),
    "product": math.prod,
    "geometric_mean": geometric,
    "sum_of_squares": lambda values: math.fsum(value * value for value in values),
    "variance": lambda values: statistics.variance(values) if len(values) > 1 else NAN,
    "variance_population": statistics.pvariance,
    "stddev": lambda values: statistics.stdev(values) if len(values) > 1 else NAN,
    "stddev_population": statistics.pstdev,
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "first_n": lambda values: tuple(values[:10]),
    "last_n": lambda values: tuple(values[-10:]),
    "argmin": lambda pairs: min(pairs, key=lambda pair: pair[0])[1],
    "argmax": lambda pairs: max(pairs, key=lambda pair: pair[0])[1],
    "min_count": lambda values: values.count(min(values)),
    "max_count": lambda values: values.count(max(values)),
    "top_k": lambda values: tuple(sorted(values, reverse=True)[:10]),
    "text_min": min,
    "text_max": max,
    "concat": lambda values: Bounded(",".join(values), False),
    "any": any,
    "all": all,
    "collect": lambda values: Bounded(tuple(values), False),
    "collect_distinct": lambda values: Bounded(tuple(dict.fromkeys(values)), False),
    "distinct_count": lambda values: len(set(values)),
    "approx_distinct_count": lambda values: len(set(values)),  # so few are told apart exactly
    "percentile": continuous(0.95),
    "p50": continuous(0.50),
    "p95": continuous(0.95),
    "p99": continuous(0.99),
}
