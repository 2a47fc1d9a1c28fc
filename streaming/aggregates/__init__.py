"""Aggregates. One file each; the table below is all there are."""

from collections.abc import Callable
from functools import cache

from optimizer.aggregates import given, plain
from streaming.aggregates.all import all_true
from streaming.aggregates.any import any_true
from streaming.aggregates.approx_distinct_count import approx_distinct_count
from streaming.aggregates.argmax import argmax
from streaming.aggregates.argmin import argmin
from streaming.aggregates.base import Aggregate
from streaming.aggregates.collect import collect
from streaming.aggregates.collect_distinct import collect_distinct
from streaming.aggregates.concat import concat
from streaming.aggregates.count import count
from streaming.aggregates.distinct_count import distinct_count
from streaming.aggregates.exact_sum import PLACES_OF_FLOATS, exact_sum
from streaming.aggregates.first import first
from streaming.aggregates.first_n import first_n
from streaming.aggregates.geometric_mean import geometric_mean
from streaming.aggregates.last import last
from streaming.aggregates.last_n import last_n
from streaming.aggregates.max import maximum
from streaming.aggregates.max_count import max_count
from streaming.aggregates.mean import mean
from streaming.aggregates.min import minimum
from streaming.aggregates.min_count import min_count
from streaming.aggregates.percentile import percentile
from streaming.aggregates.product import product
from streaming.aggregates.range import spread
from streaming.aggregates.stddev import stddev, stddev_population
from streaming.aggregates.sum import total
from streaming.aggregates.sum_of_squares import sum_of_squares
from streaming.aggregates.text_max import text_max
from streaming.aggregates.text_min import text_min
from streaming.aggregates.top_k import top_k
from streaming.aggregates.variance import variance, variance_population


class _Table(dict[str, Aggregate]):
    """By name; what is given something, as in percentile(0.99), is made when it is asked for."""

    def __missing__(self, name: str) -> Aggregate:
        return _made(name)


# What makes an aggregate of what it is given.
_MAKERS: dict[str, Callable[[str], Aggregate]] = {
    "percentile": lambda fraction: percentile(float(fraction)),
    "top_k": lambda k: top_k(int(k)),
    "exact_sum": lambda places: exact_sum(int(places)),
}


@cache
def _made(name: str) -> Aggregate:
    if plain(name) not in _MAKERS or not given(name):
        raise KeyError(name)
    return _MAKERS[plain(name)](given(name))


AGGREGATES = _Table(
    count=count,
    sum=total,
    exact_sum=exact_sum(PLACES_OF_FLOATS),
    mean=mean,
    min=minimum,
    max=maximum,
    range=spread,
    product=product,
    geometric_mean=geometric_mean,
    sum_of_squares=sum_of_squares,
    variance=variance,
    variance_population=variance_population,
    stddev=stddev,
    stddev_population=stddev_population,
    first=first,
    last=last,
    first_n=first_n(),
    last_n=last_n(),
    argmin=argmin,
    argmax=argmax,
    min_count=min_count,
    max_count=max_count,
    top_k=top_k(),
    text_min=text_min,
    text_max=text_max,
    concat=concat(),
    any=any_true,
    all=all_true,
    collect=collect(),
    collect_distinct=collect_distinct(),
    distinct_count=distinct_count,
    approx_distinct_count=approx_distinct_count,
    percentile=percentile(),
    p50=percentile(0.50),
    p95=percentile(0.95),
    p99=percentile(0.99),
)

__all__ = ["AGGREGATES", "Aggregate"]
