"""Shards live: groups come and go, partials come late, windows grow, all can be made anew from slices."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer import kernels as planned
from streaming.aggregates import AGGREGATES
from streaming.aggregates.algebra import Algebra, lacks
from streaming.aggregates.count import Count
from streaming.aggregates.last import Last
from streaming.aggregates.max import Max
from streaming.aggregates.sum import Sum
from streaming.kernels import KERNELS, SliceRing, batched, element, traits_of
from streaming.kernels.run.batched import every_slide

REDUCE: dict[str, Any] = {"max": np.fmax.reduce, "sum": np.sum, "count": np.sum}


def algebra_for(kernel: str) -> Algebra:
    return next(algebra for algebra in (Max(), Sum(), Count()) if not lacks(algebra, traits_of(kernel).needs))


class Shard:
    """A kernel over a ring, and all slices beside it in plain numpy."""

    def __init__(self, kernel: str, spans: list[int], groups: int = 3, seed: int = 0) -> None:
        self.algebra = algebra_for(kernel)
        self.ring = SliceRing(self.algebra, groups)
        self.kernel = batched(kernel, self.ring, spans)
        self.spans = spans
        self.seen = np.full((0, groups), self.algebra.identity[0])
        self._random = np.random.default_rng(seed)

    def feed(self, slices: int, groups: int | None = None) -> None:
        """Push slices of random partials, some of them missing, and check every answer."""
        width = groups or self.ring.groups
        new = self._random.integers(-20, 20, (slices, width)).astype(float)
        new[self._random.random(new.shape) < 0.2] = self.algebra.identity[0]
        first = self.ring.next
        self.ring.append(new[None])
        missing = np.full((len(self.seen), width - self.seen.shape[1]), self.algebra.identity[0])
        self.seen = np.concatenate([np.concatenate([self.seen, missing], axis=1), new])
        dues = every_slide(first, slices, self.spans)
        self.check(dues, self.kernel.advance(dues))
        self.ring.evict_before(self.ring.next - max(self.spans))

    def check(self, dues: np.ndarray, answers: np.ndarray) -> None:
        for newest, low, _, _, place in dues.tolist():
            wanted = REDUCE[self.algebra.name](self.seen[max(low, 0) : newest + 1], axis=0)
            np.testing.assert_array_equal(answers[0, place], wanted)


def spans_for(kernel: str) -> list[int]:
    return [3, 7, 12] if traits_of(kernel).many else [7]


@pytest.mark.parametrize("kernel", KERNELS)
def test_new_groups_start_from_nothing_and_idle_ones_leave(kernel: str) -> None:
    shard = Shard(kernel, spans_for(kernel))
    shard.feed(20)
    shard.feed(9, groups=11)  # eight more groups
    kept = np.array([10, 0, 4])
    shard.ring.keep(kept)
    shard.kernel.keep(kept)
    shard.seen = shard.seen[:, kept]
    shard.feed(15)
    shard.feed(5, groups=4)


@pytest.mark.parametrize("kernel", KERNELS)
def test_late_partials_are_folded_in(kernel: str) -> None:
    shard = Shard(kernel, spans_for(kernel))
    shard.feed(30)
    for number, group, value in ((29, 0, 50.0), (25, 2, 60.0), (24, 2, -9.0), (23, 1, 70.0)):
        shard.ring.fold(number, group, (value,))
        shard.seen[number, group] = shard.algebra.combine((shard.seen[number, group],), (value,))[0]
    shard.kernel.mend([29, 25, 24, 23])
    again = every_slide(29, 1, shard.spans)
    shard.check(again, shard.kernel.advance(again))
    shard.feed(20)


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=15, deadline=None)
@given(steps=st.lists(st.tuples(st.integers(0, 20), st.lists(st.integers(0, 60), max_size=4)), max_size=6))
def test_late_partials_are_folded_into_slices_of_any_age(kernel: str, steps: list[Any]) -> None:
    """Also into slices that windows no longer reach back to, and those that are not taken in yet."""
    shard = Shard(kernel, spans_for(kernel))
    shard.feed(5)
    for slices, ages in steps:
        for age in ages:
            number = len(shard.seen) - 1 - age
            if number >= shard.ring.intact:
                value = float(age * 7 % 45)
                shard.ring.fold(number, age % 3, (value,))
                shard.seen[number, age % 3] = shard.algebra.combine((shard.seen[number, age % 3],), (value,))[
                    0
                ]
        shard.kernel.mend([len(shard.seen) - 1 - age for age in ages if age < len(shard.seen)])
        shard.feed(slices)


@pytest.mark.parametrize("kernel", KERNELS)
def test_an_element_folds_late_partials_in(kernel: str) -> None:
    algebra, seen = algebra_for(kernel), [float(value % 7) for value in range(20)]
    single = element(kernel, algebra, [6])
    for value in seen:
        single.push((value,))
    single.amend(16, (9.5,))
    seen[16] = algebra.combine((seen[16],), (9.5,))[0]
    for value in (1.0, 2.0, 3.0):
        seen.append(value)
        assert single.push((value,))[0][0] == REDUCE[algebra.name](seen[-6:])


@pytest.mark.parametrize("kernel", KERNELS)
def test_all_is_made_anew_from_the_slices_alone(kernel: str) -> None:
    shard = Shard(kernel, spans_for(kernel))
    shard.feed(40)
    shard.kernel = batched(kernel, shard.ring, shard.spans)  # as after a restart
    shard.kernel.advance(np.zeros((0, 5), np.int64))
    shard.feed(25)
    shard.kernel.rebuild()
    shard.feed(25)


@pytest.mark.parametrize("kernel", KERNELS)
def test_windows_may_come_to_span_more_slices_than_was_said(kernel: str) -> None:
    shard = Shard(kernel, [2] * len(spans_for(kernel)))
    shard.feed(10)
    shard.spans = spans_for(kernel)
    shard.ring.first = 0  # as a lane does: slices stay as long as a window may reach them
    shard.feed(30)


@pytest.mark.parametrize("kernel", [name for name in KERNELS if traits_of(name).many])
def test_every_range_at_once_is_one_due(kernel: str) -> None:
    shard = Shard(kernel, [9] * 1)
    new = np.arange(24.0).reshape(8, 3) % 5
    shard.ring.append(new[None])
    shard.seen = np.concatenate([shard.seen, new])
    answers = shard.kernel.advance(np.array([(7, 0, 8, 0, 0)], np.int64))
    for low in range(8):
        wanted = REDUCE[shard.algebra.name](new[low:], axis=0)
        np.testing.assert_array_equal(answers[0, low], wanted)


@pytest.mark.parametrize("kernel", [name for name in KERNELS if not lacks(Last(), traits_of(name).needs)])
@settings(max_examples=10, deadline=None)
@given(late=st.integers(0, 11), values=st.lists(st.integers(0, 9), min_size=12, max_size=12))
def test_late_partials_keep_their_place_in_the_order(kernel: str, late: int, values: list[int]) -> None:
    """Last does not commute: what comes late to an old slice must not become the newest."""
    single = element(kernel, Last(), [12])
    for at, value in enumerate(values):
        single.push((float(value), 1.0) if at != late else Last().identity)
    single.amend(late, (77.0, 1.0))
    after = single.push(Last().identity)[0]
    inside = [(77.0 if at == late else float(value)) for at, value in enumerate(values)][1:]
    assert after[0] == inside[-1]


def test_the_optimizer_and_the_job_know_the_same_kernels() -> None:
    assert set(planned.RUNNABLE) == set(KERNELS)
    for name in KERNELS:
        here, there = traits_of(name), planned.BY_NAME[name]
        assert (here.label, here.needs, here.many) == (there.label, there.needs, there.many)


def test_every_aggregate_that_people_define_runs() -> None:
    from optimizer.queries import AGGREGATES as DEFINED

    assert set(DEFINED) <= set(AGGREGATES)
