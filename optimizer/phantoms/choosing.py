"""Choosing phantoms (PHANTOM ch. 4): greedy by collision rates (GC), by space (GP), or all tried (EP)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations, product

from optimizer.phantoms.allocation import ALLOCATIONS, Allocation
from optimizer.phantoms.configurations import Configuration, Relation
from optimizer.phantoms.costs import Setting, Space, bucket_size, cost
from optimizer.phantoms.feeding_graph import by_size, candidate_phantoms, feeding

PHI = 1.0  # buckets per group that GP sets aside
MOST_TRIED = 12  # phantoms of which all sets are tried


@dataclass(frozen=True)
class Choice:
    """A configuration with its space, and what it costs per tuple by the model."""

    configuration: Configuration
    space: Space
    cost: float


def without_phantoms(setting: Setting, allocation: Allocation = ALLOCATIONS["SL"]) -> Choice:
    """The queries alone."""
    return _choice(feeding((), setting), allocation, setting)


def greedy_by_collision_rates(setting: Setting, allocation: Allocation = ALLOCATIONS["SL"]) -> Choice:
    """GC: all space is always in use; add the phantom that lowers the cost most until none does (4.2)."""
    chosen: list[Relation] = []
    best = without_phantoms(setting, allocation)
    candidates = candidate_phantoms(setting.queries)
    while candidates:
        added, choice = min(
            (
                (phantom, _choice(feeding([*chosen, phantom], setting), allocation, setting))
                for phantom in candidates
            ),
            key=lambda one: one[1].cost,
        )
        if choice.cost >= best.cost:
            break
        best = choice
        chosen.append(added)
        candidates.remove(added)
    return best


def greedy_by_space(setting: Setting, phi: float = PHI) -> Choice:
    """GP: φ buckets a group for each table; add what gains most for its space, while something fits (4.1).

    As printed it takes phantoms at a loss too, while there is space. What is left goes to all in proportion.
    """
    needs = {relation: phi * count * bucket_size(relation) for relation, count in setting.groups.items()}
    left = setting.space - sum(needs[query] for query in setting.queries)
    chosen: list[Relation] = []
    configuration = feeding((), setting)
    candidates = candidate_phantoms(setting.queries)
    while left > 0:
        gains = []
        spent = cost(configuration, tuple(needs[relation] for relation in configuration.relations), setting)
        for phantom in candidates:
            if needs[phantom] < left:
                grown = feeding([*chosen, phantom], setting, keep_idle=True)
                space = tuple(needs[relation] for relation in grown.relations)
                gains.append(((spent - cost(grown, space, setting)) / needs[phantom], phantom, grown))
        if not gains:
            break
        _, added, configuration = max(gains, key=lambda one: one[0])
        chosen.append(added)
        candidates.remove(added)
        left -= needs[added]
    needed = sum(needs[relation] for relation in configuration.relations)
    space = tuple(setting.space * needs[relation] / needed for relation in configuration.relations)
    return Choice(configuration, space, cost(configuration, space, setting))


def every_choice(setting: Setting, allocation: Allocation = ALLOCATIONS["ES"]) -> Choice:
    """EP: the best of all sets of phantoms and all ways to feed them; for small sets, and optimal with ES."""
    return min(
        (_choice(configuration, allocation, setting) for configuration in configurations(setting)),
        key=lambda choice: choice.cost,
    )


def configurations(setting: Setting) -> Iterator[Configuration]:
    """Every configuration in which each phantom feeds two relations or more."""
    phantoms = candidate_phantoms(setting.queries)
    if len(phantoms) > MOST_TRIED:
        raise ValueError(f"{len(phantoms)} phantoms have too many sets to try them all: use GCSL.")
    for chosen in chain.from_iterable(combinations(phantoms, size) for size in range(len(phantoms) + 1)):
        kept = sorted([*setting.queries, *chosen], key=by_size, reverse=True)
        for feeders in product(*(_closest_feeders(relation, kept, setting) for relation in kept)):
            if all(feeders.count(kept.index(phantom)) >= 2 for phantom in chosen):
                yield Configuration(tuple(kept), feeders)


def _closest_feeders(relation: Relation, kept: Sequence[Relation], setting: Setting) -> list[int | None]:
    """Those that hold its attributes with none between; None, the stream, where there are none."""
    able = [
        position
        for position, other in enumerate(kept)
        if relation < other and setting.feeding_pays(other, relation)
    ]
    closest = [one for one in able if not any(kept[other] < kept[one] for other in able)]
    return [*closest] or [None]


def _choice(configuration: Configuration, allocation: Allocation, setting: Setting) -> Choice:
    space = allocation(configuration, setting)
    return Choice(configuration, space, cost(configuration, space, setting))


ALGORITHMS: dict[str, Callable[[Setting], Choice]] = {
    "GCSL": greedy_by_collision_rates,
    "GCSR": partial(greedy_by_collision_rates, allocation=ALLOCATIONS["SR"]),
    "GCPL": partial(greedy_by_collision_rates, allocation=ALLOCATIONS["PL"]),
    "GCPR": partial(greedy_by_collision_rates, allocation=ALLOCATIONS["PR"]),
    "GCES": partial(greedy_by_collision_rates, allocation=ALLOCATIONS["ES"]),
    "GP": greedy_by_space,
    "EPES": every_choice,
}


def algorithm_named(name: str) -> Callable[[Setting], Choice]:
    if name not in ALGORITHMS:
        raise ValueError(f"No way to choose phantoms is called “{name}”: use one of {', '.join(ALGORITHMS)}.")
    return ALGORITHMS[name]
