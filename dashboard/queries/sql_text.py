"""A query as SQL: `SELECT max(temp) FROM sensors WHERE ok GROUP BY device WINDOW HOPPING (5m, 10s)`.

sqlglot's tokens tell where the clauses begin; filters and computed fields stay as they are written, as they
do in the form. Windows are not SQL's: HOPPING, TUMBLING, LAST (of so many events) and SESSION.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import sqlglot
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from dashboard.queries.windows_text import write_windows
from optimizer.aggregates import PARAMETERS
from optimizer.durations import InvalidDuration, abbreviated
from optimizer.field_names import unquoted, written
from optimizer.queries import (
    AnyWindowSpec,
    CountSpec,
    InvalidQuery,
    QuerySpec,
    SessionSpec,
    WindowSpec,
)

FORM = "SELECT count(*) FROM source WHERE condition GROUP BY field WINDOW HOPPING (5m, 10s)"
ALIASES = {"avg": "mean", "average": "mean"}
_PLAIN_SOURCE = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_WINDOWS_BEGIN = re.compile(r"\bWINDOW\s+(?=(?:HOPPING|TUMBLING|LAST|SESSION)\b)", re.IGNORECASE)
_WINDOW = re.compile(r"\s*(HOPPING|TUMBLING|LAST|SESSION)\s*\(([^()]*)\)\s*", re.IGNORECASE)
_INTERVAL = re.compile(r"(?:INTERVAL\s*)?'([^']*)'\s*([a-z]*)", re.IGNORECASE)
_OFFSET = re.compile(r"offset\s+(.+)", re.IGNORECASE)
_OPENING, _CLOSING = (TokenType.L_PAREN, TokenType.L_BRACKET), (TokenType.R_PAREN, TokenType.R_BRACKET)


@dataclass(frozen=True)
class Piece:
    """Part of the text, and where it begins."""

    text: str
    start: int

    @classmethod
    def cut(cls, text: str, start: int, end: int) -> "Piece":
        raw = text[start:end]
        return cls(raw.strip(), start + len(raw) - len(raw.lstrip()))


@dataclass(frozen=True)
class ReadSql:
    """What a text says, part by part, so that each can be checked by itself."""

    source: str
    computations: tuple[tuple[str, str | None, str], ...]  # aggregate, field, what it is given
    windows_text: str
    group_by: tuple[str, ...]
    where: str
    places: dict[str, int]  # by form field, where its text begins


def write_sql(spec: QuerySpec, source_name: str) -> str:
    lines = [
        "SELECT " + ", ".join(one.written for one in spec.computations),
        "FROM " + (source_name if _PLAIN_SOURCE.fullmatch(source_name) else _quote(source_name)),
    ]
    if spec.where:
        lines.append(f"WHERE {spec.where}")
    if spec.group_by:
        lines.append("GROUP BY " + ", ".join(map(written, spec.group_by)))
    lines.append("WINDOW " + ", ".join(map(_window_text, spec.windows)))
    return "\n".join(lines)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _window_text(spec: AnyWindowSpec) -> str:
    if isinstance(spec, CountSpec):
        return f"LAST ({spec.count}, {spec.every})"
    if isinstance(spec, SessionSpec):
        return f"SESSION ({spec.gap})"
    offset = f", OFFSET {spec.offset}" if spec.offset else ""
    if spec.range == spec.slide:
        return f"TUMBLING ({spec.range}{offset})"
    return f"HOPPING ({spec.range}, {spec.slide}{offset})"


def read_sql(text: str) -> ReadSql:
    """The parts of a query; raises InvalidQuery for `sql` where they cannot be told apart."""
    try:
        begin = _windows_begin(text)
        tokens = sqlglot.tokenize(text[: begin.start()], dialect="duckdb")
    except TokenError as error:
        raise InvalidQuery("sql", "A quote is not closed.") from error
    clauses = _clauses(tokens, begin.start(), text)
    computations, places = _computations(clauses["SELECT"], tokens, text)
    where = clauses.get("WHERE", Piece("", 0))
    return ReadSql(
        source=_unquoted(clauses["FROM"].text),
        computations=computations,
        windows_text=write_windows(_windows(Piece.cut(text, begin.end(), len(text)))),
        group_by=_group_by(clauses.get("GROUP BY"), tokens, text),
        where=where.text,
        places=places | {"where": where.start},
    )


def _windows_begin(text: str) -> re.Match[str]:
    found = list(_WINDOWS_BEGIN.finditer(text))
    if not found:
        raise InvalidQuery(
            "sql", "Say the windows at the end, such as WINDOW HOPPING (5m, 10s), TUMBLING (1h)."
        )
    outside = [one for one in found if text[: one.start()].count("'") % 2 == 0]
    return (outside or found)[0]


_CLAUSES = {
    TokenType.SELECT: "SELECT",
    TokenType.FROM: "FROM",
    TokenType.WHERE: "WHERE",
    TokenType.GROUP_BY: "GROUP BY",
}


def _clauses(tokens: list[Token], end: int, text: str) -> dict[str, Piece]:
    """What stands between the keywords, each of which may come once and in this order."""
    found: list[tuple[str, Token]] = []
    order = list(_CLAUSES.values())
    for token in _outer(tokens):
        word = _CLAUSES.get(token.token_type)
        if word is None:
            continue
        if found and order.index(word) <= order.index(found[-1][0]):
            raise _wrong(token, f"“{word}” is not expected here: write {FORM}.")
        found.append((word, token))
    words = [word for word, _ in found]
    if words[:2] != ["SELECT", "FROM"] or (tokens and tokens[0].token_type != TokenType.SELECT):
        raise InvalidQuery("sql", f"A query begins with SELECT and FROM: write {FORM}.")
    ends = [token.start for _, token in found[1:]] + [end]
    return {
        word: Piece.cut(text, token.end + 1, until) for (word, token), until in zip(found, ends, strict=True)
    }


def _outer(tokens: list[Token]) -> Iterator[Token]:
    """The tokens that are in no parentheses."""
    depth = 0
    for token in tokens:
        depth -= token.token_type in _CLOSING
        if depth == 0:
            yield token
        depth += token.token_type in _OPENING


def _items(piece: Piece, tokens: list[Token], text: str) -> list[Piece]:
    """The parts of a list, cut at its commas."""
    end = piece.start + len(piece.text)
    commas = [
        token.start
        for token in _outer([one for one in tokens if piece.start <= one.start < end])
        if token.token_type == TokenType.COMMA
    ]
    bounds = zip([piece.start, *(comma + 1 for comma in commas)], [*commas, end], strict=True)
    return [Piece.cut(text, start, until) for start, until in bounds]


def _computations(
    piece: Piece, tokens: list[Token], text: str
) -> tuple[tuple[tuple[str, str | None, str], ...], dict[str, int]]:
    found, places = [], {}
    for number, item in enumerate(_items(piece, tokens, text)):
        call = re.fullmatch(r"(\w+)\s*\((.*)\)", item.text, re.DOTALL)
        if call is None:
            raise InvalidQuery(
                "sql",
                f"“{item.text}” is not an aggregate of a field, such as max(temp).",
                span=(item.start, item.start + max(1, len(item.text))),
            )
        argument = Piece.cut(text, item.start + call.start(2), item.start + call.end(2))
        aggregate = ALIASES.get(call[1].lower(), call[1].lower())
        argument, given = _with_parameter(aggregate, argument, tokens, text)
        field = None if argument.text in ("", "*") else unquoted(argument.text)
        found.append((aggregate, field, given))
        places[f"computation-{number}"] = argument.start
    return tuple(found), places


def _with_parameter(aggregate: str, argument: Piece, tokens: list[Token], text: str) -> tuple[Piece, str]:
    """The field, and what follows it after a comma where the aggregate takes something."""
    parts = _items(argument, tokens, text) if aggregate in PARAMETERS else []
    return (parts[0], parts[1].text) if len(parts) == 2 else (argument, "")


def _group_by(piece: Piece | None, tokens: list[Token], text: str) -> tuple[str, ...]:
    if piece is None:
        return ()
    return tuple(unquoted(item.text) for item in _items(piece, tokens, text))


def _unquoted(text: str) -> str:
    """A name in quotes as it is; anything else as it is written."""
    quoted = _QUOTED.fullmatch(text)
    return quoted[1].replace('""', '"') if quoted else text


def _windows(piece: Piece) -> list[AnyWindowSpec]:
    specs: list[AnyWindowSpec] = []
    at = 0
    while True:
        found = _WINDOW.match(piece.text, at)
        if found is None:
            raise InvalidQuery(
                "sql",
                "A window is HOPPING (5m, 10s), TUMBLING (1h), LAST (100, 10) or SESSION (30s).",
                span=(piece.start + at, piece.start + max(at + 1, len(piece.text))),
            )
        specs.append(_window(found, piece))
        at = found.end()
        if at >= len(piece.text):
            return specs
        if piece.text[at] != ",":
            raise InvalidQuery(
                "sql", "Put a comma between windows.", span=(piece.start + at, piece.start + at + 1)
            )
        at += 1


def _window(found: re.Match[str], piece: Piece) -> AnyWindowSpec:
    kind = found[1].upper()
    sizes = [part.strip() for part in found[2].split(",")]
    offset = ""
    if kind in ("HOPPING", "TUMBLING") and (named := _OFFSET.fullmatch(sizes[-1])):
        offset = _duration(named[1])
        sizes.pop()
    sizes = [_duration(size) for size in sizes]
    if kind == "HOPPING" and len(sizes) == 2:
        return WindowSpec(sizes[0], sizes[1], offset)
    if kind == "TUMBLING" and len(sizes) == 1:
        return WindowSpec(sizes[0], sizes[0], offset)
    if kind == "SESSION" and len(sizes) == 1:
        return SessionSpec(sizes[0])
    if kind == "LAST" and len(sizes) in (1, 2) and all(re.fullmatch(r"\d{1,15}", size) for size in sizes):
        return CountSpec(int(sizes[0]), int(sizes[-1]))
    span = (piece.start + found.start(1), piece.start + found.end(2) + 1)
    examples = {
        "HOPPING": "a size and a slide: HOPPING (5m, 10s)",
        "TUMBLING": "a size: TUMBLING (1h)",
        "LAST": "numbers of events: LAST (100, 10)",
        "SESSION": "a gap: SESSION (30s)",
    }
    raise InvalidQuery("sql", f"{kind} takes {examples[kind]}.", span=span)


def _duration(text: str) -> str:
    """In short, also where it is an `INTERVAL '5' MINUTE`; what is no duration stays as it was typed."""
    interval = _INTERVAL.fullmatch(text.strip())
    plain = f"{interval[1]} {interval[2]}" if interval else text
    try:
        return abbreviated(plain)
    except InvalidDuration:
        return text.strip()


def _wrong(token: Token, sentence: str) -> InvalidQuery:
    return InvalidQuery("sql", sentence, span=(token.start, token.end + 1))
