"""What an expression may consist of: its length, terms and depth, and the types that it may cast to.

What passes needs little memory for each message, whatever the message holds: nothing makes texts longer, or
lists. How long it takes is for `streaming/sandbox.py` to bound.
"""

from sqlglot import exp

LONGEST = 20_000  # characters
MOST_TERMS = 1_000  # fields and literals
DEEPEST = 30  # levels of brackets, functions and conditions: the parser calls itself some 15 times for each

_TYPE = exp.DType
_CASTS = (
    *(_TYPE.BOOLEAN, _TYPE.VARCHAR, _TYPE.TEXT),
    *(_TYPE.TINYINT, _TYPE.SMALLINT, _TYPE.INT, _TYPE.BIGINT, _TYPE.INT128),
    *(_TYPE.UTINYINT, _TYPE.USMALLINT, _TYPE.UINT, _TYPE.UBIGINT, _TYPE.UINT128),
    *(_TYPE.FLOAT, _TYPE.DOUBLE, _TYPE.DECIMAL),
    *(_TYPE.DATE, _TYPE.TIMESTAMP, _TYPE.TIMESTAMPNTZ),
)
TYPES = "BOOLEAN, VARCHAR, INTEGER (and other integers), DOUBLE, DECIMAL(p, s), DATE or TIMESTAMP"
# A chain of these is one level deep, however long.
_CHAINS = (exp.And, exp.Or, exp.Add, exp.Sub, exp.Mul)


def refusal_of_text(expression: str, what: str) -> str:
    """Why a text is not even parsed; empty if it is."""
    if len(expression) <= LONGEST:
        return ""
    return f"The {what} is too long: {len(expression):,} characters, of which {LONGEST:,} are allowed."


def refusal(tree: exp.Expr, what: str) -> str:
    """Why an expression is too large; empty if it is not."""
    terms = sum(isinstance(node, exp.Column | exp.Literal) for node in tree.walk())
    if terms > MOST_TERMS:
        return f"The {what} has too many terms: {terms:,}, of which {MOST_TERMS:,} are allowed."
    if _depth(tree) > DEEPEST:
        return too_deep(what)
    return ""


def too_deep(what: str) -> str:
    return f"The {what} is nested too deeply: write it with fewer brackets."


def _depth(tree: exp.Expr) -> int:
    deepest = 0
    waiting = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        for part in node.iter_expressions():
            goes_on = isinstance(node, _CHAINS) and isinstance(part, _CHAINS)
            waiting.append((part, depth if goes_on else depth + 1))
    return deepest


def refusal_of_type(kind: exp.DataType, what: str) -> str:
    """Why nothing may be cast to a type; empty if it may."""
    if kind.this not in _CASTS or (kind.expressions and not _is_decimal(kind)):
        return f"A {what} cannot cast to {kind.sql(dialect='duckdb')}: use {TYPES}."
    return ""


def _is_decimal(kind: exp.DataType) -> bool:
    """A decimal with precision and scale."""
    sizes = kind.expressions
    return kind.this is _TYPE.DECIMAL and all(isinstance(size.this, exp.Literal) for size in sizes)
