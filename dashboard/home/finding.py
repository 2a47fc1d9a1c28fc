"""Search or jump to: everything that somebody may see, by its name."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.urls import reverse

from dashboard.accounts.people import is_administrator, may_edit
from dashboard.accounts.rights import visible_alerts, visible_boards, visible_queries, visible_sources
from dashboard.shell import PLACES

MOST_FOUND = 12
ALSO = (("Your account", "account", "user"), ("API", "api-docs", "api"))
TO_MAKE = (
    ("New query", "query-new", "plus"),
    ("New dashboard", "board-new", "plus"),
    ("New alert", "alert-new", "plus"),
    ("Add source", "source-new", "plus"),
)
OF_EDITORS = (("Bin", "bin", "trash"),)
OF_ADMINISTRATORS = (("People", "people", "users"), ("Audit log", "audit", "history"))


@dataclass(frozen=True)
class Found:
    """One line of the answer."""

    name: str
    kind: str
    icon: str
    address: str
    more: str = ""  # what else it is found by, and told apart by

    def matches(self, words: list[str]) -> bool:
        return all(word in f"{self.name} {self.more} {self.kind}".casefold() for word in words)

    def rank(self, asked: str) -> tuple[bool, bool, str]:
        """Names that begin with what was asked come first, then those with a word that does."""
        name = self.name.casefold()
        return not name.startswith(asked), f" {asked}" not in f" {name}", name


def found(person: User, asked: str) -> list[Found]:
    """The best matches; where nothing is asked yet, the places."""
    text = asked.casefold()
    if not text:
        return list(_places(person))
    matching = [one for one in _everything(person) if one.matches(text.split())]
    return sorted(matching, key=lambda one: one.rank(text))[:MOST_FOUND]


def _everything(person: User) -> Iterator[Found]:
    yield from _places(person)
    for board in visible_boards(person):
        yield Found(
            board.name, "Dashboard", "layout-dashboard", board.get_absolute_url(), ", ".join(board.tags)
        )
    for query in visible_queries(person).select_related("source"):
        yield Found(query.name, "Query", "wave-square", query.get_absolute_url(), query.source.name)
    for source in visible_sources(person):
        yield Found(source.name, "Source", "database", source.get_absolute_url(), source.topic)
    for alert in visible_alerts(person).select_related("query"):
        yield Found(alert.name, "Alert", "bell", alert.get_absolute_url(), alert.query.name)


def _places(person: User) -> Iterator[Found]:
    listed = tuple((place.name, place.url, place.icon) for place in PLACES) + ALSO
    listed += TO_MAKE + OF_EDITORS if may_edit(person) else ()
    listed += OF_ADMINISTRATORS if is_administrator(person) else ()
    for name, view, icon in listed:
        yield Found(name, "Make" if icon == "plus" else "Place", icon, reverse(view))
