"""Weaving: which queries may share a tree, because one set of partials answers them all."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import NamedTuple

from optimizer.aggregates import AGGREGATES, HOLDS, joint_carrier
from optimizer.queries import Query


class FamilyKey(NamedTuple):
    """What queries must agree on to be woven together."""

    field: str
    family: str  # the partials that are kept: a carrier of optimizer/aggregates.py
    group_by: tuple[str, ...]
    where: str


def family_key(query: Query) -> FamilyKey:
    """The family a query belongs to by itself."""
    return FamilyKey(
        query.field or "", AGGREGATES[query.aggregate].carrier, query.group_by, query.where or ""
    )


def joint_key(queries: Collection[Query]) -> FamilyKey:
    """The family that holds all of these queries; refused where there is none."""
    keys = {family_key(query) for query in queries}
    carrier = joint_carrier({key.family for key in keys})
    joint = {key._replace(family=carrier or "") for key in keys}
    if carrier is None or len(joint) != 1:
        raise ValueError(
            "Queries can share a tree only where field, filter and group-by agree and their aggregates "
            "can be read off the same partials."
        )
    return joint.pop()


def families(queries: Iterable[Query]) -> list[list[Query]]:
    """Queries gathered by what they can share, in an order that does not depend on the order they came in.

    Where a richer carrier is asked for, the queries that can be read off it join its family: beside a
    standard deviation sums are not kept twice.
    """
    members: defaultdict[FamilyKey, list[Query]] = defaultdict(list)
    for query in sorted(queries, key=lambda query: (query.window, query.id)):
        members[family_key(query)].append(query)
    for key in sorted(members):
        for held in HOLDS.get(key.family, ()):
            members[key] += members.pop(key._replace(family=held), [])
    return [sorted(members[key], key=lambda query: (query.window, query.id)) for key in sorted(members)]
