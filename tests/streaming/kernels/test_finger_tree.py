"""The finger tree: answers against brute force, its shape and rows after every step, how much it takes."""

import itertools
import math
import random
from typing import NamedTuple

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.aggregates.algebra import Algebra, identity_rows
from streaming.aggregates.max import Max
from streaming.kernels.base import amend, drive
from streaming.kernels.finger_tree import FULL, TOP, FingerTree, insert
from streaming.kernels.run.rows import rows_of
from streaming.kernels.run.tape import new_tape, play
from streaming.kernels.run.workbench import Workbench, workbench


class Concatenation(NamedTuple):
    """Keeps order in sight: its operands do not commute, and no slice's trace gets lost."""

    name = "concatenation"
    dtype = object
    identity = ""
    commutative = False
    inverse = "none"
    selective = False
    idempotent = False
    running_identity = ()

    def combine(self, older, newer):
        return older + newer


class Subject:
    """A tree at work beside the slices that it should hold."""

    def __init__(self, algebra: Algebra, spans: list[int]) -> None:
        self.spans, self.algebra = spans, algebra
        self.tree = FingerTree.new(spans, 0, algebra.commutative)
        self.bench: Workbench = workbench(algebra, self.tree.rows(), False)
        self.newest = -1
        self.changes = 0

    def partial(self, number: int):
        self.changes += 1
        if self.algebra.dtype is object:
            return f"{number}/{self.changes} "
        return (float(self.changes * 7919 % 101),)

    def cost(self, act, *arguments) -> int:
        before = self.bench.operations
        act(*arguments)
        return self.bench.operations - before

    def push(self, number: int) -> None:
        self.bench.slices[number] = self.partial(number)
        for old in range(max(0, self.newest - max(self.spans) + 1), number - max(self.spans) + 1):
            self.bench.slices.pop(old, None)
        self.newest = number
        self.tree.push(self.bench, number)

    def insert(self, number: int) -> None:
        self.bench.slices[number] = self.partial(number)
        self.tree.insert(self.bench, number)

    def amend(self, number: int) -> None:
        self.bench.slices[number] = self.algebra.combine(self.bench.slice(number), self.partial(number))
        assert self.tree.amend(self.bench, number, self.newest)

    def answer(self, low: int, newest: int | None = None):
        self.tree.answer(self.bench, self.newest if newest is None else newest, low, 0, 0)
        return self.bench.answers[0]

    def expected(self, low: int):
        slices = self.bench.slices
        return self.folded([slices[number] for number in sorted(slices) if number >= low])

    def folded(self, partials: list):
        state = self.algebra.identity
        for partial in partials:
            state = self.algebra.combine(state, partial)
        return state


def check(subject: Subject) -> None:
    """Every invariant of the tree's shape, and every row that it relies on."""
    tree, store = subject.tree, subject.bench.store
    top = tree.at[TOP]
    left, right = tree.left[: top + 1], tree.right[: top + 1]
    assert left[top] == right[top]
    met: list[int] = []
    held = _check_node(subject, left[top], top, met)
    assert held == sorted(subject.bench.slices)
    assert len(met) == len(set(met))
    assert sorted([*met, *tree.spare[: tree.at[1]]]) == list(range(len(tree.arity)))
    for height in range(top, 0, -1):
        assert tree.children[left[height], 0] == left[height - 1]
        assert tree.children[right[height], tree.arity[right[height]] - 1] == right[height - 1]
    if not held:
        return
    base = len(tree.arity)
    for height in range(top - 1):
        state = subject.folded([store[left[at]] for at in range(height, top)])
        assert store[base + height] == state
    for height in range(top):
        state = subject.folded([store[right[at]] for at in range(top, height - 1, -1)])
        assert store[base + len(tree.left) + height] == state


def _check_node(subject: Subject, node: int, height: int, met: list[int]) -> list[int]:
    """A node's slices in order, its children's among them."""
    tree = subject.tree
    arity = tree.arity[node]
    met.append(node)
    assert tree.height[node] == height
    assert arity <= FULL
    assert arity >= (1 if height == tree.at[TOP] == 0 else 2)
    held, own = [], []
    for place in range(arity):
        if height > 0:
            child = tree.children[node, place]
            assert tree.parent[child] == node
            below = _check_node(subject, child, height - 1, met)
            held += below
            of_edge = (place == 0 and tree.left[height] == node) or (
                place == arity - 1 and tree.right[height] == node
            )
            own += [] if of_edge else below
        if place < arity - 1:
            held.append(int(tree.numbers[node, place]))
            own.append(held[-1])
    if held:
        assert subject.bench.store[node] == subject.folded([subject.bench.slices[n] for n in own])
    return held


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["push", "push", "push", "skip", "leap", "insert", "insert", "amend"]),
        st.integers(0, 1 << 16),
    ),
    max_size=60,
)


@pytest.mark.parametrize("algebra", [Concatenation(), Max()], ids=lambda algebra: algebra.name)
@settings(max_examples=150, deadline=None)
@given(spans=st.lists(st.sampled_from([1, 2, 3, 5, 7, 12, 31, 50]), min_size=1, max_size=3), steps=STEPS)
def test_any_arrival_order_keeps_the_invariants_and_answers_like_brute_force(algebra, spans, steps):
    subject = Subject(algebra, spans)
    lows = [0] * len(spans)
    for act, chance in steps:
        _step(subject, act, chance)
        check(subject)
        for query, span in enumerate(spans):
            oldest = max(lows[query], subject.newest - span + 1)
            lows[query] = min(oldest + chance % 3, max(subject.newest, 0))
            assert subject.answer(lows[query]) == subject.expected(lows[query])


def _step(subject: Subject, act: str, chance: int) -> None:
    """One thing that can happen; where it cannot, the next slice comes."""
    oldest = max(0, subject.newest - max(subject.spans) + 1)
    among = [n for n in range(oldest, subject.newest + 1) if (n in subject.bench.slices) == (act == "amend")]
    if act == "insert" and among:
        subject.insert(among[chance % len(among)])
    elif act == "amend" and among:
        subject.amend(among[chance % len(among)])
    elif act == "skip":
        subject.push(subject.newest + 2 + chance % 3)
    elif act == "leap":
        subject.push(subject.newest + 1 + chance % (2 * max(subject.spans)))
    else:
        subject.push(subject.newest + 1)


@pytest.mark.parametrize("span", [1, 2, 3, 6, 7, 40, 100])
def test_every_suffix_of_every_window_is_answered(span):
    subject = Subject(Concatenation(), [span])
    for number in range(3 * span + 2):
        subject.push(number)
        check(subject)
        for low in range(number - span + 1, number + 1):
            assert subject.answer(low) == subject.expected(low)


def test_slices_that_arrive_backwards_are_put_in_order():
    subject = Subject(Concatenation(), [200])
    subject.push(199)
    for number in range(198, -1, -1):
        subject.insert(number)
        check(subject)
    assert subject.answer(0) == subject.expected(0)
    assert subject.answer(77) == subject.expected(77)


def test_slices_that_arrive_in_random_order_are_put_in_order():
    numbers = list(range(300))
    random.Random(5).shuffle(numbers)
    subject = Subject(Concatenation(), [300])
    for number in numbers:
        (subject.push if number > subject.newest else subject.insert)(number)
    check(subject)
    for low in range(300):
        assert subject.answer(low) == subject.expected(low)


@pytest.mark.parametrize("filled", [True, False])
def test_a_leap_of_any_length_leaves_a_tree_in_order(filled):
    for leap in range(1, 105):
        subject = Subject(Concatenation(), [100])
        for number in range(0, 400, 3):
            subject.push(number)
        for number in range(398, 300, -1) if filled else ():
            if number not in subject.bench.slices:
                subject.insert(number)
        subject.push(subject.newest + leap)
        check(subject)
        assert subject.answer(0) == subject.expected(0)


def test_a_missing_low_counts_from_the_next_slice_there_is():
    subject = Subject(Concatenation(), [10])
    for number in (0, 1, 4, 5, 8):
        subject.push(number)
    assert subject.answer(2) == subject.expected(4)
    assert subject.answer(-5) == subject.expected(0)
    assert subject.answer(6) == subject.expected(8)


def test_a_window_without_slices_holds_nothing():
    subject = Subject(Concatenation(), [10])
    assert subject.answer(0, newest=3) == ""
    subject.push(4)
    assert subject.answer(5, newest=7) == ""


def test_a_late_slice_that_was_missing_is_taken_in_by_amending():
    subject = Subject(Concatenation(), [10])
    for number in (3, 4, 7):
        subject.push(number)
    subject.newest = 9  # 8 and 9 held nothing
    for number in (5, 0, 9, 8):
        subject.amend(number)
        check(subject)
        assert subject.answer(0) == subject.expected(0)


def test_a_slice_older_than_the_window_changes_nothing():
    subject = Subject(Concatenation(), [3])
    for number in range(6):
        subject.push(number)
    assert subject.tree.amend(subject.bench, 2, 5)
    subject.tree.insert(subject.bench, 1)
    check(subject)


def _slides(window: int) -> list[int]:
    """Operations of each slide in order, with the answer over the whole window, once it is full."""
    subject = Subject(Max(), [window])
    costs = []
    for number in range(3 * window + 600):
        cost = subject.cost(subject.push, number) + subject.cost(subject.answer, number - window + 1)
        costs += [cost] if number >= window else []
    return costs


# With 3^k - 1 slices, splits on the right and merges on the left fall on the same slide.
@pytest.mark.parametrize("window", [16, 256, 2186, 4096])
def test_a_slide_takes_a_constant_number_of_operations_however_wide_the_window(window):
    costs = _slides(window)
    assert sum(costs) / len(costs) <= 9.5
    assert max(costs) <= 8 * math.log2(window)


@pytest.mark.parametrize("window", [16, 256, 4096])
def test_the_whole_window_takes_one_operation(window):
    subject = Subject(Max(), [window])
    for number in range(2 * window):
        subject.push(number)
        assert subject.cost(subject.answer, number - window + 1) <= 1


WIDE = 4096
DISTANCES = [1, 2, 4, 16, 64, 256, 1024]


def _wide_tree(step: int) -> Subject:
    subject = Subject(Max(), [step * WIDE])
    for number in range(0, 2 * step * WIDE, step):
        subject.push(number)
    return subject


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_slice_inserted_near_the_newest_takes_operations_logarithmic_in_its_distance(distance):
    subject = _wide_tree(2)
    costs = []
    for _ in range(400):
        subject.push(subject.newest + 2)
        costs.append(subject.cost(subject.insert, subject.newest - 2 * distance + 1))
    assert sum(costs) / len(costs) <= 6 * math.log2(distance) + 6


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_slice_inserted_near_the_oldest_takes_operations_logarithmic_in_its_distance(distance):
    subject = _wide_tree(2)
    costs = []
    for _ in range(400):
        subject.push(subject.newest + 2)
        oldest = subject.newest - 2 * WIDE + 2
        costs.append(subject.cost(subject.insert, oldest + 2 * distance - 1))
    assert sum(costs) / len(costs) <= 6 * math.log2(distance) + 8


@pytest.mark.parametrize("from_newest", [True, False])
def test_amending_and_answering_take_operations_logarithmic_in_the_distance(from_newest):
    subject = _wide_tree(1)
    for distance in range(1, WIDE // 2):
        oldest = subject.newest - WIDE + 1
        number = subject.newest - distance if from_newest else oldest + distance
        bound = 7 * math.log2(distance + 1) + 7
        assert subject.cost(subject.amend, number) <= bound
        assert subject.cost(subject.answer, number) <= bound


@pytest.mark.parametrize("window", [16, 256, 4096])
def test_inserting_where_slices_are_evicted_does_not_split_and_merge_over_and_over(window):
    subject = Subject(Max(), [window])
    costs = []
    for number in range(0, 4 * window, 2):
        costs.append(subject.cost(subject.push, number))
        if number > window:
            costs.append(subject.cost(subject.insert, number - window + 1))
    assert sum(costs) / len(costs) <= 9


def test_a_leap_takes_no_more_operations_than_one_slice_may():
    for leap in (5, 100, 1000, 4000, 4095, 4096, 9000):
        subject = _wide_tree(1)
        cost = subject.cost(subject.push, subject.newest + leap)
        assert cost <= 8 * math.log2(WIDE)
        assert subject.answer(0) == subject.expected(0)


def test_no_slice_and_no_answer_takes_more_room_on_a_tape_than_was_said():
    tree, chance = FingerTree.new([70], 0, True), random.Random(3)
    tape, newest = new_tape(1 << 12), -1
    for _ in range(1500):
        newest += chance.choice([1, 1, 1, 2, 30])
        for act in ("push", "insert", "answer"):
            tape.used[0] = 0
            _do(tree, tape, act, newest, chance.randint(0, 69))
            assert tape.used[0] <= tree.effort()


def _do(tree: FingerTree, tape, act: str, newest: int, back: int) -> None:
    if act == "push":
        tree.push(tape, newest)
    elif act == "insert":
        tree.insert(tape, newest - back)
    else:
        tree.answer(tape, newest, newest - back, 0, 0)


# ---- compiled

GROUPS, SLIDES = 5, 400


def _slices_and_rows(spans: list[int], answers: int):
    kernel = FingerTree.new(spans, 0, True)
    values = np.random.default_rng(7).normal(size=(1, SLIDES, GROUPS))
    outs = identity_rows(Max(), answers, GROUPS)
    rows = rows_of(Max(), values, identity_rows(Max(), kernel.rows(), GROUPS), outs)
    return kernel, values, outs, rows


def test_the_compiled_tree_slides_like_brute_force():
    spans = [1, 7, 64, 100]
    newest_and_query = itertools.product(range(SLIDES), range(len(spans)))
    windows = [(newest, newest - spans[query] + 1, 1, query) for newest, query in newest_and_query]
    dues = np.array([(*window, out) for out, window in enumerate(sorted(windows))], np.int64)
    kernel, values, outs, rows = _slices_and_rows(spans, len(dues))
    tape, progress = new_tape(4 * kernel.effort()), np.zeros(2, np.int64)
    while not drive(kernel, tape, 0, SLIDES, dues, progress):
        play(tape, rows)
    play(tape, rows)
    for newest, low, _, _, out in dues:
        np.testing.assert_array_equal(outs[0, out], values[0, max(low, 0) : newest + 1].max(axis=0))


@numba.njit
def _arrive(kernel, sink, numbers):
    for number in numbers:
        insert(kernel, sink, number)
    amend(kernel, sink, numbers[0], numbers.max())


def test_the_compiled_tree_takes_slices_in_any_order():
    kernel, values, outs, rows = _slices_and_rows([SLIDES], SLIDES)
    numbers = np.random.default_rng(8).permutation(SLIDES)
    present, late = numbers[: SLIDES // 2], numbers[SLIDES // 2]
    tape = new_tape(SLIDES * kernel.effort())
    _arrive(kernel, tape, present)
    play(tape, rows)
    _arrive(kernel, tape, np.array([late]))
    dues = np.array([(SLIDES - 1, low, 1, 0, low) for low in range(present.max())], np.int64)
    drive(kernel, tape, SLIDES, 0, dues, np.zeros(2, np.int64))
    play(tape, rows)
    held = np.sort([*present, late])
    for low in range(present.max()):
        np.testing.assert_array_equal(outs[0, low], values[0, held[held >= low]].max(axis=0))
