"""Writes final results down: one writer, whose place in the topic is kept in the same transaction.

Whatever dies between two transactions, the next writer goes on at the place that belongs to the segments that
are there: nothing is missing and nothing is there twice. A writer that was displaced finds another owner at
the place and writes nothing.
"""

import secrets
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta

import numpy as np
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from dashboard.past import segments
from dashboard.past.known import KnownWindow
from dashboard.past.levels import DAY, FULL, MINUTE, levels, pairs, segment_start
from dashboard.past.levels import length as segment_length
from dashboard.past.models import HistoryPlace, PastWindow, Segment
from dashboard.past.segments import Lines
from streaming.results import ResultBlock

SILENT_AFTER = timedelta(seconds=30)
MOST_GROUPS = 500  # of a segment, those with the greatest results
SETTLED_MS = DAY  # a segment this old is thinned even where no newer result says that it is over
MINUTES_KEPT_DAYS = 7  # of the spans of a minute; a month is drawn from longer ones
ROLLED_AT_ONCE = 200


class Displaced(Exception):
    """Another writer has taken over."""


def new_owner() -> str:
    return secrets.token_hex(16)


class Writer:
    """Blocks in, segments out. `claim` first; then `take` and `flush`."""

    def __init__(self, topic: str, owner: str = "") -> None:
        self.topic = topic
        self.owner = owner or new_owner()
        self._blocks: dict[str, list[ResultBlock]] = {}
        self.pending = 0  # results taken and not yet written

    def claim(self) -> int | None:
        """The offset to go on from, or None while another writer is alive."""
        with transaction.atomic():
            HistoryPlace.objects.get_or_create(topic=self.topic)
            place = HistoryPlace.objects.select_for_update().get(topic=self.topic)
            taken = place.owner not in ("", self.owner) and place.alive_at is not None
            if taken and place.alive_at is not None and timezone.now() - place.alive_at < SILENT_AFTER:
                return None
            place.owner, place.alive_at = self.owner, timezone.now()
            place.save()
            return place.offset

    def release(self) -> None:
        HistoryPlace.objects.filter(topic=self.topic, owner=self.owner).update(owner="", alive_at=None)

    def take(self, blocks: Iterable[ResultBlock]) -> None:
        for block in blocks:
            if block.final:
                self._blocks.setdefault(block.query, []).append(block)
                self.pending += block.size

    def flush(self, offset: int, known: Mapping[str, KnownWindow]) -> None:
        """Write what was taken, with the offset after it; results of unknown queries are left out."""
        with transaction.atomic():
            place = self._own_place()
            for query, blocks in self._blocks.items():
                if query in known:
                    _write(query, blocks, known[query].slide)
            place.offset, place.alive_at = offset, timezone.now()
            place.save()
        self._blocks, self.pending = {}, 0

    def roll_up(self, known: Mapping[str, KnownWindow], now: int) -> int:
        """Thin segments that are over into the levels above; how many there were."""
        full = Segment.objects.filter(level=FULL).values("window__query")
        newest = dict(full.annotate(last=Max("newest")).values_list("window__query", "last"))
        done = 0
        for query in newest.keys() & known.keys():
            over = max(newest[query], now - SETTLED_MS)
            for level, above in pairs(known[query].slide):
                done += self._roll_up_level(query, known[query].slide, level, above, over)
        return done

    def _roll_up_level(self, query: str, slide: int, level: int, above: int, over: int) -> int:
        due = Segment.objects.filter(window__query=query, level=level, is_rolled_up=False, until__lte=over)
        done = 0
        while batch := list(due.order_by("start")[:ROLLED_AT_ONCE]):
            with transaction.atomic():
                self._own_place()
                for start, children in _by_parent(batch, above, slide).items():
                    _roll_into(start, children, above, slide)
                Segment.objects.filter(pk__in=[one.pk for one in batch]).update(is_rolled_up=True)
            done += len(batch)
        return done

    def tidy(self, known: Mapping[str, KnownWindow], now: int) -> None:
        """Delete what the policies no longer keep, and the past of queries that are gone for good."""
        with transaction.atomic():
            self._own_place()
            for window in PastWindow.objects.all():
                policy = known.get(window.query)
                if policy is None:
                    window.delete()
                    continue
                for level in levels(policy.slide):
                    before = now - _kept_days(level, policy) * DAY
                    window.segments.filter(level=level, until__lt=before).delete()

    def _own_place(self) -> HistoryPlace:
        place = HistoryPlace.objects.select_for_update().get(topic=self.topic)
        if place.owner != self.owner:
            raise Displaced(f"Another process writes the history of {self.topic}.")
        return place


def _kept_days(level: int, policy: KnownWindow) -> int:
    if level == levels(policy.slide)[-1]:
        return policy.kept_days
    if level == MINUTE:
        return min(policy.kept_days, max(policy.detail_days, MINUTES_KEPT_DAYS))
    return policy.detail_days if level == FULL else policy.kept_days


def _write(query: str, blocks: list[ResultBlock], slide: int) -> None:
    window, _ = PastWindow.objects.get_or_create(query=query)
    by_segment: dict[int, list[ResultBlock]] = {}
    for block in blocks:
        by_segment.setdefault(segment_start(block.end, FULL, slide), []).append(block)
    there = {
        one.start: one
        for one in Segment.objects.filter(window=window, level=FULL, start__in=list(by_segment))
    }
    for start, alike in by_segment.items():
        known = there.get(start)
        lines = segments.decode(bytes(known.data), start) if known else {}
        for more in _lines(alike):
            segments.merge_into(lines, more)
        _save(known or Segment(window=window, level=FULL, start=start), lines, slide)


def _lines(blocks: Iterable[ResultBlock]) -> Iterator[Lines]:
    """The results by group: blocks with the same groups together, as most have them."""
    last = {(block.end, block.shard): block for block in blocks}  # a later one replaces an earlier one
    alike: dict[bytes, dict[int, ResultBlock]] = {}
    for block in last.values():
        alike.setdefault(bytes(block.keys), {})[block.end] = block
    for by_end in alike.values():
        ends = np.array(sorted(by_end), np.int64)
        values = np.array([np.frombuffer(by_end[end].values, np.float64) for end in ends.tolist()])
        values[~np.isfinite(values)] = np.nan
        # A group that comes twice in a block (count windows) is there with the last of its windows.
        position = {tuple(group): at for at, group in enumerate(by_end[int(ends[0])].groups)}
        yield {group: (ends, np.ascontiguousarray(values[:, at])) for group, at in position.items()}


def _save(segment: Segment, lines: Lines, slide: int) -> None:
    if len(lines) > MOST_GROUPS:
        lines = {group: lines[group] for group in segments.greatest(lines, MOST_GROUPS)}
    lines = {group: line for group, line in lines.items() if len(line[0])}
    if not lines:
        return
    segment.until = segment.start + segment_length(segment.level, slide)
    segment.oldest, segment.newest = segments.first_and_last(lines.values())
    segment.is_rolled_up = False
    segment.data = segments.encode(lines, segment.start)
    segment.save()


def _by_parent(children: Iterable[Segment], level: int, slide: int) -> dict[int, list[Segment]]:
    found: dict[int, list[Segment]] = {}
    for child in children:
        found.setdefault(segment_start(child.start, level, slide), []).append(child)
    return found


def _roll_into(start: int, children: list[Segment], level: int, slide: int) -> None:
    window = children[0].window_id
    known = Segment.objects.filter(window_id=window, level=level, start=start).first()
    lines = segments.decode(bytes(known.data), start) if known else {}
    for child in children:
        lines = {group: segments.without(line, child.start, child.until) for group, line in lines.items()}
        thin = segments.decode(bytes(child.data), child.start)
        segments.merge_into(lines, {group: segments.thinned(line, level) for group, line in thin.items()})
    _save(known or Segment(window_id=window, level=level, start=start), lines, slide)
