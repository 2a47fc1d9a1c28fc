"""The versions of a query: what each changed, in words, and the way back to one."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User

from dashboard.planning.models import PlanVersion
from dashboard.queries.actions import change_query
from dashboard.queries.limits import check_limits
from dashboard.queries.models import QueryVersion, SavedQuery
from dashboard.queries.windows_text import write_windows
from optimizer.queries import InvalidQuery, QuerySpec
from streaming.spec import check_fields

Change = tuple[str, str, str]  # what, before, after


class FitsNoMore(Exception):
    """The fields of the source have changed since; said as it is."""


@dataclass(frozen=True)
class Shown:
    version: QueryVersion
    changes: list[Change]  # of the version before; none of the first
    is_newest: bool


def history(query: SavedQuery) -> list[Shown]:
    """The newest first."""
    versions = list(query.versions.select_related("person"))
    earlier: Sequence[QueryVersion | None] = [*versions[1:], None]
    return [
        Shown(version, differences(before.spec(), version.spec()) if before else [], version is versions[0])
        for version, before in zip(versions, earlier, strict=True)
    ]


def differences(before: QuerySpec, after: QuerySpec) -> list[Change]:
    """What somebody changed, part by part."""
    old, new = _words(before), _words(after)
    return [(part, old[part], new[part]) for part in new if old[part] != new[part]]


def _words(spec: QuerySpec) -> dict[str, str]:
    return {
        "Name": spec.name,
        "Computes": ", ".join(one.words for one in spec.computations),
        "Windows": write_windows(spec.windows),
        "Group by": ", ".join(spec.group_by) or "none",
        "Filter": spec.where or "none",
    }


def go_back(query: SavedQuery, version: QueryVersion, person: User) -> PlanVersion:
    """Make the query what it was; that is its newest version then. Raises FitsNoMore."""
    try:
        check_fields(version.spec(), query.source.types)
    except InvalidQuery as problem:
        raise FitsNoMore(
            f"Version {version.number} does not fit the fields of “{query.source.name}” any more: "
            f"{problem.sentence}"
        ) from problem
    try:
        check_limits(query.source, version.spec(), query.owner, query)
    except InvalidQuery as problem:
        raise FitsNoMore(f"“{query.name}” stays as it is: {problem.sentence}") from problem
    return change_query(query, version.spec(), person)
