"""Seeded streams of float64 with the properties that kernels are sensitive to.

Only SlickDeque (Non-Inv) does more or less by what the values are; the others by how well a processor guesses
the outcome of comparisons. The papers used energy readings of the DEBS 2012 Grand Challenge, which are not
here: `sensor` has what matters of them.
"""

from collections.abc import Callable

import numpy as np

LEVEL_CHANGES = 1 / 16  # of the readings; between changes there is a plateau
LEVEL_STEP = 3.0  # standard deviation
LEVELS = (8_000, 8_400)  # the walk is turned back at both
JITTERS = 1 / 20  # of the readings, which are off by one
SPIKES = 1 / 2_000  # of the readings
SPIKE_HEIGHTS = (100, 400)


def uniform(count: int, seed: int, window: int = 1) -> np.ndarray:
    """Independent values between 0 and 1."""
    return np.random.default_rng(seed).random(count)


def sensor(count: int, seed: int, window: int = 1) -> np.ndarray:
    """Whole numbers: a bounded random walk with plateaus, ties, a little noise and rare spikes upwards."""
    rng = np.random.default_rng(seed)
    steps = np.where(rng.random(count) < LEVEL_CHANGES, rng.normal(0.0, LEVEL_STEP, count), 0.0)
    lowest, highest = LEVELS
    level = _turned_back(rng.uniform(lowest, highest) - lowest + np.cumsum(steps), highest - lowest) + lowest
    jitter = np.where(rng.random(count) < JITTERS, rng.choice([-1.0, 1.0], count), 0.0)
    spikes = np.where(rng.random(count) < SPIKES, rng.integers(*SPIKE_HEIGHTS, count), 0)
    return np.rint(level) + jitter + spikes


def descending(count: int, seed: int, window: int) -> np.ndarray:
    """The worst for a deque of maxima: it fills as long as a window falls, and then a peak empties it."""
    fallen = np.cumsum(np.random.default_rng(seed).uniform(0.001, 1.0, count))
    at = np.arange(count)
    runs, start = at // window, at // window * window
    return fallen[start] - fallen + runs  # each peak is higher than the one before


INPUTS: dict[str, Callable[[int, int, int], np.ndarray]] = {
    "uniform": uniform,
    "sensor-like": sensor,
    "descending": descending,
}


def _turned_back(walk: np.ndarray, height: float) -> np.ndarray:
    """The walk between walls at 0 and at `height`."""
    return height - np.abs(walk % (2 * height) - height)
