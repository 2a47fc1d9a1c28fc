"""People and groups over the API, for administrators: `gate` lets nobody else through."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from ninja import Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from dashboard.accounts.forms import GroupForm, PersonForm, as_typed, members_of
from dashboard.accounts.links import Link, make_link
from dashboard.accounts.people import signed_in
from dashboard.accounts.sessions import end_other_sessions
from dashboard.api.pages import Page, PageAsked, page_of
from dashboard.api.refusals import REFUSALS, Refused, refuse_bad
from dashboard.api.shapes import Given, Text

people = Router(tags=["People"])
groups = Router(tags=["Groups"])
CALLED_OTHERWISE = {"is_active": "may_sign_in"}
ROLE = Field("editor", description="viewer, editor or administrator.")


class PersonChange(Given):
    first_name: Text = ""
    email: Text = ""
    role: Text = ROLE
    groups: list[Text] = Field([], description="Names of groups.")
    may_sign_in: bool = True


class PersonSent(Given):
    username: Text = ""
    first_name: Text = ""
    email: Text = ""
    role: Text = ROLE
    groups: list[Text] = Field([], description="Names of groups.")


class PersonShown(Schema):
    id: int
    username: str
    first_name: str
    email: str
    role: str
    groups: list[str]
    may_sign_in: bool
    has_password: bool = Field(description="False: invited, and no password set yet.")
    last_login: datetime | None

    @classmethod
    def of(cls, person: User) -> "PersonShown":
        typed = as_typed(person)
        return cls(
            id=person.pk,
            username=person.username,
            may_sign_in=typed.pop("is_active"),
            has_password=person.has_usable_password(),
            last_login=person.last_login,
            **typed,
        )


class LinkShown(Schema):
    """A link with which a person sets their password; it is shown only now."""

    person: PersonShown
    link: str | None = Field(description="Null where it was mailed.")
    mailed_to: str | None
    days: int

    @classmethod
    def of(cls, person: User, link: Link) -> "LinkShown":
        return cls(
            person=PersonShown.of(person),
            link=None if link.mailed_to else link.address,
            mailed_to=link.mailed_to or None,
            days=link.days,
        )


class Ended(Schema):
    ended: int


class GroupSent(Given):
    name: Text = ""
    members: list[Text] = Field([], description="User names.")


class GroupShown(Schema):
    id: int
    name: str
    members: list[str]

    @classmethod
    def of(cls, group: Group) -> "GroupShown":
        return cls(id=group.pk, name=group.name, members=members_of(group))


@people.get("", response={200: Page[PersonShown], **REFUSALS}, summary="List people")
def list_people(request: HttpRequest, asked: PageAsked) -> Any:
    return page_of(User.objects.order_by("username"), asked, PersonShown.of)


@people.post("", response={201: LinkShown, **REFUSALS}, summary="Invite a person")
def invite_person(request: HttpRequest, sent: PersonSent) -> Any:
    form = PersonForm(sent.model_dump(), by=signed_in(request))
    refuse_bad(form)
    person = form.save()
    return 201, LinkShown.of(person, make_link(request, person))


@people.get("/{int:number}", response={200: PersonShown, **REFUSALS}, summary="Look at a person")
def show_person(request: HttpRequest, number: int) -> Any:
    return PersonShown.of(_person(number))


@people.patch("/{int:number}", response={200: PersonShown, **REFUSALS}, summary="Change a person")
def patch_person(request: HttpRequest, number: int, sent: PersonChange) -> Any:
    """What is not sent stays. Who may not sign in any more is signed out at once."""
    person, given = _person(number), sent.model_dump(exclude_unset=True)
    if "may_sign_in" in given:
        given["is_active"] = given.pop("may_sign_in")
    form = PersonForm({**as_typed(person), **given}, by=signed_in(request), editing=person)
    refuse_bad(form, CALLED_OTHERWISE)
    form.save()
    return PersonShown.of(_person(number))


@people.post("/{int:number}/link", response={200: LinkShown, **REFUSALS}, summary="Make a password link")
def make_password_link(request: HttpRequest, number: int) -> Any:
    """Good once; who was locked out may try again."""
    person = _person(number)
    if not person.is_active:
        raise Refused({"may_sign_in": "This person may not sign in: let them first."})
    return LinkShown.of(person, make_link(request, person))


@people.post(
    "/{int:number}/sign-out", response={200: Ended, **REFUSALS}, summary="Sign a person out everywhere"
)
def sign_person_out(request: HttpRequest, number: int) -> Any:
    """Sessions end; tokens stay."""
    return Ended(ended=end_other_sessions(_person(number), None))


@groups.get("", response={200: Page[GroupShown], **REFUSALS}, summary="List groups")
def list_groups(request: HttpRequest, asked: PageAsked) -> Any:
    return page_of(Group.objects.order_by("name"), asked, GroupShown.of)


@groups.post("", response={201: GroupShown, **REFUSALS}, summary="Make a group")
def add_group(request: HttpRequest, sent: GroupSent) -> Any:
    form = GroupForm(sent.model_dump())
    refuse_bad(form)
    return 201, GroupShown.of(form.save())


@groups.get("/{int:number}", response={200: GroupShown, **REFUSALS}, summary="Look at a group")
def show_group(request: HttpRequest, number: int) -> Any:
    return GroupShown.of(_group(number))


@groups.patch("/{int:number}", response={200: GroupShown, **REFUSALS}, summary="Change a group")
def patch_group(request: HttpRequest, number: int, sent: GroupSent) -> Any:
    """What is not sent stays."""
    group = _group(number)
    kept = {"name": group.name, "members": members_of(group)}
    form = GroupForm({**kept, **sent.model_dump(exclude_unset=True)}, editing=group)
    refuse_bad(form)
    return GroupShown.of(form.save())


@groups.delete("/{int:number}", response={204: None, **REFUSALS}, summary="Delete a group")
def remove_group(request: HttpRequest, number: int) -> Any:
    """Its people stay; what only the group let them see they see no more."""
    _group(number).delete()
    return 204, None


def _person(number: int) -> User:
    person = User.objects.filter(pk=number).first()
    if person is None:
        raise HttpError(404, f"There is no person {number}.")
    return person


def _group(number: int) -> Group:
    group = Group.objects.filter(pk=number).first()
    if group is None:
        raise HttpError(404, f"There is no group {number}.")
    return group
