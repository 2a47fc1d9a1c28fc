"""Filters: when one filter lets through only what another does, and which fields it reads.

Only what is certain counts: a filter implies another when each of the other's conditions is among its own, or
follows from one of its comparisons with a number.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from optimizer.field_names import joined

Condition = Any  # a node of sqlglot's trees, whose common class has had two names

_FLIPPED: dict[type[exp.Binary], type[exp.Binary]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.EQ: exp.EQ,
}


def implies(stronger: str, weaker: str) -> bool:
    """Whether every event that passes `stronger` is sure to pass `weaker`.

    >>> implies("temp > 30 AND site = 'a'", "temp > 20"), implies("temp > 20", "temp > 30")
    (True, False)
    """
    if not weaker or stronger == weaker:
        return True
    have, wanted = _conditions(stronger), _conditions(weaker)
    return bool(wanted) and all(any(_follows(given, want) for given in have) for want in wanted)


def either(filters: Iterable[str]) -> str:
    """What lets through all that one of some filters does; how they end (`;`, a comment) is their own affair.

    >>> either(["temp > 20 -- warm", "site = 'a';"])
    "(site = 'a') OR (temp > 20)"
    """
    return " OR ".join(f"({_alone(where)})" for where in sorted(filters))


def _alone(where: str) -> str:
    parsed = _parsed(where)
    return where if parsed is None else str(parsed.sql(dialect="duckdb", comments=False))


def fields_of(where: str) -> frozenset[str]:
    """The fields that a filter reads.

    >>> sorted(fields_of("temp > 30 AND site = 'a'"))
    ['site', 'temp']
    """
    parsed = _parsed(where)
    return frozenset(column.name for column in parsed.find_all(exp.Column)) if parsed else frozenset()


@lru_cache(maxsize=1024)
def _parsed(where: str) -> Condition | None:
    try:
        return joined(sqlglot.parse_one(where, read="duckdb")) if where else None
    except SqlglotError:
        return None  # the job refuses it where it is entered; here it just shares nothing


def _conditions(where: str) -> list[Condition]:
    parsed = _parsed(where)
    return [_bare(part) for part in parsed.flatten()] if isinstance(parsed, exp.And) else _one(parsed)


def _one(parsed: Condition | None) -> list[Condition]:
    return [] if parsed is None else [_bare(parsed)]


def _bare(condition: Condition) -> Condition:
    return condition.unnest()


def _follows(given: Condition, want: Condition) -> bool:
    if given == want:
        return True
    known, asked = _bound(given), _bound(want)
    if known is None or asked is None or known[0] != asked[0]:
        return False
    _, operator, value = known
    _, wanted_operator, limit = asked
    if operator is exp.EQ:
        return _holds(value, wanted_operator, limit)
    if wanted_operator is exp.EQ or (operator in (exp.GT, exp.GTE)) != (wanted_operator in (exp.GT, exp.GTE)):
        return False
    beyond = value > limit if operator in (exp.GT, exp.GTE) else value < limit
    as_strict = wanted_operator in (exp.GTE, exp.LTE) or operator in (exp.GT, exp.LT)
    return beyond or (value == limit and as_strict)


def _holds(value: float, operator: type[exp.Binary], limit: float) -> bool:
    return {
        exp.EQ: value == limit,
        exp.GT: value > limit,
        exp.GTE: value >= limit,
        exp.LT: value < limit,
        exp.LTE: value <= limit,
    }[operator]


def _bound(condition: Condition) -> tuple[str, type[exp.Binary], float] | None:
    """A comparison of a field with a number, the field on the left; None for anything else."""
    operator = type(condition)
    if operator not in _FLIPPED:
        return None
    left, right = condition.this, condition.expression
    if isinstance(right, exp.Column):
        left, right, operator = right, left, _FLIPPED[operator]
    value = _number(right)
    return (left.name, operator, value) if isinstance(left, exp.Column) and value is not None else None


def _number(value: Condition) -> float | None:
    if isinstance(value, exp.Neg):
        inner = _number(value.this)
        return None if inner is None else -inner
    return float(value.this) if isinstance(value, exp.Literal) and not value.is_string else None
