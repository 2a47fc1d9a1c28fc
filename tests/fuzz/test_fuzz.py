"""Every target for a moment; `./millrace bench fuzz` tries them for long."""

import pytest

from tests.fuzz.targets import TARGETS, Target
from tests.fuzz.trying import attempt

INPUTS = 60


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_no_input_is_a_fault(target: Target) -> None:
    tried, inputs = [0], INPUTS // 4 if target.needs_database else INPUTS
    attempt(target, inputs, 0, tried)
    assert tried[0] >= inputs


def test_a_fault_is_found() -> None:
    def check(value: object) -> None:
        assert "9" not in str(value)

    with pytest.raises(AssertionError):
        attempt(Target("a mistake", TARGETS[0].inputs.map(repr), check), 1_000, 0, [0])
