"""Weaving: which queries may share a tree, because one set of partials answers them all."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from optimizer.queries import Query

# Aggregates of one family are read off the same partials: count, sum and mean off a count and a sum.
FAMILIES = {"count": "additive", "sum": "additive", "mean": "additive", "min": "min", "max": "max"}


class FamilyKey(NamedTuple):
    """What queries must agree on to be woven together."""

    field: str
    family: str
    group_by: tuple[str, ...]
    where: str


def family_key(query: Query) -> FamilyKey:
    """The family a query belongs to."""
    return FamilyKey(query.field or "", FAMILIES[query.aggregate], query.group_by, query.where or "")


def families(queries: Iterable[Query]) -> list[list[Query]]:
    """Queries gathered by family, in an order that does not depend on the order they came in."""
    members: defaultdict[FamilyKey, list[Query]] = defaultdict(list)
    for query in sorted(queries, key=lambda query: (query.window, query.id)):
        members[family_key(query)].append(query)
    return [members[key] for key in sorted(members)]
