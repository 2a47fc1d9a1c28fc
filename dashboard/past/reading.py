"""Reads the past of a window over a range: as much as can be drawn, from as few segments as hold it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Max, Min

from dashboard.past import segments
from dashboard.past.known import slide_of
from dashboard.past.levels import DAY, FULL, HOUR, MINUTE, levels
from dashboard.past.models import Segment
from dashboard.past.segments import Lines
from optimizer.queries import AnyQuery
from streaming.results import GroupKey

LOADED_AT_ONCE = 500  # segments
MOST_SPANS = 240  # of a line, each with two results: more than that many cannot be told apart on a chart
STEPS = [
    *(second * 1_000 for second in (1, 2, 5, 10, 15, 30)),
    *(minute * MINUTE for minute in (1, 2, 5, 10, 15, 30)),
    *(hour * HOUR for hour in (1, 2, 3, 6, 12)),
    *(day * DAY for day in (1, 2, 7, 14, 28, 84)),
]


@dataclass(frozen=True)
class Past:
    """Lines of one window over a range, and in what detail: `step` is 0 where every result is there.

    Else there are two results for every `step`, and what is further apart than those is a gap.
    """

    lines: Lines
    step: int
    groups: int  # how many there are, of which `lines` may have the greatest alone


@dataclass(frozen=True)
class Wanted:
    """A range, and which groups of it: those named, or those with the greatest results, or all."""

    start: int  # windows that end from then on
    until: int  # and before
    most_groups: int | None = None
    groups: Sequence[GroupKey] | None = None
    in_full: bool = False


def read(query: AnyQuery, start: int, until: int, **more: Any) -> Past:
    """The past of one window."""
    return read_all([query], Wanted(start, until, **more))[query.id]


def read_all(queries: Iterable[AnyQuery], wanted: Wanted) -> dict[str, Past]:
    """By id, the past of several windows, with few questions to the database for all of them."""
    slides = {query.id: slide_of(query) for query in queries}
    index = _Index(slides, wanted.start, wanted.until)
    steps = {
        query: 0 if wanted.in_full else chosen_step(wanted.until - wanted.start, slide)
        for query, slide in slides.items()
    }
    parts = {query: index.parts(query, _chosen_level(slides[query], step)) for query, step in steps.items()}
    if not wanted.in_full:  # where only thinned results are left, they lie further apart than was asked for
        steps = {query: max([step, *(part.level for part in parts[query])]) for query, step in steps.items()}
    data = _loaded(part.pk for of_query in parts.values() for part in of_query)
    return {query: _shown(_gathered(parts[query], data), steps[query], wanted) for query in slides}


def _shown(lines: Lines, step: int, wanted: Wanted) -> Past:
    seen = {group: segments.between(line, wanted.start, wanted.until) for group, line in lines.items()}
    seen = {group: line for group, line in seen.items() if len(line[0])}
    if wanted.groups is not None:
        groups = [group for group in wanted.groups if group in seen]
    else:
        groups = segments.greatest(seen, wanted.most_groups or len(seen))
    shown = {group: segments.thinned(seen[group], step) if step else seen[group] for group in groups}
    return Past(shown, step, len(seen))


def chosen_step(span: int, slide: int) -> int:
    """How long the spans are of which two results are shown; 0: all of them fit.

    >>> chosen_step(15 * MINUTE, 1_000), chosen_step(6 * HOUR, 10_000), chosen_step(30 * DAY, 10_000)
    (5000, 120000, 10800000)
    >>> chosen_step(15 * MINUTE, 10_000)
    0
    """
    if span <= 2 * MOST_SPANS * slide:
        return 0
    return next((step for step in STEPS if span <= MOST_SPANS * step), STEPS[-1])


def extent(ids: Iterable[str]) -> tuple[int | None, int | None]:
    """When the past of these windows begins, and the newest result in it."""
    found = Segment.objects.filter(window__query__in=list(ids)).aggregate(
        first=Min("oldest"), last=Max("newest")
    )
    return found["first"], found["last"]


def _chosen_level(slide: int, step: int) -> int:
    return max((level for level in levels(slide) if level <= step), default=FULL)


@dataclass(frozen=True)
class _Part:
    """A segment, and the span for which it counts: what an earlier part has of it is replaced."""

    pk: int
    level: int
    start: int
    low: int
    high: int


class _Index:
    """Where the segments of some windows lie that touch a range, without what is in them."""

    def __init__(self, slides: dict[str, int], start: int, until: int) -> None:
        self._slides, self._start, self._until = slides, start, until
        of_windows = Segment.objects.filter(window__query__in=list(slides))
        touching = of_windows.filter(start__lt=until, until__gt=start).order_by("start")
        self._found: dict[tuple[str, int], list[tuple[int, int, int, bool]]] = {}
        columns = ("window__query", "level", "pk", "start", "until", "is_rolled_up")
        for query, level, *place in touching.values_list(*columns):
            self._found.setdefault((query, level), []).append(tuple(place))
        begins = of_windows.values_list("window__query", "level").annotate(Min("start"))
        self._begins = {(query, level): first for query, level, first in begins}

    def parts(self, query: str, level: int, until: int | None = None) -> list[_Part]:
        """The level's own segments; before them coarser ones, over them finer ones that it lacks as yet."""
        of, until = levels(self._slides[query]), self._until if until is None else until
        at = of.index(level)
        own = [
            _Part(pk, level, low, max(low, self._start), min(high, until))
            for pk, low, high, _ in self._found.get((query, level), ())
            if low < until
        ]
        for finer in reversed(of[:at]):
            own += [
                _Part(pk, finer, low, max(low, self._start), min(high, until))
                for pk, low, high, is_rolled_up in self._found.get((query, finer), ())
                if low < until and not is_rolled_up
            ]
        older_until = min(until, self._begins.get((query, level), until))
        if at + 1 < len(of) and older_until > self._start:
            return [*self.parts(query, of[at + 1], older_until), *own]
        return own


def _loaded(pks: Iterable[int]) -> dict[int, bytes]:
    wanted = sorted(set(pks))
    return {
        pk: bytes(data)
        for low in range(0, len(wanted), LOADED_AT_ONCE)
        for pk, data in Segment.objects.filter(pk__in=wanted[low : low + LOADED_AT_ONCE]).values_list(
            "pk", "data"
        )
    }


def _gathered(parts: Iterable[_Part], data: dict[int, bytes]) -> Lines:
    lines: Lines = {}
    reached = 0
    for part in parts:
        found = segments.decode(data[part.pk], part.start)
        found = {group: segments.between(line, part.low, part.high) for group, line in found.items()}
        if part.low < reached:
            lines = {group: segments.without(line, part.low, part.high) for group, line in lines.items()}
        reached = max(reached, part.high)
        segments.merge_into(lines, found)
    return lines
