"""Histories for kernels: slices of several groups, windows that become due after each, and what they hold."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from streaming.aggregates.base import Aggregate
from streaming.kernels import SliceRing, batched, element

Window = tuple[int, int, int]  # query, low, newest slice


@dataclass
class History:
    """`slices[number][group]` are the values of a slice; `due[number]` the windows to answer after it."""

    queries: int
    spans: list[int]
    slices: list[list[list[Any]]]
    due: list[list[Window]]
    batches: list[int] = field(default_factory=list)  # how many slices come at once

    @property
    def groups(self) -> int:
        return max(len(slice_) for slice_ in self.slices)

    def values(self, group: int, low: int, newest: int) -> list[Any]:
        """All values of a group in a window, oldest first."""
        inside = self.slices[max(low, 0) : newest + 1]
        return [value for slice_ in inside if group < len(slice_) for value in slice_[group]]


@st.composite
def histories(draw: st.DrawFn, values: st.SearchStrategy[Any], ranges: str, regular: bool) -> History:
    """`ranges` is single, several or all; groups appear on the way, and some slices hold nothing for some."""
    spans = draw(_spans(ranges))
    count = draw(st.sampled_from([1, 2, 3, 7, 8, 13, 24]))
    groups, slices, due = draw(st.integers(1, 2)), [], []
    lows = [1 - span for span in spans] if regular else [0] * len(spans)
    for number in range(count):
        groups += draw(st.integers(0, 7)) == 0
        slices.append([draw(st.lists(values, max_size=2)) for _ in range(groups)])
        now = []
        for query, span in enumerate(spans):
            if regular:
                lows[query] = number - span + 1
            else:
                lows[query] = draw(st.integers(max(lows[query], number - span + 1), number))
            if regular or draw(st.booleans()):
                now.append((query, lows[query], number))
        due.append(now)
    history = History(len(spans), spans, slices, due)
    while sum(history.batches) < count:
        history.batches.append(draw(st.integers(1, count - sum(history.batches))))
    return history


def _spans(ranges: str) -> st.SearchStrategy[list[int]]:
    if ranges == "single":
        return st.sampled_from([1, 2, 3, 5, 8, 11]).map(lambda span: [span])
    if ranges == "several":
        return st.lists(st.integers(1, 11), min_size=2, max_size=4)
    return st.integers(2, 9).map(lambda longest: list(range(1, longest + 1)))


def lifted(aggregate: Aggregate, part: int, values: list[Any]) -> Any:
    """The partial of a slice: its values folded."""
    algebra = aggregate.parts[part]
    state = algebra.identity
    for value in values:
        state = algebra.combine(state, aggregate.lift(value)[part])
    return state


Answers = dict[tuple[int, Window], Any]  # by group and window, a state


def by_element(kernel: str, aggregate: Aggregate, part: int, history: History) -> Answers:
    answers: Answers = {}
    for group in range(history.groups):
        single = element(kernel, aggregate.parts[part], history.spans)
        for slice_, due in zip(history.slices, history.due, strict=True):
            lows: list[int | None] = [None] * history.queries
            for query, low, _ in due:
                lows[query] = low
            partial = lifted(aggregate, part, slice_[group] if group < len(slice_) else [])
            for window, state in zip(due, single.push(partial, lows), strict=True):
                answers[group, window] = state
    return answers


def partial_rows(aggregate: Aggregate, part: int, slices: list[list[list[Any]]], groups: int) -> np.ndarray:
    algebra = aggregate.parts[part]
    states = [
        [lifted(aggregate, part, slice_[group] if group < len(slice_) else []) for group in range(groups)]
        for slice_ in slices
    ]
    if algebra.dtype is object:
        rows = np.empty((1, len(slices), groups), object)
        for number, row in enumerate(states):
            for group, state in enumerate(row):
                rows[0, number, group] = state
        return rows
    return np.moveaxis(np.array(states, algebra.dtype), 2, 0)


def by_batches(
    kernel: str,
    aggregate: Aggregate,
    part: int,
    history: History,
    before_each: Callable[[SliceRing, Any, int], None] = lambda ring, kernels, number: None,
) -> Answers:
    ring = SliceRing(aggregate.parts[part])
    kernels = batched(kernel, ring, [1] * history.queries)  # spans are learnt on the way
    answers: Answers = {}
    number = 0
    for count in history.batches:
        before_each(ring, kernels, number)
        new = history.slices[number : number + count]
        width = max(len(slice_) for slice_ in history.slices[: number + count])
        ring.append(partial_rows(aggregate, part, new, width))
        due = [window for windows in history.due[number : number + count] for window in windows]
        due.sort(key=lambda window: (window[2], window[1]))
        table = [(newest, low, 1, query, place) for place, (query, low, newest) in enumerate(due)]
        found = kernels.advance(np.array(table, np.int64).reshape(-1, 5))
        for place, window in enumerate(due):
            for group in range(width):
                state = found[:, place, group]
                answers[group, window] = state[0] if ring.algebra.dtype is object else tuple(state)
        number += count
        ring.evict_before(number - max(history.spans))
    return answers
