"""What is wrong with an expression, in its writer's own characters: no word of a parser or a database."""

import re

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

MOST_CHARACTERS = 60
Span = tuple[int, int]

_KINDS = {
    "a text": r"VARCHAR|STRING_LITERAL",
    "a number": r"DOUBLE|FLOAT|DECIMAL\(\d+, ?\d+\)|U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?(?:_LITERAL)?",
    "true or false": r"BOOLEAN|BOOL",
    "a date": r"DATE",
    "an instant": r"TIMESTAMP(?: WITH TIME ZONE)?",
    "a span of time": r"INTERVAL",
    "a list": r".+\[\d*\]",
    "several values": r"(?:TUPLE|STRUCT)\(.*\)",
    "bytes": r"BLOB",
}
# Written by a sign that sqlglot writes otherwise.
_OWN_SIGNS: dict[type[exp.Expr], str] = {
    exp.RegexpLike: "~",
    exp.JSONExtract: "->",
    exp.JSONExtractScalar: "->>",
}
_COMPARED = re.compile(r"Cannot compare values of type (.+?) and type (.+?)(?: in | - |\.$)")
_CONVERTED = re.compile(r"Could not convert string '(.*)' to (.+?)\.?$")
_CALLED = re.compile(r"No function matches the given name and argument types '(.+?)\((.*)\)'")
_SIGNS = re.compile(r"\W+")


def refused_part(node: exp.Expr, expression: str) -> tuple[str, Span | None]:
    """The part of an expression that may not be used, and where it stands if that can be told."""
    start, end = node.meta.get("start"), node.meta.get("end")
    if isinstance(node, exp.Func) and start is not None and end is not None:
        return f"the function {expression[start : end + 1]}", (start, end + 1)
    sign = _OWN_SIGNS.get(type(node))
    if sign and sign in expression:
        at = expression.index(sign)
        return sign, (at, at + len(sign))
    rendered = node.sql(dialect="duckdb", comments=False)
    span = _found(rendered, expression)
    written = expression[span[0] : span[1]] if span else rendered
    return f"“{_cut(written)}”", span


def misfit(message: str) -> str:
    """What DuckDB says of types, as people say it."""
    if found := _COMPARED.search(message):
        one, other = map(kind_words, found.groups())
        example = " Convert one, as in CAST(x AS DOUBLE)." if "a text" in (one, other) else ""
        return f"{one} cannot be compared with {other}.{example}"
    if found := _CONVERTED.search(message):
        return f"“{found[1]}” is not {kind_words(found[2])}."
    if found := _CALLED.search(message):
        name, taken = found.groups()
        operands = [kind_words(kind) for kind in _listed(taken)]
        if _SIGNS.fullmatch(name):
            return f"{name} cannot be used with {' and '.join(operands)}."
        return f"{name} does not take {' and '.join(operands) or 'nothing'}."
    return _in_words(message)


def kind_words(kind: str) -> str:
    """A type of DuckDB as its kind of value.

    >>> kind_words("INTEGER_LITERAL"), kind_words("DECIMAL(10,2)"), kind_words("VARCHAR"), kind_words("NULL")
    ('a number', 'a number', 'a text', 'NULL')
    """
    kind = kind.strip().strip('"')
    return next((words for words, types in _KINDS.items() if re.fullmatch(types, kind)), kind)


def _in_words(message: str) -> str:
    for words, types in list(_KINDS.items())[:6]:
        message = re.sub(rf"(?:type )?\b(?:{types})(?![\w(])", words, message)
    return message


def _listed(types: str) -> list[str]:
    """Types between commas that are in no parentheses."""
    return [one for one in re.split(r",\s*(?![^()]*\))", types) if one.strip()]


def _found(rendered: str, expression: str) -> Span | None:
    """Where the same tokens stand in what was written."""
    try:
        wanted = sqlglot.tokenize(rendered, dialect="duckdb")
        written = sqlglot.tokenize(expression, dialect="duckdb")
    except SqlglotError:
        return None
    words = [token.text.lower() for token in wanted]
    for at in range(len(written) - len(words) + 1):
        part = written[at : at + len(words)]
        if [token.text.lower() for token in part] == words:
            return part[0].start, part[-1].end + 1
    return None


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"
