"""PHANTOM's hash tables run for real: generated traffic through a configuration's tables, collisions counted.

The paper's network trace is not public, so traffic is generated with the group counts that it gives: 552,
1846, 2117 and 2837 groups by one to four attributes (5.2), all others in between (8.1). A and B are the hosts
at the two ends of a connection, C and D their ports. A host uses few ports, so AC and BD have fewer groups
than other pairs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from optimizer.phantoms.configurations import Configuration, Relation
from optimizer.phantoms.costs import Setting, Space

Numbers = NDArray[np.int64]

ATTRIBUTES = "ABCD"
GROUPS_A, GROUPS_AB, GROUPS_ABC, GROUPS_ABCD = 552, 1846, 2117, 2837
HOSTS_B = 560
PORTS = 800
PORTS_OF_A_HOST = 4
FLOW_LENGTHS = (40.0, 4.0, 1.0)  # effective, by depth: the middle of what PHANTOM's figures 9 and 10 show


@dataclass(frozen=True)
class TableCounts:
    """What one table took in, and what left it by collisions and at the ends of epochs."""

    fed: int
    collisions: int
    flushed: int


@cache
def connections(seed: int = 1) -> Numbers:
    """The 2837 distinct tuples (A, B, C, D) of the traffic, one in each row."""
    draw = np.random.default_rng(seed)
    c_ports = draw.integers(PORTS, size=(GROUPS_A, PORTS_OF_A_HOST))
    d_ports = draw.integers(PORTS, size=(HOSTS_B, PORTS_OF_A_HOST))
    pairs = {(host % GROUPS_A, host) for host in range(HOSTS_B)}
    while len(pairs) < GROUPS_AB:
        pairs.add((int(draw.integers(GROUPS_A)), int(draw.integers(HOSTS_B))))
    triples = _extended(sorted(pairs), c_ports, 0, GROUPS_ABC, draw)
    return np.array(_extended(triples, d_ports, 1, GROUPS_ABCD, draw))


def _extended(
    rows: Sequence[tuple[int, ...]], ports: Numbers, host: int, count: int, draw: np.random.Generator
) -> list[tuple[int, ...]]:
    """Every row with a port of its host, and rows drawn again with another port until there are so many."""
    extended = {(*row, int(draw.choice(ports[row[host]]))): None for row in rows}
    while len(extended) < count:
        row = rows[int(draw.integers(len(rows)))]
        extended[*row, int(draw.choice(ports[row[host]]))] = None
    return list(extended)


@cache
def group_counts() -> dict[Relation, float]:
    """How many groups the traffic has for each set of attributes."""
    subsets = (frozenset(some) for size in range(1, 5) for some in combinations(ATTRIBUTES, size))
    return {relation: float(group_numbers(relation).max() + 1) for relation in subsets}


@cache
def group_numbers(relation: Relation) -> Numbers:
    """For each connection the number of its group."""
    columns = [ATTRIBUTES.index(attribute) for attribute in sorted(relation)]
    return np.unique(connections()[:, columns], axis=0, return_inverse=True)[1].reshape(-1)


def uniform_traffic(count: int, seed: int = 2) -> Numbers:
    """Connections in random order: the paper's synthetic data."""
    return np.random.default_rng(seed).integers(GROUPS_ABCD, size=count)


def clustered_traffic(count: int, flow_length: float = 80, overlap: float = 40, seed: int = 3) -> Numbers:
    """Connections that come in flows, about `overlap` of them under way at a time: the paper's real data."""
    draw = np.random.default_rng(seed)
    lengths = draw.geometric(1 / flow_length, size=int(count / flow_length * 1.2) + 10)
    starts = np.repeat(np.sort(draw.random(len(lengths))) * lengths.sum(), lengths)
    times = starts + draw.random(lengths.sum()) * np.repeat(lengths * overlap, lengths)
    flows = np.repeat(draw.integers(GROUPS_ABCD, size=len(lengths)), lengths)
    return flows[np.argsort(times)][:count]


def collisions(groups: Numbers, buckets: Numbers) -> int:
    """How often a tuple finds another group in its bucket, in a table of its own."""
    order = _by_bucket(buckets)
    return int(np.count_nonzero((np.diff(buckets[order]) == 0) & (np.diff(groups[order]) != 0)))


def replay(
    configuration: Configuration,
    buckets: Sequence[int],
    traffic: Numbers,
    ends: Sequence[Iterable[int]] | None = None,
    seed: int = 4,
) -> list[TableCounts]:
    """What happens in each table; `ends[i]` says after how many tuples table i is emptied, each time."""
    counts: list[TableCounts] = []
    left: list[tuple[Numbers, NDArray[np.float64]]] = []
    stream = traffic, np.arange(len(traffic), dtype=float)
    for position, relation in enumerate(configuration.relations):
        feeder = configuration.feeders[position]
        tuples, times = stream if feeder is None else left[feeder]
        groups = group_numbers(relation)[tuples]
        hashed = hash_values(relation, buckets[position], seed)[groups]
        # Half a tuple back: an end comes before the tuple that opens the next epoch.
        instants = np.array(sorted(ends[position] if ends else ()), dtype=float) - 0.5
        epochs = np.searchsorted(instants, times, side="left")
        order = _by_bucket(hashed)
        stays = (np.diff(hashed[order]) == 0) & (np.diff(epochs[order]) == 0)
        collided = np.flatnonzero(stays & (np.diff(groups[order]) != 0))
        last = np.flatnonzero(~np.append(stays, False))[: len(tuples)]
        flushed = last[epochs[order[last]] < len(instants)]
        out = np.concatenate([tuples[order[collided]], tuples[order[flushed]]])
        out_times = np.concatenate([times[order[collided + 1]], instants[epochs[order[flushed]]]])
        # Among those of one instant, entries driven out come in the order of what drove them out.
        arrival = np.concatenate([order[collided + 1], len(tuples) + flushed])
        in_time = np.lexsort((arrival, out_times))
        left.append((out[in_time], out_times[in_time]))
        counts.append(TableCounts(len(tuples), len(collided), len(flushed)))
    return counts


def _by_bucket(buckets: Numbers) -> Numbers:
    """The order of tuples by bucket and arrival; numbers of 16 bits are sorted in linear time."""
    few = len(buckets) and buckets.max() < 1 << 16
    return np.argsort(buckets.astype(np.uint16) if few else buckets, kind="stable")


def hash_values(relation: Relation, buckets: int, seed: int) -> Numbers:
    """The bucket of each group."""
    draw = np.random.default_rng([seed, *(ATTRIBUTES.index(attribute) for attribute in sorted(relation))])
    return draw.integers(buckets, size=int(group_numbers(relation).max()) + 1)


def whole_buckets(configuration: Configuration, space: Space, setting: Setting) -> list[int]:
    return [
        max(1, round(setting.buckets(relation, units)))
        for relation, units in zip(configuration.relations, space)
    ]


def replayed_cost(
    configuration: Configuration,
    space: Space,
    setting: Setting,
    traffic: Numbers,
    ends: Sequence[Iterable[int]] | None = None,
) -> float:
    """Cost per tuple by the collisions that really happen (PHANTOM 8.1, option 2)."""
    counts = replay(configuration, whole_buckets(configuration, space, setting), traffic, ends)
    evictions = sum(
        table.collisions + table.flushed
        for relation, table in zip(configuration.relations, counts)
        if relation in setting.queries
    )
    probes = sum(table.fed for table in counts)
    return (probes * setting.probe + evictions * setting.eviction) / len(traffic)
