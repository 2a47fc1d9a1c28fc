"""Weaving: which queries may share a tree, because one set of partials answers them all."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from optimizer.aggregates import AGGREGATES, HOLDS, least_carrier
from optimizer.queries import Query


class FamilyKey(NamedTuple):
    """What queries must agree on to be woven together."""

    field: str
    family: str  # the partials that are kept: a carrier of optimizer/aggregates.py
    group_by: tuple[str, ...]
    where: str
    fragments: tuple[str, ...] = ()  # filters that its partials are told apart by, for trees that feed others

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "group_by": list(self.group_by), "fragments": list(self.fragments)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "FamilyKey":
        group_by, fragments = tuple(value["group_by"]), tuple(value["fragments"])
        return cls(value["field"], value["family"], group_by, value["where"], fragments)


def family_key(query: Query) -> FamilyKey:
    """The family a query belongs to by itself."""
    return FamilyKey(
        query.field or "", AGGREGATES[query.aggregate].carrier, query.group_by, query.where or ""
    )


def joint_key(queries: Collection[Query]) -> FamilyKey:
    """The family that holds all of these queries; refused where there is none."""
    keys = {family_key(query) for query in queries}
    carrier = least_carrier({key.family for key in keys})
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
    for query in queries:
        members[family_key(query)].append(query)
    for key in sorted(members):
        for held in HOLDS.get(key.family, ()):
            members[key] += members.pop(key._replace(family=held), [])
    return [sorted(members[key], key=_by_window) for key in sorted(members)]


def _by_window(query: Query) -> tuple[int, int, int, str]:
    window = query.window
    return window.range, window.slide, window.offset, query.id  # a Window compares slower than its numbers
