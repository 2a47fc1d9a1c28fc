"""A panel leans on one of the queries that it shows, and is there as long as that one exists."""

from dashboard.boards.models import Panel
from dashboard.queries.models import SavedQuery


def lean_anew() -> None:
    """Panels that lean on a deleted query lean on the first of their others that exists, where there is one.

    To be done whenever queries are deleted or restored: a panel goes with the last of its queries, and
    comes back with whichever is first.
    """
    gone = ~SavedQuery.living("query__")
    for panel in Panel.with_deleted.select_related("query").filter(gone, query__isnull=False):
        keys = [shown["query"] for shown in panel.shown]
        there = {query.key: query for query in SavedQuery.objects.filter(key__in=keys)}
        other = next((there[key] for key in keys if key in there), None)
        if other is not None:
            Panel.with_deleted.filter(pk=panel.pk).update(query=other)  # nobody changed the panel
