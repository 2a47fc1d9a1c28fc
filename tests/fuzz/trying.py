"""Runs a target over inputs that hypothesis makes up."""

import time

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.targets import Target

AT_ONCE = 1_000


def attempt(target: Target, inputs: int, number: int, tried: list[int]) -> None:
    """Count the inputs tried in `tried[0]`; raises the smallest fault. Another number makes other inputs."""

    @seed(number)
    @settings(
        max_examples=inputs,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(target.inputs)
    def one(value: object) -> None:
        tried[0] += 1
        target.check(value)

    one()


def attempt_for(target: Target, seconds: float, number: int, tried: list[int]) -> None:
    """The same for so long, a thousand inputs after the other."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        attempt(target, AT_ONCE, number + tried[0], tried)
