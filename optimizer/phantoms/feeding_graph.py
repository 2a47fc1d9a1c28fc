"""The feeding graph: which group-bys could be kept for others to be made of, and what then feeds what."""

from collections.abc import Collection, Iterable
from functools import lru_cache

from optimizer.phantoms.configurations import Configuration, Relation
from optimizer.phantoms.costs import Setting

MOST_PHANTOMS = 256  # n group-bys have up to 2^n unions: the smallest are considered, and the union of all


def candidate_phantoms(queries: Collection[Relation]) -> list[Relation]:
    """All unions of two or more queries that are no query themselves, small ones first (PHANTOM 2.6)."""
    unions: set[Relation] = set(queries)
    latest = set(queries)
    while latest and len(unions) <= len(queries) + MOST_PHANTOMS:
        latest = {one | other for one in latest for other in queries} - unions
        unions |= latest
    phantoms = sorted(unions - set(queries), key=by_size)[:MOST_PHANTOMS]
    everything = frozenset[str]().union(*queries)
    return phantoms if everything in phantoms or everything in queries else [*phantoms, everything]


def feeding(phantoms: Iterable[Relation], setting: Setting, *, keep_idle: bool = False) -> Configuration:
    """What feeds what: each relation is fed by the one with fewest groups that holds its attributes.

    A phantom that feeds fewer than two relations never pays (2.6) and is left out, unless told to stay.
    """
    kept = sorted([*setting.queries, *phantoms], key=by_size, reverse=True)
    while True:
        feeders = _feeders(kept, setting)
        idle = {
            relation
            for position, relation in enumerate(kept)
            if relation not in setting.queries and feeders.count(position) < 2
        }
        if keep_idle or not idle:
            return Configuration(tuple(kept), tuple(feeders))
        kept = [relation for relation in kept if relation not in idle]


def _feeders(kept: list[Relation], setting: Setting) -> list[int | None]:
    fewest_groups_first = sorted(
        range(len(kept)), key=lambda position: (setting.groups[kept[position]], -position)
    )
    return [
        next(
            (
                position
                for position in fewest_groups_first
                if relation < kept[position] and setting.feeding_pays(kept[position], relation)
            ),
            None,
        )
        for relation in kept
    ]


@lru_cache(maxsize=1 << 12)  # every configuration that is considered is put in order
def by_size(relation: Relation) -> tuple[int, tuple[str, ...]]:
    return len(relation), tuple(sorted(relation))
