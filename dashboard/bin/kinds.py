"""The kinds of things that go to the bin, as addresses and sentences call them."""

import re
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from dashboard.bin.models import Binned
from dashboard.models import Alert, Board, Connection, Panel, SavedQuery, Source


@dataclass(frozen=True)
class Kind:
    model: type[Binned]
    noun: str
    plural: str
    page: str  # the list that somebody returns to
    key: str = "key"  # the field that addresses have
    deleted: str = "Deleted"  # what is said of it afterwards
    related: tuple[str, ...] = ()  # what its rights, its sentences and its page need

    def rows(self) -> QuerySet[Any]:
        """All of them, whether or not they are in the bin."""
        return self.model.with_deleted.select_related("deleted_by", *self.related)

    def found(self, keys: list[str]) -> list[Any]:
        """Those of these keys that exist, in this order."""
        known = {str(getattr(row, self.key)): row for row in self.rows().filter(**{f"{self.key}__in": keys})}
        return [known[key] for key in keys if key in known]


def usable_keys(kind: Kind, typed: list[str]) -> list[str]:
    """Each once, without what no database could look for."""
    pattern = r"\d{1,17}" if kind.key == "pk" else r"[-\w]{1,60}"
    return [key for key in dict.fromkeys(typed) if re.fullmatch(pattern, key, re.ASCII)]


_SOURCE = ("source__connection", "source__created_by")
_PANEL = ("board__owner", "query__source")
_QUERY = ("query__source__connection", "query__source__created_by")
KINDS: dict[str, Kind] = {
    "connection": Kind(Connection, "connection", "connections", "connections", related=("created_by",)),
    "source": Kind(Source, "source", "sources", "sources", related=("created_by", "connection")),
    "query": Kind(
        SavedQuery,
        "query",
        "queries",
        "queries",
        related=("owner", "source__connection", "source__created_by"),
    ),
    "dashboard": Kind(Board, "dashboard", "dashboards", "boards", key="slug", related=("owner",)),
    "panel": Kind(Panel, "panel", "panels", "boards", "pk", "Removed", _PANEL),
    "alert": Kind(Alert, "alert", "alerts", "alerts", related=("owner", *_QUERY)),
}


def kind_of(thing: Binned) -> str:
    return next(name for name, kind in KINDS.items() if isinstance(thing, kind.model))


def key_of(thing: Binned) -> str:
    return str(getattr(thing, KINDS[kind_of(thing)].key))


def named(things: list[Any]) -> str:
    """One thing by its name, several by their number."""
    if len(things) == 1:
        return f"“{things[0]}”"
    return f"{len(things)} {KINDS[kind_of(things[0])].plural}"


def owner_in_bin(thing: Binned) -> Binned | None:
    """The thing in the bin that this one is part of, if there is one: it has to come back first."""
    for path in reversed(thing.part_of):
        owner: Any = thing
        for step in path.split("__"):
            owner = getattr(owner, step) if owner is not None else None
        if owner is not None and owner.deleted_at is not None:
            found: Binned = owner
            return found
    return None
