"""Group trees: queries with the same group window over the same partials, kept once for all of them."""

from dataclasses import dataclass
from typing import Any

from optimizer.aggregates import AGGREGATES
from optimizer.group_windows import GroupQuery, GroupWindow
from optimizer.weaving import FamilyKey


def group_family(query: GroupQuery) -> FamilyKey:
    """What queries of the same window must agree on to share a tree: then they keep the same states.

    A count keeps none, so that it takes fields of any type; time windows let it join those that sum.
    """
    carrier = query.aggregate if query.aggregate == "count" else AGGREGATES[query.aggregate].carrier
    return FamilyKey(query.field or "", carrier, query.group_by, query.where or "")


@dataclass(frozen=True)
class GroupTree:
    """Its id is of the same sequence as those of a plan's other trees."""

    id: str
    queries: tuple[GroupQuery, ...]
    cost: float  # in the unit of the model it was planned with
    node: int = 0

    def __post_init__(self) -> None:
        if len({(query.window, group_family(query)) for query in self.queries}) != 1:
            raise ValueError(f"The queries of tree {self.id} do not have one window and one family.")

    @property
    def window(self) -> GroupWindow:
        return self.queries[0].window

    @property
    def key(self) -> FamilyKey:
        return group_family(self.queries[0])

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "cost": self.cost,
            "node": self.node,
            "queries": [query.to_json() for query in self.queries],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "GroupTree":
        queries = tuple(GroupQuery.from_json(query) for query in value["queries"])
        return cls(value["id"], queries, value["cost"], value["node"])
