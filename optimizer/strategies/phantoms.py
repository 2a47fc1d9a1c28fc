"""Phantoms: group-bys are made of finer ones, asked for or kept for it, where that is cheaper (PHANTOM).

By default GCSL, the paper's own: greedy by collision rates with supernode-linear allocation. The space is
what each family of queries may take.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from optimizer.cost import Statistics
from optimizer.phantoms.choosing import algorithm_named
from optimizer.phantoms.configurations import Configuration, Relation
from optimizer.phantoms.costs import Setting
from optimizer.phantoms.feeding_graph import candidate_phantoms
from optimizer.queries import Query
from optimizer.weaving import FamilyKey, families, joint_key
from optimizer.windows import Window
from optimizer.workload import Group, Workload

SPACE = 100_000  # units of an attribute or a counter: the most that PHANTOM gives its tables
SLOWEST = 1e-6  # events a second; a stream at rest shares nothing

Families = dict[FamilyKey, list[Query]]


def phantoms(workload: Workload, space: float = SPACE, algorithm: str = "GCSL") -> list[Group]:
    """A tree for each group-by, with all its windows, and one without queries for each phantom."""
    choose = algorithm_named(algorithm)
    groups: list[Group] = []
    for related in _related(workload.queries):
        setting = _setting(related, workload.statistics, space)
        configuration = choose(setting).configuration
        placed = _groups(configuration, related, setting, workload.statistics)
        groups += [_moved(group, len(groups)) for group in _with_windows_of_what_they_feed(placed)]
    return groups


def _moved(group: Group, places: int) -> Group:
    return group if group.feed is None else replace(group, feed=group.feed + places)


def _related(queries: Iterable[Query]) -> list[Families]:
    """Families that differ in their group-by alone."""
    related: defaultdict[FamilyKey, Families] = defaultdict(dict)
    for family in families(queries):
        key = joint_key(family)
        related[key._replace(group_by=())][key] = family
    return list(related.values())


def _setting(related: Families, statistics: Statistics, space: float) -> Setting:
    edges: defaultdict[Relation, frozenset[tuple[int, int]]] = defaultdict(frozenset)
    for key, family in related.items():
        relation = frozenset(key.group_by)
        edges[relation] |= frozenset().union(*(query.window.edge_classes for query in family))
    return Setting(
        queries=frozenset(edges),
        groups={
            relation: float(statistics.groups_of(relation))
            for relation in [*edges, *candidate_phantoms(edges)]
        },
        space=space,
        rate=max(SLOWEST, statistics.events_in(next(iter(related)))),
        edges=edges,
    )


def _groups(
    configuration: Configuration, related: Families, setting: Setting, statistics: Statistics
) -> list[Group]:
    """What feeds comes before what it feeds; feeds are positions in this list."""
    positions: dict[int | None, int | None] = {None: None}
    groups: list[Group] = []
    for position in sorted(_needed(configuration, setting)):
        relation, feed = configuration.relations[position], positions[configuration.feeders[position]]
        key, *twins = _keys(relation, related, statistics)
        positions[position] = first = len(groups)
        groups.append(Group(tuple(related.get(key, ())), key, feed=feed))
        # The same attributes in another order are the same relation: what the first has serves the others.
        twin_feed = first if setting.feeding_pays(relation, relation) else feed
        groups += [Group(tuple(related[twin]), twin, feed=twin_feed) for twin in twins]
    return groups


def _needed(configuration: Configuration, setting: Setting) -> set[int]:
    """What is asked for and what feeds it; GP may leave phantoms that feed nothing."""
    needed = {
        position for position, relation in enumerate(configuration.relations) if relation in setting.queries
    }
    for position in reversed(range(len(configuration.relations))):
        feeder = configuration.feeders[position]
        if position in needed and feeder is not None:
            needed.add(feeder)
    return needed


def _keys(relation: Relation, related: Families, statistics: Statistics) -> list[FamilyKey]:
    """The families that ask for this relation; for a phantom the one that it would be."""
    asked = [key for key in related if frozenset(key.group_by) == relation]
    counted = sorted(names for names in statistics.groups if frozenset(names) == relation)
    group_by = counted[0] if counted else tuple(sorted(relation))
    return asked or [next(iter(related))._replace(group_by=group_by)]


def _with_windows_of_what_they_feed(groups: Sequence[Group]) -> list[Group]:
    """Slices must end wherever those end that are made of them."""
    below: list[set[Window]] = [{query.window for query in group.queries} for group in groups]
    for position in reversed(range(len(groups))):
        feed = groups[position].feed
        if feed is not None:
            below[feed] |= below[position]
    return [
        replace(group, added_windows=tuple(sorted(windows - group.windows)))
        for group, windows in zip(groups, below)
    ]
