"""The recent past of every query, kept as the blocks in which results arrive.

Blocks may come in any order and any number of times (a replayed batch sends its blocks again): per query,
window end and shard the block of the greatest rank wins, so only the set of blocks seen matters.
"""

from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from dashboard.live.pages import Page
from streaming.results import GroupKey, ResultBlock

HORIZON_MS = 15 * 60_000
MAX_POINTS = 3_000


class Point(NamedTuple):
    """One window of one group."""

    end: int
    value: float | None
    final: bool


Line = list[tuple[int, float | None, bool]]  # as many points, plain


@dataclass
class WindowHistory:
    """The kept points of one single-window query: 15 minutes up to its newest final result."""

    ends: list[int] = field(default_factory=list)  # ascending
    newest_final: int | None = None
    revision: int = 0
    _pages: dict[int, dict[int, Page]] = field(default_factory=dict)  # by shard, then window end
    _in_use: dict[Page, None] = field(default_factory=dict)  # those with rows, oldest change first
    _newest: dict[int, Page] = field(default_factory=dict)  # by shard
    _groups: set[GroupKey] | None = None  # while the pages in use stay the same
    _top: tuple[int, int, list[GroupKey]] | None = None  # revision, count and answer of the last `top`

    def add(self, block: ResultBlock, revision: int) -> bool:
        """Take a block in; False when it is out of reach or not newer than what is there."""
        if self._too_old(block.end):
            return False
        pages = self._pages.setdefault(block.shard, {})
        known = pages.get(block.end)
        if known is not None and known.rank(block.end) >= (block.final, block.batch):
            return False
        if not any(self._at(block.end)):
            insort(self.ends, block.end)
        page = self._page(block)
        if known is not None and known is not page:
            self._drop(known, block.end)
        page.put(block, revision)
        pages[block.end] = page
        self._use(page)
        self.revision = revision
        if block.final:
            self.newest_final = max(block.end, self.newest_final or block.end)
        self._prune()
        return block.end in pages

    def points(self, group: GroupKey, since: int = 0) -> list[Point]:
        """The group's points in order of time; with `since`, those that changed after that revision."""
        return [Point(*one) for one in self.lines([group], since)[group]]

    def lines(self, groups: Sequence[GroupKey], since: int = 0) -> dict[GroupKey, Line]:
        """The points of each of the groups, as `points` says, of all of them at once."""
        parts: dict[GroupKey, list[tuple[Line, list[int]]]] = {}
        for page in self._changed_after(since):
            lines = page.lines(groups, since)
            for group, values in zip(lines.groups, lines.values, strict=True):
                line = list(zip(lines.ends, values, lines.finals, strict=True))
                parts.setdefault(group, []).append((line, lines.batches))
        return {group: _merged(parts.get(group, [])) for group in groups}

    def groups(self) -> set[GroupKey]:
        """Every group that has a point."""
        if self._groups is None:
            self._groups = {group for page in self._in_use for group in page.groups}
        return self._groups

    def top(self, count: int) -> list[GroupKey]:
        """The groups with the greatest newest final values (provisional ones while nothing is final)."""
        if self._top is None or self._top[:2] != (self.revision, count):
            newest = self._newest_values()
            ranked = nlargest(count, newest.items(), key=lambda item: (item[1] is not None, item[1] or 0.0))
            self._top = (self.revision, count, [group for group, _ in ranked])
        return self._top[2]

    def _newest_values(self) -> dict[GroupKey, float | None]:
        # Shards deliver one after the other: the end before the newest fills in for those still to come.
        finals = (end for end in reversed(self.ends) if any(page.rank(end)[0] for page in self._at(end)))
        values: dict[GroupKey, float | None] = {}
        for end in reversed([*islice(finals, 2)] or self.ends[:-3:-1]):
            for page in self._at(end):
                values.update(page.newest(end))
        return values

    def _at(self, end: int) -> Iterator[Page]:
        """The pages of all shards that have this window."""
        return (pages[end] for pages in self._pages.values() if end in pages)

    def _changed_after(self, revision: int) -> Iterator[Page]:
        for page in reversed(self._in_use):
            if page.revision <= revision:
                return
            yield page

    def _page(self, block: ResultBlock) -> Page:
        """Where its row belongs: beside the shard's newest, if it has the same groups."""
        known = self._newest.get(block.shard)
        if known is None or not known.has_groups_of(block):
            known = self._newest[block.shard] = Page(block)
        return known

    def _use(self, page: Page) -> None:
        if page in self._in_use:
            del self._in_use[page]
        else:
            self._groups = None
        self._in_use[page] = None

    def _drop(self, page: Page, end: int) -> None:
        page.drop(end)
        if not page:
            del self._in_use[page]
            self._groups = None

    def _too_old(self, end: int) -> bool:
        full = len(self.ends) >= MAX_POINTS and end < self.ends[0]
        expired = self.newest_final is not None and end <= self.newest_final - HORIZON_MS
        return full or expired

    def _prune(self) -> None:
        while len(self.ends) > MAX_POINTS or self._too_old(self.ends[0]):
            end = self.ends.pop(0)
            for pages in self._pages.values():
                if end in pages:
                    self._drop(pages.pop(end), end)


class History:
    """The windows of all queries, by single-window query id; a revision counts every change."""

    def __init__(self) -> None:
        self.windows: dict[str, WindowHistory] = {}
        self.revision = 0

    def add(self, block: ResultBlock) -> bool:
        window = self.windows.setdefault(block.query, WindowHistory())
        changed = window.add(block, self.revision + 1)
        self.revision += changed
        return changed

    def keep_only(self, query_keys: set[str]) -> None:
        """Drop the history of queries that no longer exist."""
        for query_id in [known for known in self.windows if query_key(known) not in query_keys]:
            del self.windows[query_id]


def query_key(query_id: str) -> str:
    """The saved query's key of a single-window query id.

    >>> query_key("hot@1m/10s"), query_key("hot@1m/10s max(a || '@')")
    ('hot', 'hot')
    """
    return query_id.partition("@")[0]  # a key has no “@”; an expression may


def _merged(parts: list[tuple[Line, list[int]]]) -> Line:
    """One line of several with the batches of their points; of one window the point of the best block."""
    if len(parts) == 1:
        return parts[0][0]
    ranked = [
        (end, final, batch, value)
        for line, batches in parts
        for (end, value, final), batch in zip(line, batches, strict=True)
    ]
    best = {end: (end, value, final) for end, final, _, value in sorted(ranked, key=itemgetter(0, 1, 2))}
    return list(best.values())
