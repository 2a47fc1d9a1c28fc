"""SL and SR: a relation and all it feeds are one node, so that the two-level optimum fits (PHANTOM 6.3)."""

from collections.abc import Callable, Sequence
from math import sqrt

from optimizer.phantoms.allocation.two_level import two_level
from optimizer.phantoms.configurations import Configuration
from optimizer.phantoms.costs import Setting, Space

Combine = Callable[[Sequence[float]], float]


def supernode_linear(configuration: Configuration, setting: Setting) -> Space:
    """SL: a supernode weighs as much as its relations together."""
    return _supernodes(configuration, setting, sum)


def supernode_square_root(configuration: Configuration, setting: Setting) -> Space:
    """SR: the square root of a supernode's weight is the sum of its relations' square roots."""
    return _supernodes(configuration, setting, lambda weights: sum(map(sqrt, weights)) ** 2)


def _supernodes(configuration: Configuration, setting: Setting, combine: Combine) -> Space:
    relations, fed = configuration.relations, configuration.fed
    weights = list(map(setting.weight, relations, configuration.depths))
    for position in reversed(range(len(relations))):
        weights[position] = combine([weights[position], *(weights[child] for child in fed[position])])
    space = [0.0] * len(relations)
    all_roots = sum(sqrt(weights[position]) for position in configuration.raw)
    for position in configuration.raw:
        space[position] = setting.space * sqrt(weights[position]) / all_roots
    for position, children in enumerate(
        fed
    ):  # feeders come first: a supernode has its space when it is unfolded
        if children:
            space[position], shares = two_level(
                [weights[child] for child in children],
                space[position],
                setting,
                feeder_is_asked_for=relations[position] in setting.queries,
            )
            for child, share in zip(children, shares):
                space[child] = share
    return tuple(space)
