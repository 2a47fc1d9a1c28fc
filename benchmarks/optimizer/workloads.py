"""Workloads as the papers generate them (SHEIN 5.4.1, 6.6.1, 7.3.1): windows drawn from a few parameters.

One of the papers' time units is a second, so that their λ is our events per second.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from optimizer.durations import UNITS_MS
from optimizer.queries import Query
from optimizer.windows import Window

SECOND = UNITS_MS["s"]
Slides = Literal["any", "factors", "primes"]  # the papers' Nrm, Nrm of chapter 7, and Div
ROUND_SLIDES = (1, 2, 3, 5, 6, 7, 10, 12, 15, 20, 30, 45, 60, 90, 120, 300, 600, 900, 1800, 3600)


@dataclass(frozen=True)
class Setting:
    """One point of an experiment, in the papers' parameters."""

    queries: int  # Qnum
    longest_slide: int  # Smax, in seconds
    rate: float  # λ
    skew: float = 0.0  # Zskew; above zero favours long slides, below zero short ones
    largest_overlap: int = 1  # Omax
    slides: Slides = "any"  # Gen
    fragments: bool = False  # whether ranges may be other than multiples of their slides


def windows_of(setting: Setting, seed: int = 0) -> list[Window]:
    """A window for each query, in the order drawn; several queries may have the same one.

    >>> setting = Setting(queries=3, longest_slide=12, rate=1, largest_overlap=4, slides="factors")
    >>> [(window.range, window.slide) for window in windows_of(setting, seed=1)]
    [(16000, 4000), (48000, 12000), (1000, 1000)]
    """
    draws = np.random.default_rng(seed)
    lengths = slide_lengths(setting.longest_slide, setting.slides)
    slides = draws.choice(lengths, size=setting.queries, p=popularity(lengths, setting.skew))
    if setting.fragments:
        overlaps = draws.uniform(1, setting.largest_overlap, size=setting.queries)
        ranges = np.floor(slides * overlaps).astype(np.int64)
    else:
        ranges = slides * draws.integers(1, setting.largest_overlap, size=setting.queries, endpoint=True)
    pairs = list(zip(ranges.tolist(), slides.tolist(), strict=True))
    distinct = {(length, slide): Window(length * SECOND, slide * SECOND) for length, slide in set(pairs)}
    return [distinct[pair] for pair in pairs]


def slide_lengths(longest: int, kind: Slides) -> NDArray[np.int64]:
    """The slides that can be drawn, in seconds, shortest first.

    >>> slide_lengths(12, "factors").tolist(), slide_lengths(12, "primes").tolist()
    ([1, 2, 3, 4, 6, 12], [2, 3, 5, 7, 11])
    """
    lengths: NDArray[np.int64] = np.arange(1, longest + 1)
    if kind == "factors":
        return lengths[longest % lengths == 0]
    if kind == "primes":
        composite = np.zeros(longest + 1, dtype=np.bool_)
        for length in range(2, int(longest**0.5) + 1):
            composite[length * length :: length] = True
        return lengths[1:][~composite[2:]]
    return lengths


def popularity(lengths: NDArray[np.int64], skew: float) -> NDArray[np.float64]:
    """How likely each length is: in proportion to length^skew.

    With weights by rank instead, as Zipf's law has them, the published Bit Set would have run out of memory
    in other settings of SHEIN's Exp 2 to 5 than those it did.

    >>> popularity(np.array([1, 3]), 1).round(2).tolist(), popularity(np.array([1, 3]), -1).round(2).tolist()
    ([0.25, 0.75], [0.75, 0.25])
    """
    exponents = skew * np.log(lengths)
    weights = np.exp(exponents - exponents.max())
    likely: NDArray[np.float64] = weights / weights.sum()
    return likely


def as_queries(windows: Iterable[Window], aggregate: str = "sum") -> list[Query]:
    """A query for each window, all of one family, with ids in the order given."""
    return [
        Query(f"q{number:07}", f"q{number:07}", aggregate, "value", window)
        for number, window in enumerate(windows)
    ]


def mixed_queries(count: int, seed: int = 0) -> list[Query]:
    """Queries as people ask them: round slides, some ranges that are no multiples, several families."""
    draws = np.random.default_rng(seed)
    queries = []
    for number in range(count):
        slide = int(draws.choice(ROUND_SLIDES))
        length = slide * int(draws.integers(1, 12, endpoint=True))
        if draws.random() < 1 / 3:
            length += int(draws.integers(slide))
        window = Window(length * SECOND, slide * SECOND)
        aggregate = str(draws.choice(["count", "sum", "mean", "min", "max"]))
        group_by = ("device",) if draws.random() < 1 / 2 else ()
        name = f"q{number:07}"
        queries.append(Query(name, name, aggregate, "value", window, group_by))
    return queries
