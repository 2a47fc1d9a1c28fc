"""What a strategy is given, and what it gives back: queries in, groups of queries out."""

from collections.abc import Iterable
from dataclasses import dataclass

from optimizer.cost import Statistics
from optimizer.queries import Query
from optimizer.weaving import FamilyKey, joint_key
from optimizer.windows import Window


@dataclass(frozen=True)
class Workload:
    """Queries to place, what is known of the stream and the machine, and the nodes to place them on."""

    queries: tuple[Query, ...]  # in order of id
    statistics: Statistics
    nodes: tuple[float, ...] = (1.0,)  # what each node can do, in units of the first
    seed: int = 0  # of strategies that draw lots
    same_slides_together: bool = False  # identical slides start out in one tree (SHEIN 6.5, note)


@dataclass(frozen=True)
class Group:
    """One tree to be. Without queries it is there for the groups that are made of its slices."""

    queries: tuple[Query, ...]
    key: FamilyKey
    node: int = 0
    feed: int | None = None  # position of the group whose slices this one is made of; None: of the events
    through: Window | None = None  # with a feed: made of this window's answers rather than of slices
    added_windows: tuple[Window, ...] = ()  # that no query asked for, kept for the groups fed from here

    @classmethod
    def of(cls, queries: Iterable[Query], node: int = 0) -> "Group":
        """A tree of these queries that reads the events itself."""
        members = tuple(queries)
        return cls(members, joint_key(members), node)

    @property
    def windows(self) -> frozenset[Window]:
        return frozenset(query.window for query in self.queries) | frozenset(self.added_windows)
