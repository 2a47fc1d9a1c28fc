"""The analytic optimum for one phantom that feeds all others (PHANTOM 6.1); SL and SR are built on it."""

from collections.abc import Sequence
from math import sqrt

from optimizer.phantoms.collisions import SLOPE
from optimizer.phantoms.costs import Setting


def two_level(
    weights: Sequence[float], space: float, setting: Setting, *, feeder_is_asked_for: bool = False
) -> tuple[float, list[float]]:
    """Space of the feeder and of each table it feeds, by eq. 21 and 22: the feeder takes more than half.

    Among the fed it goes by the square root of their weight. The feeder's own weight cancels out.
    """
    roots = [sqrt(weight) for weight in weights]
    probes = len(weights) * setting.probe + (setting.eviction if feeder_is_asked_for else 0.0)
    spread = sum(roots)
    scale = spread + sqrt(spread**2 + probes * space / (SLOPE * setting.eviction))
    fed = [space * root / scale for root in roots]
    return space - sum(fed), fed
