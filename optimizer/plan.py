"""The plan: which queries share which tree, with which kernel, at which estimated cost. A value."""

from dataclasses import dataclass, replace
from typing import Any

from optimizer.kernels import kernel_named
from optimizer.queries import Query

PLAN_FORMAT = 1


@dataclass(frozen=True)
class Tree:
    """Queries that share one sequence of slices and one kernel."""

    id: str
    queries: tuple[Query, ...]
    kernel: str
    edge_rate: float  # E_i, edges per second
    omega: float  # Ω_i, final-aggregation operations per edge
    cost: float  # λ + E_i·Ω_i, operations per second
    node: int = 0

    def __post_init__(self) -> None:
        kernel_named(
            self.kernel, (query.aggregate for query in self.queries)
        )  # an illegal pairing is refused

    @property
    def edge_classes(self) -> tuple[tuple[int, int], ...]:
        """All residue classes `(period, residue)` on which this tree's slices end."""
        return tuple(sorted(set().union(*(query.window.edge_classes for query in self.queries))))

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kernel": self.kernel,
            "edge_rate": self.edge_rate,
            "omega": self.omega,
            "cost": self.cost,
            "node": self.node,
            "queries": [query.to_json() for query in self.queries],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Tree":
        queries = tuple(Query.from_json(query) for query in value["queries"])
        return cls(**{**value, "queries": queries})


@dataclass(frozen=True)
class Plan:
    """All trees of one source. Version 0 is the empty plan before the first query."""

    source: str
    version: int
    strategy: str
    trees: tuple[Tree, ...] = ()
    next_tree: int = 1  # the number of the next new tree: ids of trees that have gone are not reused

    @property
    def queries(self) -> tuple[Query, ...]:
        return tuple(query for tree in self.trees for query in tree.queries)

    @property
    def total_cost(self) -> float:
        return sum(tree.cost for tree in self.trees)

    def tree_of(self, query_id: str) -> Tree:
        for tree in self.trees:
            if any(query.id == query_id for query in tree.queries):
                return tree
        raise LookupError(f"Plan {self.version} of {self.source} has no query “{query_id}”.")

    def with_version(self, version: int) -> "Plan":
        return replace(self, version=version)

    def to_json(self) -> dict[str, Any]:
        return {
            "format": PLAN_FORMAT,
            "source": self.source,
            "version": self.version,
            "strategy": self.strategy,
            "total_cost": self.total_cost,
            "next_tree": self.next_tree,
            "trees": [tree.to_json() for tree in self.trees],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Plan":
        if value.get("format") != PLAN_FORMAT:
            raise ValueError(f"This plan has format {value.get('format')}, not {PLAN_FORMAT}.")
        return cls(
            source=value["source"],
            version=value["version"],
            strategy=value["strategy"],
            trees=tuple(Tree.from_json(tree) for tree in value["trees"]),
            next_tree=value["next_tree"],
        )
