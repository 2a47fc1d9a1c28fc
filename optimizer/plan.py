"""The plan: which queries share which tree, with which kernel, at which estimated cost. A value."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from optimizer.group_trees import GroupTree
from optimizer.group_windows import GroupQuery
from optimizer.kernels import kernel_named
from optimizer.queries import AnyQuery, Query
from optimizer.weaving import FamilyKey, joint_key
from optimizer.windows import Window

PLAN_FORMAT = 3
# Format 1 knew one node, and trees that read the events themselves; format 2 knew no group windows.
READABLE_FORMATS = (1, 2, 3)


@dataclass(frozen=True)
class Tree:
    """Queries that share one sequence of slices and one kernel.

    A tree is made of the events, or of the slices of the tree that feeds it, or (`through`) of that tree's
    answers to one window. One without queries is there for those it feeds: slices that several trees share,
    a factor window, a phantom. Its answers are the same when it is made of the events instead.
    """

    id: str
    queries: tuple[Query, ...]
    kernel: str  # empty where it answers nothing itself
    edge_rate: float  # E_i, edges per second
    omega: float  # Ω_i, final-aggregation operations per edge
    cost: float  # in the unit of the model it was planned with
    node: int = 0
    fed_by: str | None = None  # id of the tree it is made of; None: of the events
    through: Window | None = None
    added_windows: tuple[Window, ...] = ()  # that no query asked for
    family: FamilyKey | None = None  # where it keeps other partials than its queries need, for those it feeds

    def __post_init__(self) -> None:
        if self.queries:  # an illegal pairing is refused
            kernel_named(self.kernel, (query.aggregate for query in self.queries))
        elif self.family is None:
            raise ValueError(f"Tree {self.id} has no queries and says no family.")

    @cached_property  # of hundreds of queries, and asked for each of them
    def key(self) -> FamilyKey:
        return self.family if self.family is not None else joint_key(self.queries)

    @property
    def windows(self) -> tuple[Window, ...]:
        """All windows that its slices serve."""
        return tuple(sorted({query.window for query in self.queries} | set(self.added_windows)))

    @property
    def edge_classes(self) -> tuple[tuple[int, int], ...]:
        """All residue classes `(period, residue)` on which this tree's slices end."""
        return tuple(sorted(set().union(*(window.edge_classes for window in self.windows))))

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kernel": self.kernel,
            "edge_rate": self.edge_rate,
            "omega": self.omega,
            "cost": self.cost,
            "node": self.node,
            "fed_by": self.fed_by,
            "through": self.through.to_json() if self.through else None,
            "added_windows": [window.to_json() for window in self.added_windows],
            "family": self.family.to_json() if self.family else None,
            "queries": [query.to_json() for query in self.queries],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Tree":
        family = value.get("family")
        return cls(
            id=value["id"],
            queries=tuple(Query.from_json(query) for query in value["queries"]),
            kernel=value["kernel"],
            edge_rate=value["edge_rate"],
            omega=value["omega"],
            cost=value["cost"],
            node=value["node"],
            fed_by=value.get("fed_by"),
            through=Window(**value["through"]) if value.get("through") else None,
            added_windows=tuple(Window(**window) for window in value.get("added_windows", ())),
            family=FamilyKey.from_json(family) if family else None,
        )


@dataclass(frozen=True)
class Plan:
    """All trees of one source. Version 0 is the empty plan before the first query."""

    source: str
    version: int
    strategy: str
    trees: tuple[Tree, ...] = ()
    next_tree: int = 1  # the number of the next new tree: ids of trees that have gone are not reused
    nodes: tuple[float, ...] = (1.0,)  # what each node can do, in units of the first
    group_trees: tuple[GroupTree, ...] = ()  # those of count and session windows

    @property
    def all_trees(self) -> tuple[Tree | GroupTree, ...]:
        return (*self.trees, *self.group_trees)

    @property
    def queries(self) -> tuple[Query, ...]:
        """Those with time windows."""
        return tuple(query for tree in self.trees for query in tree.queries)

    @property
    def group_queries(self) -> tuple[GroupQuery, ...]:
        return tuple(query for tree in self.group_trees for query in tree.queries)

    @property
    def all_queries(self) -> tuple[AnyQuery, ...]:
        return (*self.queries, *self.group_queries)

    @property
    def total_cost(self) -> float:
        return sum(tree.cost for tree in self.all_trees)

    @property
    def node_costs(self) -> tuple[float, ...]:
        """What the trees of each node take together."""
        return tuple(
            sum(tree.cost for tree in self.all_trees if tree.node == node) for node in range(len(self.nodes))
        )

    @property
    def freest_node(self) -> int:
        """The node with the most to spare, by what it can do."""
        costs = self.node_costs
        return min(range(len(costs)), key=lambda node: costs[node] / self.nodes[node])

    @property
    def max_node_cost(self) -> float:
        """The dearest node, each measured by what it can do (SHEIN eq. 6.2 where all nodes are alike)."""
        return max(cost / capacity for cost, capacity in zip(self.node_costs, self.nodes, strict=True))

    def tree(self, tree_id: str) -> Tree:
        return next(tree for tree in self.trees if tree.id == tree_id)

    def group_tree_of(self, query_id: str) -> GroupTree | None:
        """The tree of a query with a group window; None where there is no such query."""
        holders = (tree for tree in self.group_trees if any(query.id == query_id for query in tree.queries))
        return next(holders, None)

    def tree_of(self, query_id: str) -> Tree:
        for tree in self.trees:
            if any(query.id == query_id for query in tree.queries):
                return tree
        raise LookupError(f"Plan {self.version} of {self.source} has no query “{query_id}”.")

    def to_json(self) -> dict[str, Any]:
        return {
            "format": PLAN_FORMAT,
            "source": self.source,
            "version": self.version,
            "strategy": self.strategy,
            "total_cost": self.total_cost,
            "next_tree": self.next_tree,
            "nodes": list(self.nodes),
            "trees": [tree.to_json() for tree in self.trees],
            "group_trees": [tree.to_json() for tree in self.group_trees],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Plan":
        if value.get("format") not in READABLE_FORMATS:
            raise ValueError(f"This plan has format {value.get('format')}, not {PLAN_FORMAT}.")
        return cls(
            source=value["source"],
            version=value["version"],
            strategy=value["strategy"],
            trees=tuple(Tree.from_json(tree) for tree in value["trees"]),
            next_tree=value["next_tree"],
            nodes=tuple(value.get("nodes", (1.0,))),
            group_trees=tuple(GroupTree.from_json(tree) for tree in value.get("group_trees", ())),
        )
