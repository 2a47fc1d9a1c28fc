"""The same answers as a database gives."""

import duckdb
import numpy as np
import pytest

from streaming.aggregates import AGGREGATES
from tests.streaming.aggregates.samples import answer

SQL = {
    "count": "count(x)",
    "sum": "fsum(x)",
    "mean": "favg(x)",
    "min": "min(x)",
    "max": "max(x)",
    "range": "max(x) - min(x)",
    "product": "product(x)",
    "geometric_mean": "geomean(x)",
    "sum_of_squares": "fsum(x * x)",
    "variance": "var_samp(x)",
    "variance_population": "var_pop(x)",
    "stddev": "stddev_samp(x)",
    "stddev_population": "stddev_pop(x)",
    "first": "first(x ORDER BY i)",
    "last": "last(x ORDER BY i)",
    "distinct_count": "count(DISTINCT x)",
    "p50": "quantile_cont(x, 0.50)",
    "p95": "quantile_cont(x, 0.95)",
    "p99": "quantile_cont(x, 0.99)",
    "percentile(0.75)": "quantile_cont(x, 0.75)",
    "percentile(0.0)": "min(x)",
    "percentile(1.0)": "max(x)",
}
PAIRS = {"argmin": "arg_min(i, x)", "argmax": "arg_max(i, x)"}
OTHERS = {
    "text_min": ("t", "min(t)"),
    "text_max": ("t", "max(t)"),
    "any": ("b", "bool_or(b)"),
    "all": ("b", "bool_and(b)"),
    "exact_sum": ("n", "sum(n)"),
    "top_k(5)": ("x", "(list(x ORDER BY x DESC))[:5]"),
}


@pytest.fixture(scope="module")
def table():
    chance = np.random.default_rng(7)
    numbers = np.exp(chance.normal(0, 1, 390))  # fewer than a percentile is exact for
    connection = duckdb.connect()
    connection.execute("CREATE TABLE events (g INT, i INT, x DOUBLE, t VARCHAR, b BOOLEAN, n BIGINT)")
    rows = [
        (i % 3, i, float(x), f"{'äzaß日'[i % 5]}{int(x * 100)}", bool(x > 0.1), int(x * 2**55))
        for i, x in enumerate(numbers)
    ]
    connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", rows)
    return connection


def columns(table, what):
    """Of each group: the column, and the answer of this SQL."""
    listed = "list(row(x, i) ORDER BY i)" if what[0] == "pairs" else f"list({what[0]} ORDER BY i)"
    return table.execute(f"SELECT {listed}, {what[1]} FROM events GROUP BY g").fetchall()


@pytest.mark.parametrize("name", SQL)
def test_numbers(table, name):
    for values, expected in columns(table, ("x", SQL[name])):
        assert answer(AGGREGATES[name], values, 5) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(table, name):
    for pairs, expected in columns(table, ("pairs", PAIRS[name])):
        assert answer(AGGREGATES[name], [tuple(pair) for pair in pairs], 5) == expected


@pytest.mark.parametrize("name", OTHERS)
def test_others(table, name):
    for values, expected in columns(table, OTHERS[name]):
        got = answer(AGGREGATES[name], values, 5)
        assert (list(got) if isinstance(got, tuple) else got) == expected
