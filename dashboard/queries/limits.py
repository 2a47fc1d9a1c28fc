"""Limits that an administrator sets (`settings.LIMITS`): what would burst one is refused before it is saved.

A paused query takes nothing: it is asked about when it is resumed. How many groups there are, meters tell.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import QuerySet

from dashboard.live.meters import statistics
from dashboard.queries.drafts import Problem
from dashboard.queries.models import SavedQuery
from dashboard.queries.written import Written
from dashboard.sources.models import Source
from optimizer.queries import AnyWindowSpec, InvalidQuery, QuerySpec
from optimizer.windows import Window

NO_LIMIT = 0


@dataclass(frozen=True)
class _Use:
    """What some queries that run take of what is limited."""

    queries: int = 0
    windows: int = 0  # of all of their computations
    groups: int = 0
    results: float = 0.0  # a second

    def plus(self, other: "_Use") -> "_Use":
        return _Use(
            self.queries + other.queries,
            self.windows + other.windows,
            self.groups + other.groups,
            self.results + other.results,
        )


def limited(written: Written, person: User | None, editing: SavedQuery | None = None) -> Written:
    """What was typed, with the limit that it would burst as a problem; an owner's edit stays the owner's."""
    checked = written.checked
    if checked.answerable is None or written.draft.source is None:
        return written
    owner = editing.owner if editing is not None else person
    problems = dict(checked.problems)
    for field, sentence in refusals(written.draft.source, checked.answerable, owner, editing):
        problems.setdefault(field, Problem(sentence))
    return replace(written, checked=replace(checked, problems=problems))


def check_limits(
    source: Source, spec: QuerySpec, owner: User | None, editing: SavedQuery | None = None
) -> None:
    """Raises InvalidQuery for the first limit that a query would burst."""
    for field, sentence in refusals(source, spec, owner, editing):
        raise InvalidQuery(field, sentence)


def refusals(
    source: Source, spec: QuerySpec, owner: User | None, editing: SavedQuery | None = None
) -> Iterator[tuple[str, str]]:
    """By field, in words, what the query would burst if it were saved in place of `editing`."""
    yield from _overlaps(spec.windows)
    known = statistics(source.key).groups
    wanted = _use([spec], known)
    others = SavedQuery.objects.filter(paused_at__isnull=True)
    before = _Use()
    if editing is not None:
        others = others.exclude(pk=editing.pk)
        before = _use([editing.spec()], known) if editing.paused_at is None else before
    for whose, running in _holders(source, owner, others):
        used = _used(running, source, known)
        for what, limit in _limits(whose):
            total = getattr(used.plus(wanted), what)
            # What has grown beyond a limit that was set later may still be made smaller.
            if limit != NO_LIMIT and total > limit and getattr(wanted, what) > getattr(before, what):
                yield _FIELDS[what], _sentence(whose, what, total, limit)


_FIELDS = {"queries": "windows", "windows": "windows", "groups": "group_by", "results": "windows"}
_WORDS = {
    "queries": "queries",
    "windows": "windows of computations",
    "groups": "groups",
    "results": "results a second",
}


def _limits(whose: str) -> Iterator[tuple[str, int]]:
    for what in _FIELDS:
        yield what, settings.LIMITS[f"{what}_per_{whose}"]


def _sentence(whose: str, what: str, total: float, limit: int) -> str:
    key = f"MILLRACE_{what.upper()}_PER_{whose.upper()}"
    owner = "Its owner" if whose == "person" else "The source"
    words = f"{owner} would have {total:,.0f} {_WORDS[what]}, more than the {limit:,} that are allowed"
    return f"{words}: pause or delete others, or ask the administrator ({key})."


def _holders(
    source: Source, owner: User | None, others: QuerySet[SavedQuery]
) -> Iterator[tuple[str, QuerySet[SavedQuery]]]:
    yield "source", others.filter(source=source)
    if owner is not None:
        yield "person", others.filter(owner=owner)


def _used(running: QuerySet[SavedQuery], source: Source, known: Mapping[tuple[str, ...], int]) -> _Use:
    """Of queries that run; groups of another source are those that its own meters tell."""
    used = _Use()
    of_source: dict[str, Mapping[tuple[str, ...], int]] = {source.key: known}
    for query in running.select_related("source"):
        key = query.source.key
        if key not in of_source:
            of_source[key] = statistics(key).groups
        used = used.plus(_use([query.spec()], of_source[key]))
    return used


def _use(specs: Iterable[QuerySpec], known: Mapping[tuple[str, ...], int]) -> _Use:
    """What queries take, with as many groups as were measured; one where none were."""
    used = _Use()
    for spec in specs:
        groups = known.get(spec.group_by, 1)
        windows = [one.window() for one in spec.windows]
        often = sum(1000 / window.slide for window in windows if isinstance(window, Window))
        computations = len(spec.computations)
        own = _Use(1, computations * len(windows), groups * len(windows), often * groups * computations)
        used = used.plus(own)
    return used


def _overlaps(windows: Iterable[AnyWindowSpec]) -> Iterator[tuple[str, str]]:
    most = settings.LIMITS["overlap"]
    for spec in windows:
        window = spec.window()
        if most != NO_LIMIT and isinstance(window, Window) and window.range > most * window.slide:
            overlap = -(-window.range // window.slide)
            why = f"each event would be in {overlap:,} windows, more than the {most:,} that are allowed"
            yield (
                "windows",
                f"{spec.words}: {why}: slide less often (MILLRACE_OVERLAP).",
            )
