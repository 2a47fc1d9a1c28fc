"""Sums of decimals are exact: where queries become part of a plan they are made so."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from optimizer.queries import AnyQuery
from streaming.decimals import places_of
from streaming.sources import FieldType

SUMS = ("sum", "exact_sum")


def exactly(queries: Iterable[AnyQuery], types: Mapping[str, FieldType]) -> list[AnyQuery]:
    """The queries, sums of decimals among them as exact sums with as many places."""
    return [_exact(query, tuple(types.items())) for query in queries]


def _exact(query: AnyQuery, types: tuple[tuple[str, FieldType], ...]) -> AnyQuery:
    if query.aggregate not in SUMS or query.field is None:
        return query
    places = places_of(_type_of(query.field, types))
    return query if places is None else replace(query, aggregate=f"exact_sum({places})")


@lru_cache(maxsize=1024)
def _type_of(field: str, types: tuple[tuple[str, FieldType], ...]) -> str:
    known = dict(types)
    if field in known:
        return known[field]
    from streaming import expressions  # DuckDB, which commands start without

    try:
        return expressions.check_value(field, known)
    except expressions.InvalidExpression:
        return ""  # as is said where it is computed
