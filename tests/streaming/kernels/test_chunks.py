"""van Herk over rows: windows long enough for chunks, in batches of any size, regular and varying spans."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from streaming.aggregates.algebra import Algebra
from streaming.aggregates.first import First
from streaming.aggregates.last import Last
from streaming.aggregates.max import Max
from streaming.aggregates.sum import Sum
from streaming.kernels import SliceRing, batched
from streaming.kernels.van_herk import WORTH_CHUNKS, VanHerk

GROUPS = 5


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[int], list[int], list[tuple[int, int, int]]]:
    """Spans, sizes of batches, and dues: (after which slice, low, query); no low of a query goes back."""
    spans = draw(st.lists(st.integers(WORTH_CHUNKS, 45), min_size=1, max_size=3))
    batches = draw(st.lists(st.integers(1, 40), min_size=1, max_size=5))
    dues = []
    for query, span in enumerate(spans):
        steady = draw(st.booleans())
        slide = 1 if steady else draw(st.integers(1, 6))
        low = 0
        for newest in range(draw(st.integers(0, 3)), sum(batches), slide):
            varying = 0 if steady else draw(st.integers(0, span - 1))
            low = max(low, newest - span + 1 + varying)
            dues.append((newest, low, query))
    return spans, batches, sorted(dues)


@pytest.mark.parametrize("algebra", [Max(), Sum(), First(), Last()], ids=lambda algebra: algebra.name)
@settings(max_examples=60, deadline=None)
@given(history=histories(), seed=st.integers(0, 99))
def test_answers_are_those_of_the_slices_one_by_one(
    algebra: Algebra, history: tuple[list[int], list[int], list[tuple[int, int, int]]], seed: int
) -> None:
    spans, batches, dues = history
    random = np.random.default_rng(seed)
    columns = len(algebra.identity)
    slices = random.integers(-9, 9, (columns, sum(batches), GROUPS)).astype(algebra.dtype)
    slices[1:] = 1  # first and last: that there is a value
    nothing = random.random(slices.shape[1:]) < 0.2
    for column, empty in enumerate(algebra.identity):
        slices[column][nothing] = empty
    ring = SliceRing(algebra, GROUPS)
    kernel = batched("van_herk", ring, spans)
    assert isinstance(kernel._kernel, VanHerk) and kernel._kernel.chunked.all()
    for size in batches:
        first = ring.next
        ring.append(np.ascontiguousarray(slices[:, first : first + size]))
        due = [each for each in dues if first <= each[0] < first + size]
        asked = [(newest, low, 1, query, place) for place, (newest, low, query) in enumerate(due)]
        answers = kernel.advance(np.array(asked, np.int64).reshape(-1, 5))
        for place, (newest, low, _) in enumerate(due):
            for group in range(GROUPS):
                states = [tuple(slices[:, number, group].tolist()) for number in range(low, newest + 1)]
                assert_array_equal(answers[:, place, group], reduce(algebra.combine, states))
        ring.evict_before(ring.next - max(spans))
