"""Filters: SQL expressions, parsed and checked by sqlglot, evaluated by DuckDB over Arrow columns.

A plan is data, so a filter must run without a new Spark query plan: it is evaluated inside the map task.
DuckDB gives it SQL's own meaning (three-valued logic included) at column speed.
"""

import difflib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from streaming.sources import FieldType

ARROW_TYPES: dict[FieldType, pa.DataType] = {
    "text": pa.string(),
    "integer": pa.float64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
}

# What DuckDB's types are to queries, beside all integers and decimals.
_TYPES: dict[str, FieldType] = {
    "BOOLEAN": "boolean",
    "VARCHAR": "text",
    "INTEGER": "number",
    "UINTEGER": "number",
    "FLOAT": "number",
    "DOUBLE": "number",
}

# Everything a filter may contain; what is not here (subqueries, table functions, …) is refused.
_ALLOWED: tuple[type[exp.Expr], ...] = (
    exp.Column,
    exp.Identifier,
    exp.Literal,
    exp.Boolean,
    exp.Null,
    exp.Paren,
    exp.And,
    exp.Or,
    exp.Not,
    exp.EQ,
    exp.NEQ,
    exp.GT,
    exp.GTE,
    exp.LT,
    exp.LTE,
    exp.Is,
    exp.In,
    exp.Tuple,
    exp.Between,
    exp.Like,
    exp.ILike,
    exp.Neg,
    exp.Add,
    exp.Sub,
    exp.Mul,
    exp.Div,
    exp.Mod,
    exp.Abs,
    exp.Lower,
    exp.Upper,
    exp.Length,
    exp.Round,
    exp.Floor,
    exp.Ceil,
    exp.Coalesce,
    exp.Case,
    exp.If,
    exp.Cast,
    exp.DataType,
    exp.Pow,
    exp.Sqrt,
    exp.Ln,
)


class InvalidExpression(ValueError):
    """A filter or computed field that cannot be used; its sentence is shown beside it.

    `span` is from the first wrong character up to the one after the last, where that is known.
    """

    def __init__(
        self, sentence: str, suggestion: str | None = None, span: tuple[int, int] | None = None
    ) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.suggestion = suggestion  # a field name the person may have meant
        self.span = span


def check(expression: str, types: Mapping[str, FieldType]) -> None:
    """Refuse an expression that does not parse, names unknown fields or is not a condition."""
    with _shallow_enough("filter"):
        _check_parts(expression, types, "filter")
        kind = _bound_type(expression, types, "filter")
    if kind != "BOOLEAN":
        raise InvalidExpression("The filter is not a condition: compare something, as in temp > 20.")


@lru_cache(maxsize=1024)
def fields(expression: str | None) -> frozenset[str]:
    """The names of the fields that a filter reads."""
    if not expression:
        return frozenset()
    return frozenset(column.name for column in _parse(expression).find_all(exp.Column))


def fields_of_value(value: str | None, types: Mapping[str, FieldType]) -> frozenset[str]:
    """The same for what a query computes on: a field by its name, which may be any text, or an expression."""
    return frozenset([value]) if value is not None and value in types else fields(value)


def check_value(expression: str, types: Mapping[str, FieldType]) -> FieldType:
    """The type of a computed field; refuse an expression that does not parse or fit."""
    with _shallow_enough("computed field"):
        _check_parts(expression, types, "computed field")
        kind = _bound_type(expression, types, "computed field")
    if kind in _TYPES:
        return _TYPES[kind]
    if kind.endswith("INT") or kind.startswith("DECIMAL"):
        return "number"
    found = kind.strip('"')
    raise InvalidExpression(f"A computed field is a number, a text, or true or false; this one is {found}.")


@contextmanager
def _shallow_enough(what: str) -> Iterator[None]:
    """sqlglot follows brackets by calling itself."""
    try:
        yield
    except RecursionError as error:
        raise InvalidExpression(f"The {what} is nested too deeply: write it with fewer brackets.") from error


def _check_parts(expression: str, types: Mapping[str, FieldType], what: str) -> None:
    for node in _parse(expression, what).walk():
        if isinstance(node, exp.Column):
            _check_column(node, types)
        elif not isinstance(node, _ALLOWED):
            raise InvalidExpression(f"A {what} cannot use {_name(node)}.", span=_span(node))


def _parse(expression: str, what: str = "filter") -> exp.Expr:
    try:
        trees = sqlglot.parse(expression, dialect="duckdb")
    except ParseError as error:
        start, end = _slip(expression, error.errors[0])
        raise InvalidExpression(
            f"The {what} is not complete or has a slip at character {start + 1}.", span=(start, end)
        ) from error
    except TokenError as error:
        raise InvalidExpression(f"The {what} has a quote that is not closed.") from error
    if len(trees) != 1 or trees[0] is None:
        example = (
            "one condition, such as status = 'ok'" if what == "filter" else "one expression, such as a / b"
        )
        raise InvalidExpression(f"Write {example}.")
    return trees[0]


def _slip(expression: str, detail: Mapping[str, Any]) -> tuple[int, int]:
    """The characters of the token that was not understood; `col` counts to its end, on its line."""
    before = sum(len(line) for line in expression.splitlines(keepends=True)[: detail["line"] - 1])
    end = before + detail["col"]
    return max(0, end - len(detail["highlight"] or " ")), end


def _span(node: exp.Expr) -> tuple[int, int] | None:
    """Where a node stands, as far as sqlglot remembers it: names and functions."""
    start, end = node.meta.get("start"), node.meta.get("end")
    return None if start is None or end is None else (start, end + 1)


def _check_column(column: exp.Column, types: Mapping[str, FieldType]) -> None:
    name = column.name
    if column.table or name not in types:
        close = difflib.get_close_matches(name, types, n=1)
        span = _span(column.this)
        where = f" (character {span[0] + 1})" if span is not None else ""
        raise InvalidExpression(f"No field “{name}”{where}.", close[0] if close else None, span)


def _bound_type(expression: str, types: Mapping[str, FieldType], what: str) -> str:
    """Let DuckDB bind the expression to the field types."""
    # A row without values: what fails on some value is no slip, what fails without any is.
    row = pa.table({name: pa.array([None], ARROW_TYPES[kind]) for name, kind in types.items()})
    expression, row = _told_apart(expression, row)
    try:
        relation = _database(tries=False).cursor().from_arrow(row).project(f"({_sql(expression)}) AS kept")
        kind = relation.types[0]
        relation.fetchall()  # a literal that cannot become the field's type fails only when it runs
    except duckdb.Error as error:
        raise InvalidExpression(f"The {what} does not fit the fields: {_first_line(error)}") from error
    return str(kind)


@lru_cache(maxsize=1024)
def _sql(expression: str) -> str:
    """The expression as sqlglot understood it, so that what runs is exactly what was checked."""
    return _parse(expression).sql(dialect="duckdb", comments=False)


@dataclass(frozen=True)
class Computed:
    """A computed field, or whether a filter holds; rows that the expression fails on have no value."""

    column: pa.ChunkedArray
    failed: np.ndarray | None = None  # which rows those are; None: there is none
    why: str = ""  # of one of them

    @classmethod
    def known(cls, answers: list[bool]) -> "Computed":
        """Of a filter that need not be asked."""
        return cls(pa.chunked_array([pa.array(answers, pa.bool_())]))

    @cached_property
    def holds(self) -> np.ndarray:
        """Of a filter."""
        return self.column.fill_null(False).to_numpy(zero_copy_only=False).astype(np.bool_, copy=False)

    def failures(self, rows: np.ndarray | slice = slice(None)) -> tuple[int, str]:
        """How many of these rows it fails on, and why on one of them."""
        count = 0 if self.failed is None else int(self.failed[rows].sum())
        return count, self.why if count else ""


def keeps(expression: str, table: pa.Table) -> np.ndarray:
    """Which rows the filter keeps."""
    return decided(expression, table).holds


def decided(expression: str, table: pa.Table) -> Computed:
    """Which rows the filter keeps: unknown (NULL) is not kept, as in a WHERE."""
    expression, table = _told_apart(expression, table)
    try:
        return Computed(_projected(_sql(expression), table))
    except duckdb.Error as error:
        why = f"{_first_line(error).removesuffix('.')}, in the filter."
    column = _projected(with_unknowns(expression), table, tries=True)
    unknown = np.flatnonzero(pc.is_null(column).to_numpy(zero_copy_only=False))
    failed = np.zeros(len(table), np.bool_)
    failed[unknown] = _tried(_sql(expression), table.take(unknown))[1]
    return Computed(column, failed, why)


@lru_cache(maxsize=1024)
def with_unknowns(expression: str) -> str:
    """The filter, its conditions unknown (NULL) where they fail: what else it says holds there all the same.

    So a filter means the same alone and where a plan joins it with those of other queries.

    >>> with_unknowns("status = 'bad' OR NOT CAST(code AS INT) > 5")
    "TRY(status = 'bad') OR NOT TRY(CAST(code AS INT) > 5)"
    """

    def tried(node: exp.Expr) -> exp.Expr:
        is_logic = isinstance(node, exp.And | exp.Or | exp.Not | exp.Paren)
        return node if is_logic else exp.func("TRY", node)

    return _parse(expression).transform(tried).sql(dialect="duckdb", comments=False)


def renamed(expression: str, columns: Mapping[str, str]) -> str:
    """The expression with its fields by other names.

    >>> renamed('"a b" > TRY(c)', {"a b": "f0", "c": "f1"})
    'f0 > TRY(f1)'
    """

    def named(node: exp.Expr) -> exp.Expr:
        return exp.column(columns[node.name]) if isinstance(node, exp.Column) else node

    return _parse(expression).transform(named).sql(dialect="duckdb", comments=False)


def values(expression: str, table: pa.Table) -> Computed:
    """A computed field; what is no number (NaN), as of 0.0 / 0.0, is no value."""
    expression, table = _told_apart(expression, table)
    try:
        return Computed(without_nan(_projected(_sql(expression), table)))
    except duckdb.Error as error:
        why = _first_line(error)
    made, failed = _tried(_sql(expression), table)
    return Computed(without_nan(made), failed, why)


def _told_apart(expression: str, table: pa.Table) -> tuple[str, pa.Table]:
    """Both with other names where names differ in case alone: DuckDB would take one field for the other."""
    names = table.column_names
    if len({name.casefold() for name in names}) == len(names):
        return expression, table
    columns = {name: f"f{at}" for at, name in enumerate(names)}
    return renamed(expression, columns), table.rename_columns(list(columns.values()))


def without_nan(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    if not pa.types.is_floating(column.type):
        return column
    nan = pc.is_nan(column)
    return pc.if_else(nan, pa.scalar(None, column.type), column) if pc.any(nan).as_py() else column


def _tried(sql: str, table: pa.Table) -> tuple[pa.ChunkedArray, np.ndarray]:
    """What there is, and where it fails: within another value, no value at all is not one that is empty."""
    tried = _projected(f"TRY(struct_pack(made := {sql}))", table, tries=True)
    return pc.struct_field(tried, "made"), pc.is_null(tried).to_numpy(zero_copy_only=False)


def _projected(sql: str, table: pa.Table, tries: bool = False) -> pa.ChunkedArray:
    relation = _database(tries).cursor().from_arrow(table).project(f"({sql}) AS computed")
    return relation.to_arrow_table().column("computed")


# DuckDB works out what an expression has twice outside of it, where no TRY holds its errors.
TRY_HOLDS_ERRORS = "SET disabled_optimizers = 'common_subexpressions'"


@cache
def _database(tries: bool) -> duckdb.DuckDBPyConnection:
    """Locked down, in memory, one per process for each use: no files, no network, one thread."""
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute("SET enable_external_access = false")
    connection.execute("SET preserve_insertion_order = true")
    if tries:
        connection.execute(TRY_HOLDS_ERRORS)
    connection.execute("SET lock_configuration = true")
    return connection


def _name(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return f"the function {node.name}"
    return node.key.replace("_", " ").upper()


def _first_line(error: Exception) -> str:
    line = str(error).splitlines()[0]
    return line.split("Error: ", 1)[-1].rstrip(".") + "."
