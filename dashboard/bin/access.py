"""Who may delete and restore: whoever may change a thing."""

from typing import cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied

from dashboard.accounts.rights import Thing, check_may_change, may_change
from dashboard.bin.models import Binned
from dashboard.boards.models import Panel
from dashboard.boards.sight import check_may_see_panel
from dashboard.connections.models import Connection
from dashboard.sources.models import Source


def check_may_delete(person: User, thing: Binned) -> None:
    """Raises PermissionDenied with the sentence; also where others' sources would go with a connection."""
    if isinstance(thing, Panel):
        check_may_change(person, thing.board)
        check_may_see_panel(person, thing)
        return
    check_may_change(person, cast(Thing, thing))
    if isinstance(thing, Connection):
        others = [one for one in _sources(thing) if not may_change(person, one)]
        if others:
            several = f"{len(others)} sources" if len(others) > 1 else "A source"
            raise PermissionDenied(
                f"{several} of other people would go with “{thing.name}”: an administrator can delete it."
            )


def may_restore(person: User, thing: Binned) -> bool:
    try:
        check_may_delete(person, thing)
    except PermissionDenied:
        return False
    return True


def _sources(connection: Connection) -> list[Source]:
    return list(
        Source.with_deleted.filter(connection=connection, deleted_at=None).select_related("created_by")
    )
