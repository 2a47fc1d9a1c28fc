"""People in sentences, and their roles: viewers look, editors add and change what is theirs, administrators
change everything. `rights` says what that means for a thing."""

from typing import cast

from django.contrib.auth.models import AnonymousUser, Permission, User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

VIEWER, EDITOR, ADMINISTRATOR = "viewer", "editor", "administrator"
ROLES = {
    VIEWER: "Viewer: looks at what is shared",
    EDITOR: "Editor: adds sources, queries and dashboards, and changes what is theirs",
    ADMINISTRATOR: "Administrator: sees and changes everything, and looks after people",
}
EDIT = "dashboard.edit"
VIEWERS_LOOK = "You are a viewer: you may look, and change nothing. An administrator can make you an editor."
ADMINISTRATORS_ALONE = "Only administrators may do this."


def signed_in(request: HttpRequest) -> User:
    """Who asks. LoginRequiredMiddleware lets nobody else through to a page that calls this."""
    return cast(User, request.user)


def first_name(person: User | None) -> str:
    """How a sentence calls a person."""
    if person is None:
        return "Someone who has left"
    return person.first_name or person.username


def is_administrator(person: User | AnonymousUser) -> bool:
    return person.is_active and (person.is_staff or person.is_superuser)


def may_edit(person: User | AnonymousUser) -> bool:
    """Whether this person may add anything, and change what is theirs."""
    return is_administrator(person) or person.has_perm(EDIT)


def role_of(person: User) -> str:
    if person.is_staff or person.is_superuser:
        return ADMINISTRATOR
    # Not has_perm, which says no of everybody who may not sign in at present.
    own = Permission.objects.filter(user=person) | Permission.objects.filter(group__user=person)
    return EDITOR if own.filter(codename="edit", content_type__app_label="dashboard").exists() else VIEWER


def give_role(person: User, role: str) -> None:
    """Make a saved person a viewer, an editor or an administrator."""
    person.is_staff = role == ADMINISTRATOR
    person.is_superuser = person.is_superuser and person.is_staff
    person.save(update_fields=["is_staff", "is_superuser"])
    edit = Permission.objects.get(codename="edit", content_type__app_label="dashboard")
    if role == EDITOR:
        person.user_permissions.add(edit)
    else:
        person.user_permissions.remove(edit)


def may_change(person: User, owner: User | None) -> bool:
    """Owners change what is theirs, unless they only look; administrators change everything."""
    return is_administrator(person) or (person == owner and may_edit(person))


def check_may_edit(person: User) -> None:
    if not may_edit(person):
        raise PermissionDenied(VIEWERS_LOOK)


def check_administrator(person: User) -> None:
    if not is_administrator(person):
        raise PermissionDenied(ADMINISTRATORS_ALONE)


def check_may_change(person: User, owner: User | None, what: str, did: str = "added") -> None:
    """Refuse, in the same words on pages and in the API, who may not change something."""
    if not may_change(person, owner):
        check_may_edit(person)
        raise PermissionDenied(f"You may not change this {what}. {first_name(owner)} {did} it.")
