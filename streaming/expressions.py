"""Filters: SQL expressions, parsed and checked by sqlglot, evaluated by DuckDB over Arrow columns.

A plan is data, so a filter must run without a new Spark query plan: it is evaluated inside the map task.
DuckDB gives it SQL's own meaning (three-valued logic included) at column speed.
"""

import difflib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
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


def fields(expression: str | None) -> set[str]:
    """The names of the fields that a filter reads."""
    return {column.name for column in _parse(expression).find_all(exp.Column)} if expression else set()


def fields_of_value(value: str | None, types: Mapping[str, FieldType]) -> set[str]:
    """The same for what a query computes on: a field by its name, which may be any text, or an expression."""
    return {value} if value is not None and value in types else fields(value)


def check_value(expression: str, types: Mapping[str, FieldType]) -> FieldType:
    """The type of a computed field; refuse an expression that does not parse or fit."""
    with _shallow_enough("computed field"):
        _check_parts(expression, types, "computed field")
        kind = _bound_type(expression, types, "computed field")
    if kind == "BOOLEAN":
        return "boolean"
    return "text" if kind == "VARCHAR" else "number"


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
    examples = {"text": "", "integer": 0.0, "number": 0.0, "boolean": True}
    row = pa.table({name: pa.array([examples[kind]], ARROW_TYPES[kind]) for name, kind in types.items()})
    try:
        relation = _connection().from_arrow(row).project(f"({_sql(expression)}) AS kept")
        kind = relation.types[0]
        relation.fetchall()  # a literal that cannot become the field's type fails only when it runs
    except duckdb.Error as error:
        raise InvalidExpression(f"The {what} does not fit the fields: {_first_line(error)}") from error
    return str(kind)


@lru_cache(maxsize=1024)
def _sql(expression: str) -> str:
    """The expression as sqlglot understood it, so that what runs is exactly what was checked."""
    return _parse(expression).sql(dialect="duckdb")


def keeps(expression: str, table: pa.Table) -> np.ndarray:
    """Which rows the filter keeps; unknown (NULL) is not kept, as in a WHERE, nor is one that it fails on."""
    relation = _connection().from_arrow(table).project(f"coalesce(TRY({_sql(expression)}), false) AS kept")
    column = relation.to_arrow_table().column("kept")
    return column.to_numpy(zero_copy_only=False).astype(np.bool_, copy=False)


def values(expression: str, table: pa.Table) -> pa.ChunkedArray:
    """A computed field; rows that the expression fails on have no value."""
    relation = _connection().from_arrow(table).project(f"TRY({_sql(expression)}) AS computed")
    return relation.to_arrow_table().column("computed")


_connections: list[duckdb.DuckDBPyConnection] = []


def _connection() -> duckdb.DuckDBPyConnection:
    """One locked-down in-memory database per process: no files, no network, one thread."""
    if not _connections:
        connection = duckdb.connect(":memory:", config={"threads": 1})
        connection.execute("SET enable_external_access = false")
        connection.execute("SET preserve_insertion_order = true")
        connection.execute("SET lock_configuration = true")
        _connections.append(connection)
    return _connections[0].cursor()


def _name(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return f"the function {node.name}"
    return node.key.replace("_", " ").upper()


def _first_line(error: Exception) -> str:
    line = str(error).splitlines()[0]
    return line.split("Error: ", 1)[-1].rstrip(".") + "."
