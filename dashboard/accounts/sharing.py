"""Who may see a source or a dashboard: as it is, as it is typed or sent, and asking to be let in."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Q
from django.http import QueryDict
from django.utils import timezone

from dashboard.accounts.levels import CHANGE, FOR_ALL, LEVELS, NOTHING, SEE
from dashboard.accounts.people import first_name
from dashboard.accounts.rights import Shared, check_may_share, decided_on, may_see, noun, owner_of
from dashboard.audit.recording import Change, record
from dashboard.models import Grant, Notice, SavedQuery, Source

PERSON, GROUP = "person", "group"


@dataclass(frozen=True)
class Given:
    """One line of the dialog: who, and how much."""

    who: User | Group
    level: str

    @property
    def value(self) -> str:
        """How a form names who it is."""
        return f"{PERSON}:{self.who.username}" if isinstance(self.who, User) else f"{GROUP}:{self.who.name}"

    @property
    def name(self) -> str:
        return first_name(self.who) if isinstance(self.who, User) else self.who.name


class AccessForm(forms.Form):
    """Who may see a thing: besides `for_all`, lists of `who` (person:NAME, group:NAME) and of `level`."""

    for_all = forms.ChoiceField(
        choices=FOR_ALL,
        error_messages={
            "required": "Say what everyone may do: none, see or change.",
            "invalid_choice": "Say what everyone may do: none, see or change.",
        },
    )

    def __init__(self, thing: Shared, data: QueryDict | None = None) -> None:
        super().__init__(data, initial={"for_all": thing.for_all})
        self.thing = thing

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        given: dict[str, Given] = {}
        for who, level in zip(self.data.getlist("who"), self.data.getlist("level"), strict=False):  # type: ignore[attr-defined]
            if not who or level == NOTHING:
                continue
            if level not in LEVELS:
                raise forms.ValidationError(f"“{level}” is no right: give see or change.")
            found = _named(who)
            if found != owner_of(self.thing):  # who owns it has every right
                given[who] = Given(found, level)
        return {**cleaned, "given": list(given.values())}

    def save(self, person: User) -> None:
        set_access(self.thing, self.cleaned_data["for_all"], self.cleaned_data["given"], person)


def _named(value: str) -> User | Group:
    kind, _, name = value.partition(":")
    found: User | Group | None = None
    if kind == PERSON:
        found = User.objects.filter(username=name, is_active=True).first()
    elif kind == GROUP:
        found = Group.objects.filter(name=name).first()
    if found is None:
        raise forms.ValidationError(f"There is no {GROUP if kind == GROUP else PERSON} “{name or value}”.")
    return found


def access_of(thing: Shared) -> list[Given]:
    grants = thing.grants.select_related("person", "group")
    # Never neither: the database refuses a grant to nobody.
    return [Given(one.person or one.group, CHANGE if one.may_change else SEE) for one in grants]  # type: ignore[arg-type]


def others_to_name(thing: Shared) -> tuple[list[User], list[Group]]:
    """People and groups who have no line of their own yet."""
    owner = owner_of(thing)
    grants = thing.grants.all()
    people = User.objects.filter(is_active=True).exclude(
        pk__in=grants.filter(person__isnull=False).values("person")
    )
    groups = Group.objects.exclude(pk__in=grants.filter(group__isnull=False).values("group"))
    return [one for one in people.order_by("first_name", "username") if one != owner], list(
        groups.order_by("name")
    )


@transaction.atomic
def set_access(thing: Shared, for_all: str, given: Iterable[Given], person: User) -> None:
    """Replace who may see the thing; the log says what that changed."""
    check_may_share(person, thing)
    before, everyone_before = {one.value: one for one in access_of(thing)}, thing.for_all
    after = {one.value: one for one in given}
    thing.for_all = for_all
    thing.save(update_fields=["for_all"])
    thing.grants.all().delete()
    field = "source" if isinstance(thing, Source) else "board"
    Grant.objects.bulk_create(
        Grant(
            **{field: thing, PERSON if isinstance(one.who, User) else GROUP: one.who},
            may_change=one.level == CHANGE,
        )
        for one in after.values()
    )
    changes = _changes(before, after)
    if everyone_before != for_all:
        words = dict(FOR_ALL)
        changes.insert(0, ["Everyone", words[everyone_before], words[for_all]])
    if changes:
        key = thing.key if isinstance(thing, Source) else thing.slug
        record("changed", "access", f"{noun(thing)} “{thing.name}”", changes, key=key)


def _changes(before: dict[str, Given], after: dict[str, Given]) -> list[Change]:
    def level(known: dict[str, Given], value: str) -> str:
        return LEVELS[known[value].level] if value in known else "no right of their own"

    return [
        [(after.get(value) or before[value]).name, level(before, value), level(after, value)]
        for value in {**before, **after}
        if level(before, value) != level(after, value)
    ]


def ask_for_access(person: User, thing: Shared | SavedQuery) -> str:
    """Tell whoever can give it; the sentence for who asked."""
    decider = decided_on(thing)
    if may_see(person, decider):
        return f"You may see this {noun(thing)} already."
    owner = owner_of(decider)
    asked = [owner] if owner is not None and owner.is_active else list(_administrators())
    about: dict[str, Any] = {"source" if isinstance(decider, Source) else "board": decider}
    for one in asked:
        Notice.objects.get_or_create(to=one, asked_by=person, answered_at=None, **about)
    return f"Asked {' and '.join(first_name(one) for one in asked) or 'nobody: there is no administrator'}."


def _administrators() -> Iterable[User]:
    return User.objects.filter(Q(is_staff=True) | Q(is_superuser=True), is_active=True)


@transaction.atomic
def answer_notice(notice: Notice, *, gives: bool) -> None:
    """Let who asked see the thing, or not; whoever else was asked need not answer."""
    thing = notice.source or notice.board
    if gives and thing is not None and not may_see(notice.asked_by, thing):
        set_access(thing, thing.for_all, [*access_of(thing), Given(notice.asked_by, SEE)], notice.to)
    same = Notice.objects.filter(asked_by=notice.asked_by, source=notice.source, board=notice.board)
    same.filter(answered_at=None).update(answered_at=timezone.now())
