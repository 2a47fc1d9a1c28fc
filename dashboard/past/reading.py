"""Reads the past of a window over a range: as much as can be drawn, from as few segments as hold it."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Max, Min

from dashboard.past import segments
from dashboard.past.known import slide_of
from dashboard.past.levels import DAY, FULL, HOUR, MINUTE, levels
from dashboard.past.models import Segment
from dashboard.past.segments import Line, Lines
from optimizer.queries import AnyQuery
from streaming.results import GroupKey

MOST_SPANS = 360  # of a line, each with two results: more than that many cannot be told apart on a chart
STEPS = [
    *(second * 1_000 for second in (1, 2, 5, 10, 15, 30)),
    *(minute * MINUTE for minute in (1, 2, 5, 10, 15, 30)),
    *(hour * HOUR for hour in (1, 2, 3, 6, 12)),
    *(day * DAY for day in (1, 2, 7, 14, 28, 84)),
]


@dataclass(frozen=True)
class Past:
    """Lines of one window over a range, and in what detail: `step` is 0 where every result is there."""

    lines: Lines
    step: int
    groups: int  # how many there are, of which `lines` may have the greatest alone


def read(
    query: AnyQuery,
    start: int,
    until: int,
    *,
    most_groups: int | None = None,
    groups: Iterable[GroupKey] | None = None,
    in_full: bool = False,
) -> Past:
    """Results whose windows end in [start, until); of those groups, or those with the greatest results."""
    slide = slide_of(query)
    step = 0 if in_full else chosen_step(until - start, slide)
    lines = _gathered(query.id, slide, _chosen_level(slide, step), start, until)
    lines = {group: line for group, line in lines.items() if len(line[0])}
    wanted = list(groups) if groups is not None else segments.greatest(lines, most_groups or len(lines))
    shown = {group: lines[group] for group in wanted if group in lines}
    if step:
        shown = {group: segments.thinned(line, step) for group, line in shown.items()}
    return Past(shown, step, len(lines))


def chosen_step(span: int, slide: int) -> int:
    """How long the spans are of which two results are shown; 0: all of them fit.

    >>> chosen_step(15 * MINUTE, 1_000), chosen_step(6 * HOUR, 10_000), chosen_step(30 * DAY, 10_000)
    (5000, 60000, 7200000)
    >>> chosen_step(15 * MINUTE, 10_000)
    0
    """
    if span <= 2 * MOST_SPANS * slide:
        return 0
    return next((step for step in STEPS if span <= MOST_SPANS * step), STEPS[-1])


def extent(ids: Iterable[str]) -> tuple[int | None, int | None]:
    """When the past of these windows begins, and the newest result in it."""
    found = Segment.objects.filter(window__query__in=list(ids)).aggregate(
        first=Min("start"), last=Max("newest")
    )
    return found["first"], found["last"]


def _chosen_level(slide: int, step: int) -> int:
    return max((level for level in levels(slide) if level <= step), default=FULL)


def _gathered(query: str, slide: int, level: int, start: int, until: int) -> Lines:
    """The level's own segments; before them coarser ones, over them finer ones that it does not have yet."""
    of = levels(slide)
    at = of.index(level)
    found = Segment.objects.filter(window__query=query, start__lt=until, until__gt=start).order_by("start")
    lines: Lines = {}
    for one in found.filter(level=level):
        segments.merge_into(lines, segments.decode(bytes(one.data), one.start))
    for finer in reversed(of[:at]):
        for one in found.filter(level=finer, is_rolled_up=False):
            _replace(lines, one)
    lines = {group: segments.between(line, start, until) for group, line in lines.items()}
    begins = Segment.objects.filter(window__query=query, level=level).aggregate(first=Min("start"))["first"]
    missing_until = until if begins is None else min(until, begins)
    if at + 1 < len(of) and missing_until > start:
        older = _gathered(query, slide, of[at + 1], start, missing_until)
        segments.merge_into(older, lines)
        return older
    return lines


def _replace(lines: Lines, segment: Segment) -> None:
    finer = segments.decode(bytes(segment.data), segment.start)
    for group, line in list(lines.items()):
        lines[group] = segments.without(line, segment.start, segment.until)
    segments.merge_into(lines, finer)


def points(line: Line) -> list[list[float | None]]:
    """[end, value] in order of time; None where a window held no value."""
    return [
        [end, None if value != value else value]
        for end, value in zip(line[0].tolist(), line[1].tolist(), strict=True)
    ]
