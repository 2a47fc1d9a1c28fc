"""Answers once more, by DuckDB and by definition: every event in each window that contains it.

What is accepted is the job's word; which windows there are and what their answers are is worked out without
plan, slices and kernels.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb
import pyarrow as pa

from optimizer.aggregates import given, plain
from optimizer.group_windows import CountWindow, GroupQuery, SessionWindow
from optimizer.queries import AnyQuery, Query
from streaming.accounting import Counts, instant
from streaming.aggregates import AGGREGATES
from streaming.aggregates.exact_sum import PLACES_OF_FLOATS
from streaming.aggregates.gathering import places
from streaming.expressions import renamed, with_unknowns
from streaming.formats import DECODERS, FormatOptions
from streaming.lanes import EARLIEST, Timeline
from streaming.likeness import RANK_ERROR, Judgement, Likeness, judged
from streaming.results import GroupKey, ResultBlock, plain_number
from streaming.sandbox import NO_ACCESS, TRY_HOLDS_ERRORS
from streaming.shuffle import PartitionReport
from streaming.sieve import sift
from streaming.sources import FieldType, SourceSpec
from streaming.task import EVENT, needed_fields

# Columns beside the fields of events, which are numbered: DuckDB does not tell “a” from “A”.
TIME, PLACE, START = '"…time"', '"…place"', '"…start"'
ORDER = f"ORDER BY {TIME}, {PLACE}"
EXAMPLES = 5  # of rows that differ

Answers = dict[tuple[int, GroupKey], tuple[Any, int]]  # by window end and group: value, events


def _percentile(fraction: float) -> str:
    """How many values there are, the exact answer, and the least and greatest that a sketch may give."""
    low, high = max(0.0, fraction - RANK_ERROR), min(1.0, fraction + RANK_ERROR)
    parts = f"quantile_cont({{v}}, {fraction}), quantile_disc({{v}}, {low}), quantile_disc({{v}}, {high})"
    return f"CASE WHEN count({{v}}) > 0 THEN [count({{v}}), {parts}] END"


def _exact_sum() -> str:
    """Of doubles as they are written, where they have no more places than are kept."""
    written = f"TRY_CAST({{v}}::VARCHAR AS DECIMAL(38, {PLACES_OF_FLOATS}))"
    return f"sum({written}) FILTER ({written}::DOUBLE = {{v}}::DOUBLE)"


def _top_k(k: int = 10) -> str:
    return f"(list({{v}} ORDER BY {{v}} DESC) FILTER ({{v}} IS NOT NULL))[:{k}]"


def _of_finite(exact: str, plain: str) -> str:
    """What corrects its rounding makes infinities no number."""
    return f"CASE WHEN isfinite({plain}({{v}})) THEN {exact}({{v}}) ELSE {plain}({{v}}) END"


# What DuckDB calls the aggregates, over the values of a field that are not null, in the order of events.
SQL = {
    "count": "count({v})",
    "sum": _of_finite("fsum", "sum"),
    "exact_sum": _exact_sum(),
    "mean": _of_finite("favg", "avg"),
    "min": "min({v})",
    "max": "max({v})",
    "range": "max({v}) - min({v})",
    # DuckDB's own is no number where a zero follows what no double holds.
    "product": "CASE WHEN bool_or({v} = 0) THEN 0 ELSE product({v}) END",
    "geometric_mean": "CASE WHEN min({v}) < 0 THEN NULL WHEN min({v}) = 0 THEN 0 ELSE geomean({v}) END",
    "sum_of_squares": "fsum({v} * {v})",
    "variance": "var_samp({v})",
    "variance_population": "var_pop({v})",
    "stddev": "stddev_samp({v})",
    "stddev_population": "stddev_pop({v})",
    "first": f"first({{v}} {ORDER}) FILTER ({{v}} IS NOT NULL)",
    "last": f"last({{v}} {ORDER}) FILTER ({{v}} IS NOT NULL)",
    "first_n": f"(list({{v}} {ORDER}) FILTER ({{v}} IS NOT NULL))[:10]",
    "last_n": f"(list({{v}} {ORDER}) FILTER ({{v}} IS NOT NULL))[-10:]",
    "argmin": f"first({TIME} ORDER BY {{v}}, {TIME}, {PLACE}) FILTER ({{v}} IS NOT NULL)",
    "argmax": f"first({TIME} ORDER BY {{v}} DESC, {TIME}, {PLACE}) FILTER ({{v}} IS NOT NULL)",
    "min_count": "len(list_filter(list({v}), lambda x: x = list_min(list({v}))))",
    "max_count": "len(list_filter(list({v}), lambda x: x = list_max(list({v}))))",
    "top_k": _top_k(),
    "text_min": "min({v})",
    "text_max": "max({v})",
    "concat": f"string_agg({{v}}, ',' {ORDER})",
    "any": "bool_or({v})",
    "all": "bool_and({v})",
    "collect": f"list({{v}} {ORDER}) FILTER ({{v}} IS NOT NULL)",
    "collect_distinct": f"list({{v}} {ORDER}) FILTER ({{v}} IS NOT NULL)",
    "distinct_count": "count(DISTINCT {v})",
    "approx_distinct_count": "count(DISTINCT {v})",
    "percentile": _percentile(0.95),
    "p50": _percentile(0.5),
    "p95": _percentile(0.95),
    "p99": _percentile(0.99),
}

# What takes something besides.
SQL_GIVEN: dict[str, Callable[[str], str]] = {
    "percentile": lambda fraction: _percentile(float(fraction)),
    "top_k": lambda k: _top_k(int(k)),
    "exact_sum": lambda places: f"sum({{v}}::DECIMAL(38, {int(places)}))",
}


def sql_of(aggregate: str) -> str | None:
    """What DuckDB calls an aggregate, given something or not; None where it has none."""
    name = plain(aggregate)
    return SQL.get(name) if name == aggregate else SQL_GIVEN[name](given(aggregate))


def answers(
    connection: duckdb.DuckDBPyConnection,
    query: AnyQuery,
    columns: Mapping[str, str],
    whole_from: int = EARLIEST,
) -> Answers:
    """Of every window of a query over the table `events`, whose columns for fields are `columns`.

    Count and session windows of a group may end together: what follows the group tells them apart.
    """
    names = "".join(f", g{at}" for at in range(len(query.group_by)))
    if isinstance(query, Query):
        found = connection.execute(_time_sql(query, columns, names, whole_from)).fetchall()
        return {(end, group_of(group)): (value, count) for end, value, count, *group in found}
    rows = connection.execute(_group_sql(query, columns, names, whole_from)).fetchall()
    return told_apart(
        (end, start, group_of(group), value, count) for end, start, value, count, *group in rows
    )


def group_of(key: Iterable[Any]) -> GroupKey:
    """As results have it."""
    return tuple(plain_number(part) if isinstance(part, Decimal) else part for part in key)


def told_apart(windows: Iterable[tuple[int, int, GroupKey, Any, int]]) -> Answers:
    """Windows of groups as (end, start, group, value, events), those that end together in order."""
    met: Counter[tuple[int, int, GroupKey]] = Counter()
    found: Answers = {}
    for end, start, group, value, count in windows:
        number = met[end, start, group] = met[end, start, group] + 1
        which = (f"from {instant(start)}", *([f"number {number}"] if number > 1 else []))
        found[end, (*group, *which)] = (value, count)
    return found


def happened_sql(query: AnyQuery, columns: Mapping[str, str]) -> str:
    """The events that a query looks at: its value, when and where they happened, and their group."""
    value = "1" if query.field is None else _value(query.field, columns)
    if AGGREGATES[query.aggregate].takes in ("numbers", "pairs") and plain(query.aggregate) != "exact_sum":
        value = f"({value})::DOUBLE"  # as the job has them
    groups = "".join(f", {columns[name]} AS g{at}" for at, name in enumerate(query.group_by))
    kept = renamed(with_unknowns(query.where), columns) if query.where else "true"
    # A filter is the person's own SQL, checked when the query was.
    return f"SELECT {value} AS v, {TIME}, {PLACE} {groups} FROM events WHERE {kept}"  # noqa: S608


def _value(text: str, columns: Mapping[str, str]) -> str:
    """A field, or an expression, which has no value in rows that it fails on or makes no number of."""
    if text in columns:
        return columns[text]
    made = f"TRY({renamed(text, columns)})"
    is_number = f"typeof({made}) NOT IN ('DOUBLE', 'FLOAT') OR NOT isnan(TRY_CAST({made} AS DOUBLE))"
    return f"CASE WHEN {is_number} THEN {made} END"


def _time_sql(query: Query, columns: Mapping[str, str], names: str, whole_from: int) -> str:
    """Each event in every window that contains it."""
    window = query.window
    return f"""
        WITH happened AS ({happened_sql(query, columns)}),
        placed AS (
            SELECT *, {window.offset} + {window.slide} * unnest(generate_series(
                floor(({TIME} - {window.offset} - {window.range}) / {window.slide} + 1)::BIGINT,
                floor(({TIME} - {window.offset}) / {window.slide})::BIGINT)) AS {START}
            FROM happened
        )
        SELECT {START} + {window.range}, {_answer(query)}, count(*) {names} FROM placed
        WHERE {TIME} < {START} + {window.range} AND {START} >= {whole_from} GROUP BY {START} {names}
    """  # noqa: S608


def _group_sql(query: GroupQuery, columns: Mapping[str, str], names: str, whole_from: int) -> str:
    window = query.window
    if isinstance(window, CountWindow):
        placed, end, needed = _in_counts(window, names), f"max({TIME}) + 1", 0
    else:  # an event within the gap before it would have made it another session
        placed, end, needed = _in_sessions(window, names), f"max({TIME}) + {window.gap}", window.gap
    return f"""
        WITH happened AS ({happened_sql(query, columns)}), {placed}
        SELECT {end}, min({TIME}), {_answer(query)}, count(*) {names} FROM placed
        GROUP BY number {names} HAVING min({TIME}) - {needed} >= {whole_from} ORDER BY number
    """  # noqa: S608


def _in_counts(window: CountWindow, names: str) -> str:
    """Each event of a group, by its place, in every window that contains it and that is full."""
    count, every = window.count, window.every
    return f"""
        counted AS (
            SELECT *, row_number() OVER (PARTITION BY 1 {names} {ORDER}) AS n,
                count(*) OVER (PARTITION BY 1 {names}) AS events FROM happened
        ),
        placed AS (
            SELECT *, unnest(generate_series(
                (greatest(n, {count}) + {every} - 1) // {every},
                least(n + {count} - 1, events) // {every})) AS number FROM counted
        )
    """  # noqa: S608


def _in_sessions(window: SessionWindow, names: str) -> str:
    """A session begins with an event that none of its group comes before within the gap."""
    over = f"OVER (PARTITION BY 1 {names} {ORDER})"
    begins = f"(before IS NULL OR {TIME} - before > {window.gap})::INT"
    return f"""
        followed AS (SELECT *, lag({TIME}) {over} AS before FROM happened),
        placed AS (SELECT *, sum({begins}) {over} AS number FROM followed)
    """  # noqa: S608


def _answer(query: AnyQuery) -> str:
    return (sql_of(query.aggregate) or "NULL").format(v="v")


def _by_time_and_group(key: tuple[int, GroupKey]) -> tuple[int, list[str]]:
    return key[0], [str(part) for part in key[1]]


@dataclass(frozen=True)
class Difference:
    """A row of two sides; None: it is not there at all."""

    end: int
    group: GroupKey
    ours: tuple[Any, int] | None
    theirs: tuple[Any, int] | None

    def judged(self, aggregate: str) -> Judgement:
        """Of rows that both have: they differ as well where they count other events."""
        if self.ours is None or self.theirs is None:
            return Judgement(Likeness.DIFFERENT)
        (mine, events), (other, others) = self.ours, self.theirs
        judgement = judged(aggregate, mine, other)
        return judgement if events == others else replace(judgement, likeness=Likeness.DIFFERENT)


@dataclass
class Comparison:
    """One query over one window, row by row."""

    query: AnyQuery
    left_out: str = ""  # why it was not compared
    rows: int = 0
    equal: int = 0
    within: int = 0  # not equal, but as near as the aggregate's error or rounding explains
    different: int = 0
    largest: float = 0.0  # difference between two numbers
    examples: list[Difference] = field(default_factory=list)  # of rows that differ

    def compare(self, ours: Answers, theirs: Answers) -> None:
        for end, group in sorted(ours.keys() | theirs.keys(), key=_by_time_and_group):
            key = (end, group)
            self.take(Difference(end, group, ours.get(key), theirs.get(key)))

    def take(self, row: Difference) -> Likeness:
        """Count a row, and tell how like each other its two sides are."""
        judgement = row.judged(self.query.aggregate)
        self.rows += 1
        if judgement.difference is not None:
            self.largest = max(self.largest, judgement.difference)
        if judgement.likeness is Likeness.EQUAL:
            self.equal += 1
        elif judgement.likeness is Likeness.WITHIN:
            self.within += 1
        else:
            self.different += 1
            if len(self.examples) < EXAMPLES:
                self.examples.append(row)
        return judgement.likeness


class Verification:
    """Keeps the accepted events of a run in a database of its own, on disk, and compares answers."""

    def __init__(self, directory: Path, source: SourceSpec, timeline: Timeline) -> None:
        self._source = source
        self._types: dict[str, FieldType] = needed_fields(source, timeline.lanes, timeline.group_lanes)
        self._partitions: dict[int, PartitionReport] = {}
        self._columns = {name: f"f{at}" for at, name in enumerate(self._types)}  # of the table
        self._connection = duckdb.connect(str(directory / "events.duckdb"))
        for setting in (TRY_HOLDS_ERRORS, *NO_ACCESS):
            self._connection.execute(setting)

    def __enter__(self) -> "Verification":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def take(self, rows: Iterable[pa.RecordBatch]) -> None:
        """Keep what is accepted of the rows, which are those of a map task, a partition each."""
        for part in rows:
            if part.column(0)[0].as_py() != EVENT:  # aborted, or not readable
                continue
            accepted = self._accepted(part)
            self._connection.register("accepted", accepted)
            self._connection.execute("CREATE TABLE IF NOT EXISTS events AS FROM accepted LIMIT 0")
            self._connection.execute("INSERT INTO events FROM accepted")
            self._connection.unregister("accepted")

    def _accepted(self, part: pa.RecordBatch) -> pa.Table:
        source = self._source
        partition = part.column(1)[0].as_py()
        report = self._partitions.setdefault(
            partition, PartitionReport(EARLIEST, EARLIEST, EARLIEST, Counts())
        )
        decoded = DECODERS[source.format](part.column(4), self._types, FormatOptions(tuple(source.types)))
        timestamps = part.column(3).to_numpy()[decoded.rows]
        sifted = sift(source, decoded, timestamps, part.column(5)[0].as_py(), report)
        offsets = part.column(2).to_numpy()[decoded.rows]
        columns = {number: decoded.table.column(name) for name, number in self._columns.items()}
        columns[TIME.strip('"')] = pa.array(sifted.times)
        columns[PLACE.strip('"')] = pa.array(places(partition, offsets))
        return pa.table(columns).filter(pa.array(sifted.accepted))

    def compared(self, query: AnyQuery, blocks: Iterable[ResultBlock], whole_from: int) -> Comparison:
        if sql_of(query.aggregate) is None:
            return Comparison(query, f"not verified: DuckDB has no {query.aggregate}")
        comparison = Comparison(query)
        own = (block for block in blocks if block.query == query.id)
        mine = _told(own) if isinstance(query, Query) else told_apart(_told_windows(own))
        comparison.compare(mine, answers(self._connection, query, self._columns, whole_from))
        return comparison


def _told(blocks: Iterable[ResultBlock]) -> Answers:
    return {(block.end, group): (value, count) for block in blocks for group, value, count in block.rows()}


def _told_windows(blocks: Iterable[ResultBlock]) -> Iterator[tuple[int, int, GroupKey, Any, int]]:
    for block in blocks:
        for start, (group, value, count) in zip(block.row_starts(), block.rows(), strict=True):
            yield block.end, start, group, value, count
