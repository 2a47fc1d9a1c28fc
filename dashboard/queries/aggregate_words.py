"""The aggregates as the page offers them: in groups, each with a word of explanation."""

from collections.abc import Iterable

from optimizer.queries import Computation
from streaming.aggregates import AGGREGATES

GROUPS: tuple[tuple[str, dict[str, str]], ...] = (
    (
        "Common",
        {
            "count": "how many events, or how many that have the field",
            "sum": "all values added up",
            "mean": "the average",
            "min": "the least value",
            "max": "the greatest value",
            "range": "the greatest value less the least",
        },
    ),
    (
        "Percentiles",
        {
            "p50": "the median: half of the values are at or below this",
            "p95": "95 % of the values are at or below this",
            "p99": "99 % of the values are at or below this",
            "percentile": "this fraction of the values is at or below this; 0.95 unless you say another",
        },
    ),
    (
        "Spread",
        {
            "stddev": "standard deviation of a sample",
            "variance": "variance of a sample",
            "stddev_population": "standard deviation of all values there are",
            "variance_population": "variance of all values there are",
        },
    ),
    (
        "Different values",
        {
            "distinct_count": "how many different values, exactly",
            "approx_distinct_count": "how many different values, in little memory",
            "collect_distinct": "the different values, as a list",
        },
    ),
    (
        "In order",
        {
            "first": "the oldest value",
            "last": "the newest value",
            "first_n": "the 10 oldest values",
            "last_n": "the 10 newest values",
            "collect": "all values, as a list of 1,000 at most",
            "concat": "all texts, joined by commas",
        },
    ),
    (
        "Extremes",
        {
            "argmin": "when the least value came",
            "argmax": "when the greatest value came",
            "min_count": "how many values are the least one",
            "max_count": "how many values are the greatest one",
            "top_k": "the k greatest values; 10 unless you say another",
            "text_min": "the first text of the alphabet",
            "text_max": "the last text of the alphabet",
        },
    ),
    (
        "True or false",
        {
            "any": "whether any value is true",
            "all": "whether all values are true",
        },
    ),
    (
        "More sums",
        {
            "exact_sum": "decimals and whole numbers added up without rounding",
            "sum_of_squares": "the squares of the values added up",
            "product": "all values multiplied",
            "geometric_mean": "the average of growth rates",
        },
    ),
)

EXPLAINED = {name: words for _, group in GROUPS for name, words in group.items()}


def approximate(computations: Iterable[Computation]) -> str:
    """Which of them are approximate, and how far off they may be; empty where all are exact."""
    errors = {one.words: AGGREGATES[one.name].error for one in computations}
    return "; ".join(f"{words} is approximate: {error}" for words, error in errors.items() if error)


def explained(aggregate: str) -> str:
    """What it is, and how far off it may be if it is approximate."""
    error = AGGREGATES[aggregate].error
    return EXPLAINED[aggregate] + (f" (approximate: {error})" if error else "")
