"""Filters: SQL expressions, parsed and checked by sqlglot, evaluated by DuckDB over Arrow columns.

A plan is data, so a filter must run without a new Spark query plan: it is evaluated inside the map task.
DuckDB gives it SQL's own meaning (three-valued logic included) at column speed.
"""

import difflib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from optimizer.field_names import joined, written
from streaming import expression_limits, sandbox
from streaming.decimals import DECIMALS, arrow_type, decimal_of
from streaming.expression_words import kind_words, misfit, refused_part
from streaming.sources import FieldType

ARROW_TYPES: dict[FieldType, pa.DataType] = {
    "text": pa.string(),
    "integer": pa.float64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
    **{kind: arrow_type(kind) for kind in DECIMALS},
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
    exp.Cast,  # to what expression_limits says
    exp.Pow,
    exp.Sqrt,
    exp.Ln,
)


_MAKES_A_TEXT = re.compile(r"\b(?:UPPER|LOWER)\(", re.IGNORECASE)


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
    if kind.startswith("DECIMAL"):
        return decimal_of(int(kind.rstrip(")").rpartition(",")[2])) or "number"
    if kind.endswith("INT"):
        return "number"
    raise InvalidExpression(
        f"A computed field is a number, a text, or true or false; this one is {kind_words(kind)}."
    )


@contextmanager
def _shallow_enough(what: str) -> Iterator[None]:
    """sqlglot follows brackets by calling itself."""
    try:
        yield
    except RecursionError as error:
        raise InvalidExpression(expression_limits.too_deep(what)) from error


def _check_parts(expression: str, types: Mapping[str, FieldType], what: str) -> None:
    _refuse(expression_limits.refusal_of_text(expression, what))
    tree = _parse(expression, what)
    _check_nodes(tree, what, expression)
    for column in tree.find_all(exp.Column):
        _check_column(column, types)
    _refuse(expression_limits.refusal(tree, what))


def _check_nodes(tree: exp.Expr, what: str, expression: str) -> None:
    for node in tree.walk(prune=lambda node: isinstance(node, exp.DataType)):
        if isinstance(node, exp.DataType):
            _refuse(expression_limits.refusal_of_type(node, what))
        elif not isinstance(node, _ALLOWED):
            part, span = refused_part(node, expression)
            raise InvalidExpression(f"A {what} cannot use {part}.", span=span)


def _refuse(sentence: str) -> None:
    if sentence:
        raise InvalidExpression(sentence)


def _parse(expression: str, what: str = "filter") -> exp.Expr:
    try:
        trees = sqlglot.parse(expression, dialect="duckdb")
    except ParseError as error:
        start, end = _slip(expression, error.errors[0])
        raise InvalidExpression(
            f"The {what} is not complete or has a syntax error at character {start + 1}.", span=(start, end)
        ) from error
    except TokenError as error:
        raise InvalidExpression(f"The {what} has a quote that is not closed.") from error
    if len(trees) != 1 or trees[0] is None:
        example = (
            "one condition, such as status = 'ok'" if what == "filter" else "one expression, such as a / b"
        )
        raise InvalidExpression(f"Write {example}.")
    return joined(trees[0]) if "." in expression else trees[0]


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
        raise InvalidExpression(f"No field “{name}”{where}.", written(close[0]) if close else None, span)


def _bound_type(expression: str, types: Mapping[str, FieldType], what: str) -> str:
    """Let DuckDB bind the expression to the field types."""
    # A row without values: what fails on some value is no slip, what fails without any is.
    row = pa.table({name: pa.array([None], ARROW_TYPES[kind]) for name, kind in types.items()})
    expression, row = _told_apart(expression, row)
    try:
        with sandbox.rows(row) as relation:
            bound = relation.project(f"({_sql(expression)}) AS kept")
            kind = bound.types[0]
            bound.fetchall()  # a literal that cannot become the field's type fails only when it runs
    except (duckdb.Error, sandbox.Stopped) as error:
        sentence = misfit(sandbox.first_line(error))
        raise InvalidExpression(f"The {what} does not fit the fields: {sentence}") from error
    return str(kind)


@lru_cache(maxsize=1024)
def _sql(expression: str) -> str:
    """The expression as sqlglot understood it, so that what runs is exactly what was checked."""
    tree = _parse(expression)
    _check_nodes(tree, "query", expression)  # it may have been saved when more was allowed
    return tree.sql(dialect="duckdb", comments=False)


@dataclass(frozen=True)
class Computed:
    """A computed field, or whether a filter holds; rows that the expression fails on have no value."""

    column: pa.ChunkedArray
    failed: np.ndarray | None = None  # which rows those are; None: there is none
    why: str = ""  # of one of them
    stopped: bool = False  # it fails on all rows because it was stopped: it takes too much time or memory

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
    return stopped_ones.unless_stopped(expression, table, _decided, pa.bool_())


def _decided(expression: str, table: pa.Table) -> Computed:
    expression, table = _told_apart(expression, table)
    try:
        return Computed(_projected(_sql(expression), table))
    except duckdb.Error as error:
        why = f"{sandbox.first_line(error).removesuffix('.')}, in the filter."
    column = _projected(with_unknowns(expression), table)
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
    return stopped_ones.unless_stopped(expression, table, _computed, pa.float64())


def _computed(expression: str, table: pa.Table) -> Computed:
    expression, table = _told_apart(expression, table)
    try:
        return Computed(without_nan(_projected(_sql(expression), table)))
    except duckdb.Error as error:
        why = sandbox.first_line(error)
    made, failed = _tried(_sql(expression), table)
    return Computed(without_nan(made), failed, why)


class StoppedOnes:
    """The expressions that took this process too much time or memory: not tried again for a while.

    Every query that has one is to be paused by whoever is told of it; no other query notices.
    """

    def __init__(self) -> None:
        self._reasons: dict[str, tuple[str, float]] = {}  # by expression, with the time of it

    def unless_stopped(
        self,
        expression: str,
        table: pa.Table,
        evaluate: Callable[[str, pa.Table], Computed],
        kind: pa.DataType,
    ) -> Computed:
        """What the evaluation gives, or no value in any row, because it was stopped."""
        if reason := self.reason(expression):
            return _nothing(kind, len(table), reason)
        try:
            return evaluate(expression, table)
        except (sandbox.Stopped, InvalidExpression, RecursionError) as error:
            reason = str(error)
        self._reasons[expression] = (reason, time.monotonic())
        return _nothing(kind, len(table), reason)

    def reason(self, expression: str) -> str:
        """Why an expression was stopped; empty: it was not, or that is a while ago."""
        reason, at = self._reasons.get(expression, ("", 0.0))
        if reason and time.monotonic() - at > FORGIVEN_SECONDS:
            del self._reasons[expression]
            return ""
        return reason

    def among(self, expressions: Iterable[str | None]) -> dict[str, str]:
        """By expression, why it was stopped."""
        if not self._reasons:
            return {}
        return {each: reason for each in expressions if each and (reason := self.reason(each))}


FORGIVEN_SECONDS = 600.0
stopped_ones = StoppedOnes()  # of this process


def _nothing(kind: pa.DataType, rows: int, why: str) -> Computed:
    return Computed(pa.chunked_array([pa.nulls(rows, kind)]), np.ones(rows, np.bool_), why, stopped=True)


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
    tried = _projected(f"TRY(struct_pack(made := {sql}))", table)
    return pc.struct_field(tried, "made"), pc.is_null(tried).to_numpy(zero_copy_only=False)


def _projected(sql: str, table: pa.Table) -> pa.ChunkedArray:
    copies = _text_copies(sql)
    if not copies:
        return _projected_at_once(sql, table)
    began = time.process_time()
    parts = [
        _projected_at_once(sql, part, time.process_time() - began)
        for part in sandbox.bounded_slices(table, copies)
    ]
    return (
        parts[0] if len(parts) == 1 else pa.chunked_array([chunk for each in parts for chunk in each.chunks])
    )


def _projected_at_once(sql: str, table: pa.Table, spent: float = 0.0) -> pa.ChunkedArray:
    with sandbox.rows(table, spent) as rows:
        return rows.project(f"({sql}) AS computed").to_arrow_table().column("computed")


@lru_cache(maxsize=1024)
def _text_copies(sql: str) -> int:
    """How many texts at most are made of those of a message."""
    return len(_MAKES_A_TEXT.findall(sql))
