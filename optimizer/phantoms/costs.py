"""Costs of a configuration: probes and evictions per tuple of the stream (PHANTOM 3.2 and 7.1).

Every tuple that reaches a table is a probe. What is driven out of a table, or is in it when an epoch ends,
goes to the tables it feeds and, where the relation is asked for, up to the answers: an eviction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from optimizer.edges import edge_rate
from optimizer.edges.classes import EdgeClass
from optimizer.phantoms.collisions import collision_rate, occupied_buckets
from optimizer.phantoms.configurations import Configuration, Relation

Space = tuple[float, ...]  # units for each relation of a configuration


@dataclass(frozen=True)
class Setting:
    """What is asked for, what is known of the stream, and the space that the tables share."""

    queries: frozenset[Relation]
    groups: Mapping[Relation, float]  # of queries and of every phantom that may be kept
    space: float  # units, one for an attribute or a counter
    flow_lengths: tuple[float, ...] = (1.0,)  # by depth of a table; the last one holds from there on
    probe: float = 1.0  # c1
    eviction: float = 15.0  # c2, as measured in PHANTOM 8.2
    rate: float = 0.0  # tuples a second, for the cost of epochs' ends
    edges: Mapping[Relation, frozenset[EdgeClass]] = field(default_factory=dict)  # where a query's epochs end

    def __post_init__(self) -> None:
        if self.edges and self.rate <= 0:
            raise ValueError(
                "What epochs' ends cost is spread over the tuples between them: give a rate above 0."
            )

    def buckets(self, relation: Relation, space: float) -> float:
        return space / bucket_size(relation)

    def flow_length(self, depth: int) -> float:
        return self.flow_lengths[min(depth, len(self.flow_lengths)) - 1]

    def feeding_pays(self, feeder: Relation, fed: Relation) -> bool:
        """Whether fewer entries leave the feeder's table at epochs' ends than tuples arrive meanwhile."""
        if not self.edges:
            return True
        classes = self.edges.get(feeder, frozenset()) | self.edges.get(fed, frozenset())
        return self.groups[feeder] * _rate(classes) < self.rate

    def weight(self, relation: Relation, depth: int) -> float:
        """Groups as the analysis of allocations counts them: in units of space, and in flows (6.1, 6.4)."""
        return self.groups[relation] * bucket_size(relation) / self.flow_length(depth)


class Load(NamedTuple):
    """What one table takes in and gives out, per tuple of the stream or per end of an epoch."""

    fed: float
    driven_out: float


def bucket_size(relation: Relation) -> int:
    """Units of one bucket: its attributes and a counter."""
    return len(relation) + 1


def collision_rates(configuration: Configuration, space: Space, setting: Setting) -> list[float]:
    return [
        collision_rate(setting.groups[relation], setting.buckets(relation, units), setting.flow_length(depth))
        for relation, units, depth in zip(configuration.relations, space, configuration.depths)
    ]


def cost(configuration: Configuration, space: Space, setting: Setting) -> float:
    """Cost per tuple: eq. 7; where the setting says when epochs end, eq. 29 over the tuples of a cycle."""
    flushes = _flushes_per_tuple(configuration, setting)
    return _priced(configuration, _loads(configuration, space, setting, 1.0, flushes), setting)


def end_of_epoch_cost(configuration: Configuration, space: Space, setting: Setting) -> float:
    """Eq. 8: what it takes to empty all tables at once, from the stream's side down: the peak load."""
    every_table = [1.0] * len(configuration.relations)
    return _priced(configuration, _loads(configuration, space, setting, 0.0, every_table), setting)


def edges_below(configuration: Configuration, setting: Setting) -> list[frozenset[EdgeClass]]:
    """When each table is emptied: whenever something it feeds, however indirectly, is (proposition 1)."""
    below = [setting.edges.get(relation, frozenset()) for relation in configuration.relations]
    for position in reversed(range(len(below))):
        feeder = configuration.feeders[position]
        if feeder is not None:
            below[feeder] |= below[position]
    return below


def _flushes_per_tuple(configuration: Configuration, setting: Setting) -> list[float]:
    if not setting.edges:
        return [0.0] * len(configuration.relations)
    # Eq. 24 counts by inclusion and exclusion; the edge count does so without its 2^n terms.
    return [_rate(classes) / setting.rate for classes in edges_below(configuration, setting)]


@lru_cache(maxsize=1 << 12)  # choosing asks for the same sets again and again
def _rate(classes: frozenset[EdgeClass]) -> float:
    return edge_rate(classes) if classes else 0.0


def _loads(
    configuration: Configuration, space: Space, setting: Setting, stream: float, flushes: Sequence[float]
) -> list[Load]:
    """By the recurrence of eq. 5 and 26, for a stream of so many tuples and so many flushes of each table."""
    rates = collision_rates(configuration, space, setting)
    loads: list[Load] = []
    for position, relation in enumerate(configuration.relations):
        feeder = configuration.feeders[position]
        fed = stream if feeder is None else loads[feeder].driven_out
        driven_out = fed * rates[position]
        if flushes[position]:
            # Eq. 8 and 27 take all buckets to be full; a table with more buckets than groups never is.
            buckets = setting.buckets(relation, space[position])
            driven_out += flushes[position] * occupied_buckets(setting.groups[relation], buckets)
        loads.append(Load(fed, driven_out))
    return loads


def _priced(configuration: Configuration, loads: Sequence[Load], setting: Setting) -> float:
    # The print charges evictions to leaves, where its queries are; a query that feeds others is answered too.
    return sum(
        load.fed * setting.probe
        + (load.driven_out * setting.eviction if relation in setting.queries else 0.0)
        for relation, load in zip(configuration.relations, loads)
    )
