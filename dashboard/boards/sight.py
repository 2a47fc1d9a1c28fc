"""What somebody may see of the panels of a dashboard: pages, editor and API ask here.

A panel none of whose queries they may see is nothing to them but a place; of one with several queries they
see those that they may see. Only who may see all of them changes what it shows.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import User

from dashboard.accounts.rights import MayNotSee, check_may_see, unseen_words, visible_queries
from dashboard.boards.models import Panel
from dashboard.queries.models import SavedQuery


@dataclass(frozen=True)
class Sight:
    """The queries of some panels, by key, and the keys of those that somebody may see."""

    queries: dict[str, SavedQuery]
    seen: frozenset[str]

    @classmethod
    def of(cls, person: User, panels: Iterable[Panel]) -> "Sight":
        queries = queries_of(panels)
        seen = visible_queries(person).filter(key__in=queries).values_list("key", flat=True)
        return cls(queries, frozenset(seen))

    def shown(self, panel: Panel) -> list[SavedQuery]:
        return [query for query in self._found(panel) if query.key in self.seen]

    def hidden(self, panel: Panel) -> list[SavedQuery]:
        return [query for query in self._found(panel) if query.key not in self.seen]

    def is_whole(self, panel: Panel) -> bool:
        return not self.hidden(panel)

    def unseen(self, panel: Panel) -> tuple[str, str] | None:
        """What is said in the place of a panel of which nothing is seen."""
        hidden = self.hidden(panel)
        return unseen_words(hidden[0]) if hidden and not self.shown(panel) else None

    def _found(self, panel: Panel) -> list[SavedQuery]:
        return [self.queries[shown["query"]] for shown in panel.shown if shown["query"] in self.queries]


def queries_of(panels: Iterable[Panel]) -> dict[str, SavedQuery]:
    """By key, all queries that the panels show and that exist."""
    keys = {shown["query"] for panel in panels for shown in panel.shown}
    found = SavedQuery.objects.select_related("source__created_by", "owner").filter(key__in=keys)
    return {query.key: query for query in found}


def check_may_see_panel(person: User, panel: Panel) -> None:
    """Its first query may have been deleted, and is no less hidden for that."""
    if panel.query is not None and not Sight.of(person, [panel]).shown(panel):
        check_may_see(person, panel.query)


def check_may_see_all_of(person: User, panel: Panel) -> None:
    hidden = Sight.of(person, [panel]).hidden(panel)
    if hidden:
        raise MayNotSee(hidden[0])
