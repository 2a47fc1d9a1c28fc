"""Answers once more by Spark's own `window()`: every event in each window that holds it, nothing shared.

Which events count is the job's word (`streaming.verify`), and fields, expressions and filters are DuckDB's,
as in the job; windows and aggregates are Spark's.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyarrow.parquet import ParquetWriter

from optimizer.aggregates import given, plain
from optimizer.queries import Query
from streaming.aggregates.exact_sum import PLACES_OF_FLOATS
from streaming.likeness import RANK_ERROR
from streaming.verify import PLACE, TIME, Answers, Verification, group_of, happened_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NUMBERS = "CAST(v AS DOUBLE)"
WRITTEN = f"CAST(CAST(v AS STRING) AS DECIMAL(38, {PLACES_OF_FLOATS}))"


def _percentile(fraction: float) -> str:
    """How many values there are, the exact answer, and the least and greatest that a sketch may give."""
    bounds = (max(0.0, fraction - RANK_ERROR), min(1.0, fraction + RANK_ERROR))
    parts = ", ".join(f"percentile_disc({at}) WITHIN GROUP (ORDER BY {NUMBERS})" for at in bounds)
    exact = f"percentile_cont({fraction}) WITHIN GROUP (ORDER BY {NUMBERS})"
    return f"CASE WHEN count(v) > 0 THEN array(CAST(count(v) AS DOUBLE), {exact}, {parts}) END"


# What Spark calls the aggregates, over the values that are not null.
SQL = {
    "count": "count(v)",
    "sum": f"sum({NUMBERS})",
    "exact_sum": f"sum({WRITTEN}) FILTER (WHERE CAST({WRITTEN} AS DOUBLE) = {NUMBERS})",
    "mean": f"avg({NUMBERS})",
    "min": f"min({NUMBERS})",
    "max": f"max({NUMBERS})",
    "range": f"max({NUMBERS}) - min({NUMBERS})",
    "sum_of_squares": f"sum({NUMBERS} * {NUMBERS})",
    "geometric_mean": f"CASE WHEN min(v) >= 0 THEN if(min(v) = 0, 0D, exp(avg(ln({NUMBERS})))) END",
    "variance": f"var_samp({NUMBERS})",
    "variance_population": f"var_pop({NUMBERS})",
    "stddev": f"stddev_samp({NUMBERS})",
    "stddev_population": f"stddev_pop({NUMBERS})",
    "first": "min_by(v, struct(time, place)) FILTER (WHERE v IS NOT NULL)",
    "last": "max_by(v, struct(time, place)) FILTER (WHERE v IS NOT NULL)",
    "argmin": "min_by(time, struct(v, time, place)) FILTER (WHERE v IS NOT NULL)",
    "argmax": "min_by(time, struct(-v, time, place)) FILTER (WHERE v IS NOT NULL)",
    "text_min": "min(v)",
    "text_max": "max(v)",
    "any": "bool_or(v)",
    "all": "bool_and(v)",
    "distinct_count": "count(DISTINCT v)",
    "approx_distinct_count": "count(DISTINCT v)",
    "percentile": _percentile(0.95),
    "p50": _percentile(0.5),
    "p95": _percentile(0.95),
    "p99": _percentile(0.99),
}
# Over the list of all values of the window, in the order of events.
OF_LISTS = {
    "first_n": "slice(answer, 1, 10)",
    "last_n": "reverse(slice(reverse(answer), 1, 10))",
    "top_k": "slice(sort_array(answer, false), 1, {k})",
    "min_count": "size(filter(answer, x -> x = array_min(answer)))",
    "max_count": "size(filter(answer, x -> x = array_max(answer)))",
    # A zero that follows what no double holds would make it no number.
    "product": "if(array_contains(answer, 0D), 0D, aggregate(answer, 1D, (product, x) -> product * x))",
    "concat": "array_join(answer, ',')",
    "collect": "answer",
    "collect_distinct": "answer",
}
LIST = "transform(array_sort(collect_list(struct(time, place, v)) FILTER (WHERE v IS NOT NULL)), x -> x.v)"


def _of_values(aggregate: str) -> str | None:
    """What Spark calls an aggregate, given something or not; None where it has none."""
    if plain(aggregate) == "percentile" and given(aggregate):
        return _percentile(float(given(aggregate)))
    if plain(aggregate) == "exact_sum" and given(aggregate):
        return f"sum(CAST(v AS DECIMAL(38, {int(given(aggregate))})))"
    return SQL.get(plain(aggregate))


def _of_list(aggregate: str) -> str | None:
    """The same of one that is made of the list of all values."""
    made = OF_LISTS.get(plain(aggregate))
    return made and made.replace("{k}", given(aggregate) or "10")


def refusal(query: Query) -> str:
    """Why Spark cannot be asked; empty where it can."""
    if _of_values(query.aggregate) is None and _of_list(query.aggregate) is None:
        return f"Not verified: Spark has no {query.aggregate}."
    if query.window.slide > query.window.range:
        return "Not verified: Spark’s windows leave no gaps between them."
    return ""


class AcceptedEvents(Verification):
    """The events that the job accepted, written out for Spark."""

    messages = 0  # that were read to find them

    def write(self, query: Query, path: Path) -> None:
        """What a query looks at: its value, time and place in the log, and the fields it groups by."""
        happened = happened_sql(query, self._columns)
        found = self._connection.sql(
            f"SELECT * RENAME ({TIME} AS time, {PLACE} AS place) FROM ({happened})"  # noqa: S608
        ).to_arrow_reader()  # DuckDB itself may write no file: it runs what people have typed
        with ParquetWriter(path, found.schema) as file:
            for batch in found:
                file.write_batch(batch)


def answers(spark: "SparkSession", events: Path, query: Query, after: int, until: int) -> Answers:
    """Of every window that ends after one instant and not after another."""
    from pyspark.sql import functions as f

    window, names = query.window, [f"g{at}" for at in range(len(query.group_by))]
    happened = spark.read.parquet(str(events)).withColumn("at", f.expr("timestamp_millis(time)"))
    spans = f.window(
        "at", f"{window.range} milliseconds", f"{window.slide} milliseconds", f"{window.offset} milliseconds"
    )
    answer = f.expr(_of_values(query.aggregate) or LIST).alias("answer")
    found = happened.groupBy(spans, *names).agg(answer, f.count(f.lit(1)).alias("events"))
    if made := _of_list(query.aggregate):
        told = f"CASE WHEN size(answer) > 0 THEN {made} END"
        found = found.withColumn("answer", f.expr(told))
    end = f.expr("unix_millis(window.end)")
    rows = found.select(end.alias("end"), "answer", "events", *names)
    chosen = rows.where((f.col("end") > after) & (f.col("end") <= until)).collect()
    return {(end, group_of(group)): (_plain(answer), count) for end, answer, count, *group in chosen}


def _plain(answer: Any) -> Any:
    """Lists as lists, and every number as Python has it."""
    return list(answer) if isinstance(answer, Iterable) and not isinstance(answer, str) else answer
