"""What an older plan computed that today's queries do not: said before somebody goes back to it."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from dashboard.bin.access import may_restore
from dashboard.planning.models import PlanVersion
from dashboard.queries.models import SavedQuery


@dataclass(frozen=True)
class Needs:
    """Queries of a plan that do not run, or not as they did."""

    to_restore: tuple[SavedQuery, ...] = ()  # in the bin, and this person may restore them
    kept_by_others: tuple[SavedQuery, ...] = ()  # in the bin, for their owners to restore
    paused: tuple[SavedQuery, ...] = ()
    changed: tuple[SavedQuery, ...] = ()  # they stay as they are today
    gone: int = 0  # deleted for good

    def __bool__(self) -> bool:
        return bool(self.to_restore or self.kept_by_others or self.paused or self.changed or self.gone)


def needs_of(version: PlanVersion, person: User) -> Needs:
    wanted: dict[str, set[str]] = {}
    for query in version.value().all_queries:
        wanted.setdefault(query.id.partition("@")[0], set()).add(query.id)
    known = list(SavedQuery.with_deleted.select_related("source__created_by", "owner").filter(key__in=wanted))
    deleted = [query for query in known if query.deleted_at is not None]
    there = [query for query in known if query.deleted_at is None]
    restorable = {query.pk for query in deleted if may_restore(person, query)}
    running = [query for query in there if query.paused_at is None]
    return Needs(
        to_restore=tuple(query for query in deleted if query.pk in restorable),
        kept_by_others=tuple(query for query in deleted if query.pk not in restorable),
        paused=tuple(query for query in there if query.paused_at is not None),
        changed=tuple(query for query in running if wanted[query.key] - {one.id for one in query.queries()}),
        gone=len(wanted) - len(known),
    )
