"""ES: the best of all allocations in steps of the space, without trying them one by one (PHANTOM 6.3).

A table multiplies the cost of all below it by its own collision rate and by nothing else. So the least cost
of a subtree, for each number of steps it might be given, follows from those of the subtrees it feeds.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from optimizer.phantoms.collisions import collision_rate
from optimizer.phantoms.configurations import Configuration
from optimizer.phantoms.costs import Setting, Space, cost

Costs = NDArray[np.float64]  # the least cost for each number of steps, from none on
Choices = NDArray[np.intp]  # and how many of the steps the first of two parts is given there
STEPS = 100  # 1 % of the space each, as in PHANTOM 8.3


def exhaustive(configuration: Configuration, setting: Setting, steps: int = STEPS) -> Space:
    """The allocation of least intra-epoch cost; with epochs' ends, one that no exchange of steps betters."""
    if len(configuration.relations) > steps:
        raise ValueError(f"{len(configuration.relations)} tables need as many steps of space, not {steps}.")
    taken = _Search(configuration, setting, steps).taken()
    if setting.edges:
        taken = _exchanged(configuration, setting, taken)
    return _space(taken, setting)


def _space(taken: Sequence[int], setting: Setting) -> Space:
    return tuple(setting.space * count / sum(taken) for count in taken)


class _Search:
    """Least costs from the leaves up, then the steps that give them from the stream down."""

    def __init__(self, configuration: Configuration, setting: Setting, steps: int) -> None:
        self._configuration = configuration
        self._setting = setting
        self._steps = steps
        self._own: dict[int, Choices] = {}
        self._splits: dict[tuple[int, ...], list[Choices]] = {}

    def taken(self) -> list[int]:
        """The steps of each relation, in the configuration's order."""
        taken = [0] * len(self._configuration.relations)
        self._of_all(self._configuration.raw)
        self._hand_out(self._configuration.raw, self._steps, taken)
        return taken

    def _of_all(self, positions: tuple[int, ...]) -> Costs:
        """Least cost of these subtrees together."""
        together, *others = (self._of_one(position) for position in positions)
        splits = self._splits[positions] = []
        for costs in others:
            candidates = together[None, :] + _shifted(costs)
            splits.append(candidates.argmin(axis=1))
            together = candidates.min(axis=1)
        return together

    def _of_one(self, position: int) -> Costs:
        setting, relation = self._setting, self._configuration.relations[position]
        passed_on: Costs = np.zeros(self._steps + 1)
        if self._configuration.fed[position]:
            passed_on = self._of_all(self._configuration.fed[position])
        if relation in setting.queries:
            passed_on = passed_on + setting.eviction
        candidates = setting.probe + self._rates(position) * _shifted(passed_on)
        self._own[position] = candidates.argmin(axis=1)
        return candidates.min(axis=1)

    def _rates(self, position: int) -> Costs:
        """The collision rate for each number of steps; none at all is impossible."""
        setting, relation = self._setting, self._configuration.relations[position]
        groups, a_step = setting.groups[relation], setting.buckets(relation, setting.space / self._steps)
        flow_length = setting.flow_length(self._configuration.depths[position])
        rates = [collision_rate(groups, a_step * count, flow_length) for count in range(1, self._steps + 1)]
        # Above zero: what is impossible below, at infinite cost, must stay so.
        return np.maximum([np.inf, *rates], np.finfo(float).tiny)

    def _hand_out(self, positions: tuple[int, ...], steps: int, taken: list[int]) -> None:
        shares: list[int] = []
        for split in reversed(self._splits[positions]):
            shares.append(steps - int(split[steps]))
            steps = int(split[steps])
        for position, share in zip(positions, [steps, *reversed(shares)]):
            taken[position] = int(self._own[position][share])
            if self._configuration.fed[position]:
                self._hand_out(self._configuration.fed[position], share - taken[position], taken)


def _shifted(costs: Costs) -> Costs:
    """At row t and column u the cost of t − u steps; infinite where there are fewer than none."""
    padded = np.concatenate([np.full(len(costs) - 1, np.inf), costs])
    return np.lib.stride_tricks.sliding_window_view(padded, len(costs))[:, ::-1]


def _exchanged(configuration: Configuration, setting: Setting, taken: list[int]) -> list[int]:
    """Flushes are no multiple of what reaches a table: with them, go on from the intra-epoch optimum."""
    best = cost(configuration, _space(taken, setting), setting)
    improved = True
    while improved:
        improved = False
        for candidate in _exchanges(taken):
            candidate_cost = cost(configuration, _space(candidate, setting), setting)
            if candidate_cost < best:
                taken, best, improved = candidate, candidate_cost, True
    return taken


def _exchanges(taken: list[int]) -> Iterator[list[int]]:
    for giver, receiver in permutations(range(len(taken)), 2):
        for steps in (1, 2, 4, 8, 16):
            if taken[giver] > steps:
                candidate = list(taken)
                candidate[giver] -= steps
                candidate[receiver] += steps
                yield candidate
