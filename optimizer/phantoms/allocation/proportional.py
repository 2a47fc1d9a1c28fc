"""PL and PR: space by a relation's own groups, wherever it stands (PHANTOM 6.3)."""

from math import sqrt

from optimizer.phantoms.configurations import Configuration
from optimizer.phantoms.costs import Setting, Space


def proportional_linear(configuration: Configuration, setting: Setting) -> Space:
    """PL: buckets in proportion to groups, so that all tables collide about equally often."""
    return _in_proportion(_weights(configuration, setting), setting.space)


def proportional_square_root(configuration: Configuration, setting: Setting) -> Space:
    """PR: space by the square root of the groups' weight; the optimum where there is no phantom."""
    return _in_proportion([sqrt(weight) for weight in _weights(configuration, setting)], setting.space)


def _weights(configuration: Configuration, setting: Setting) -> list[float]:
    return list(map(setting.weight, configuration.relations, configuration.depths))


def _in_proportion(parts: list[float], space: float) -> Space:
    return tuple(space * part / sum(parts) for part in parts)
