"""Names of fields as expressions have them: a path such as `user.city`, quoted only where it has to be."""

import re
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

_PART = r'"(?:[^"]|"")*"|[^\W\d]\w*'
_PATH = re.compile(rf"(?:{_PART})(?:\s*\.\s*(?:{_PART}))*")
_PARTS = re.compile(_PART)


def joined(tree: exp.Expr) -> exp.Expr:
    """The expression with each path as one column: SQL would take `user.city` for a column of a table.

    >>> joined(sqlglot.parse_one('order.total * 1.1', dialect="duckdb")).sql("duckdb")
    '"order.total" * 1.1'
    """
    return tree.transform(_as_one_column)


def _as_one_column(node: exp.Expr) -> exp.Expr:
    parts = _path(node)
    if len(parts) < 2:
        return node
    name = exp.to_identifier(".".join(part.name for part in parts), quoted=True)
    name.meta.update({"start": parts[0].meta.get("start"), "end": parts[-1].meta.get("end")})
    return exp.Column(this=name)


def _path(node: exp.Expr) -> list[exp.Identifier]:
    """The names that dots join; none where something else is among them."""
    if isinstance(node, exp.Column):
        parts = [part for part in node.parts if isinstance(part, exp.Identifier)]
        return parts if len(parts) == len(node.parts) else []
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        head = _path(node.this)
        return [*head, node.expression] if head else []
    return []


def unquoted(text: str) -> str:
    """The field that a text names, if it is a path; any other text as it is.

    >>> unquoted('"a b".c'), unquoted("user . city"), unquoted("a + b")
    ('a b.c', 'user.city', 'a + b')
    """
    if not _PATH.fullmatch(text):
        return text
    parts = (found[0] for found in _PARTS.finditer(text))
    return ".".join(part[1:-1].replace('""', '"') if part.startswith('"') else part for part in parts)


@lru_cache(maxsize=4096)
def written(name: str) -> str:
    """A field as it is written in an expression.

    >>> written("user.city"), written("a b.c"), written("select.x")
    ('user.city', '"a b".c', '"select".x')
    """
    if _reads_as(name, name):
        return name
    parts = [part if _reads_as(part, part) else _quoted(part) for part in name.split(".")]
    path = ".".join(parts)
    return path if _reads_as(path, name) else _quoted(name)


def _reads_as(text: str, name: str) -> bool:
    if not _PATH.fullmatch(text) or unquoted(text) != name:
        return False
    try:
        path = _path(sqlglot.parse_one(text, dialect="duckdb"))
    except (ParseError, TokenError):
        return False
    return ".".join(part.name for part in path) == name


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
