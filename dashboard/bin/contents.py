"""What goes to the bin with a thing and comes back with it: said before it goes, and while it is there."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.utils import timezone

from dashboard.accounts.rights import visible_boards, visible_sources
from dashboard.alerts.models import Alert
from dashboard.alerts.states import state_of
from dashboard.alerts.words import counted
from dashboard.bin.kinds import kind_of
from dashboard.boards.models import Board, Panel
from dashboard.past.models import Note, ShareLink
from dashboard.queries.models import SavedQuery
from dashboard.sources.models import Source


@dataclass(frozen=True)
class Part:
    """Things of one kind that go along."""

    title: str  # 2 panels on “Plant floor”
    names: tuple[str, ...]  # those that are seen by whoever asks


@dataclass(frozen=True)
class Parts:
    """All that goes along, and what stays and shows less."""

    going: tuple[Part, ...]
    losing: tuple[Part, ...] = ()

    @property
    def words(self) -> str:
        """
        >>> Parts((Part("2 queries", ()), Part("1 alert", ("Hot: firing",)))).words
        '2 queries, 1 alert'
        """
        return ", ".join(part.title for part in self.going)


def parts_of(things: Sequence[Any], person: User | None = None) -> Parts:
    """What goes along with things of one kind, as this person may know of it; with nobody, all of it."""
    kind = kind_of(things[0])
    if kind == "dashboard":
        return Parts(tuple(_of_boards(things, person)))
    if kind in ("panel", "alert"):
        return Parts(())
    sources, queries = _sources(kind, things), _queries(kind, things)
    panels = list(
        _own(Panel).filter(query__in=queries, board__deleted_at=None).select_related("board", "query")
    )
    alerts = _own(Alert).filter(query__in=queries).select_related("query", "evaluation")
    staying, going = _apart(panels, {query.key for query in queries})
    seen = _Seen.of(person)
    parts = [
        _part([(one.name, seen.of_source(one.pk)) for one in sources], "source"),
        _part([(one.name, seen.of_query(one)) for one in queries if kind != "query"], "query", "queries"),
        *_panels_by_board(going, seen),
        _part([(_alert_words(one), seen.of_query(one.query)) for one in alerts], "alert"),
    ]
    losing = [*staying, *_showing(queries, {panel.pk for panel in panels})]
    return Parts(tuple(part for part in parts if part), tuple(_panels_by_board(losing, seen)))


def _own(model: Any) -> QuerySet[Any]:
    """Rows that are not in the bin for themselves."""
    rows: QuerySet[Any] = model.with_deleted.filter(deleted_at=None)
    return rows


def _sources(kind: str, things: Sequence[Any]) -> list[Source]:
    return list(_own(Source).filter(connection__in=things)) if kind == "connection" else []


def _queries(kind: str, things: Sequence[Any]) -> list[SavedQuery]:
    if kind == "query":
        return list(things)
    sources = things if kind == "source" else _sources(kind, things)
    return list(_own(SavedQuery).filter(source__in=sources))


def _apart(panels: Iterable[Panel], going: set[str]) -> tuple[list[Panel], list[Panel]]:
    """Panels that show another query, too, and stay with that one; and those that go."""
    staying: list[Panel] = []
    leaving: list[Panel] = []
    for panel in panels:
        others = {shown["query"] for shown in panel.shown} - going
        stays = SavedQuery.objects.filter(key__in=others).exists() if others else False
        (staying if stays else leaving).append(panel)
    return staying, leaving


def _showing(queries: Sequence[SavedQuery], known: set[int]) -> list[Panel]:
    """Panels that lean on another query and show one of these beside it."""
    keys = {query.key for query in queries}
    several = Panel.objects.exclude(pk__in=known).exclude(shows=[]).select_related("board", "query")
    return [panel for panel in several if keys & {shown["query"] for shown in panel.shown}]


@dataclass(frozen=True)
class _Seen:
    """The keys of what somebody may see; None: everything."""

    sources: frozenset[int] | None = None
    boards: frozenset[int] | None = None

    @classmethod
    def of(cls, person: User | None) -> "_Seen":
        if person is None:
            return cls()
        return cls(
            frozenset(visible_sources(person, with_deleted=True).values_list("pk", flat=True)),
            frozenset(visible_boards(person).values_list("pk", flat=True)),
        )

    def of_source(self, key: int) -> bool:
        return self.sources is None or key in self.sources

    def of_query(self, query: SavedQuery | None) -> bool:
        return query is None or self.of_source(query.source_id)

    def of_panel(self, panel: Panel) -> bool:
        return (self.boards is None or panel.board_id in self.boards) and self.of_query(panel.query)


def _part(rows: Sequence[tuple[str, bool]], one: str, several: str = "") -> Part | None:
    """Of rows with their name and whether that may be told."""
    names = [name for name, is_seen in rows if is_seen]
    hidden = len(rows) - len(names)
    told = (*names, *([f"{hidden} that you may not see"] if hidden else []))
    return Part(counted(len(rows), one, several), told) if rows else None


def _alert_words(alert: Alert) -> str:
    state = state_of(alert)
    return f"{alert.name}: {state.word.lower() if state.kind != 'ok' else 'not firing'}"


def _panels_by_board(panels: Iterable[Panel], seen: _Seen) -> list[Part]:
    by_board: dict[Board, list[str]] = defaultdict(list)
    hidden = 0
    for panel in panels:
        if seen.of_panel(panel):
            by_board[panel.board].append(panel.title)
        else:
            hidden += 1
    shown = [
        Part(f"{counted(len(titles), 'panel')} on “{board}”", tuple(titles))
        for board, titles in by_board.items()
    ]
    return [*shown, *([Part(f"{counted(hidden, 'panel')} that you may not see", ())] if hidden else [])]


def _of_boards(boards: Sequence[Board], person: User | None) -> list[Part]:
    there = Q(query=None) | SavedQuery.living("query__")
    panels = _own(Panel).filter(there, board__in=boards).select_related("query")
    seen = _Seen.of(person)
    links = ShareLink.objects.filter(board__in=boards, revoked_at=None, expires_at__gt=timezone.now())
    notes = Note.objects.filter(board__in=boards)
    parts = [
        _part([(panel.title, seen.of_query(panel.query)) for panel in panels], "panel"),
        _part([(str(link), True) for link in links], "share link"),
        Part(counted(len(notes), "note"), ()) if notes else None,
    ]
    return [part for part in parts if part]
