"""What map tasks send arrives as it was."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming import shuffle

runs = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), max_size=20)


@given(runs)
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_numbers_arrive_as_they_were(kind: type, runs: list[tuple[int, int]]):
    numbers = np.array([number for number, times in runs for _ in range(times)], kind)
    packed = shuffle.pack_runs(numbers)
    arrived = shuffle.unpack_runs(packed, kind)
    assert arrived.dtype == kind
    assert arrived.tolist() == numbers.tolist()
    assert sum(map(len, packed)) <= 8 * len(numbers) + 4


def test_numbers_that_repeat_are_sent_once():
    assert sum(map(len, shuffle.pack_runs(np.ones(1_000_000)))) < 20
