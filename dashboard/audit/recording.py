"""Writes the audit log: by itself for every model in `AUDITED`, by `record` for what no model shows."""

from dataclasses import dataclass
from typing import Any

from axes.signals import user_locked_out
from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.db.models import Model, Q
from django.db.models.signals import m2m_changed, post_delete, post_save, pre_save
from django.dispatch import receiver
from django.http import HttpRequest

from dashboard.accounts.people import first_name
from dashboard.audit.acting import Actor, actor
from dashboard.audit.words import changed_words, shown_fields
from dashboard.bin.models import Binned

Change = list[str | None]  # what, before, after


@dataclass(frozen=True)
class Kind:
    """How the log calls a model and one of its rows."""

    noun: str
    called: str  # the field that people know it by
    key: str = "pk"
    of: str = ""  # the field of the thing that it belongs to
    verbs: tuple[tuple[str, str, str], ...] = ()  # field, what setting it is called, and unsetting it


BINNED = ("deleted_at", "deleted", "restored")
PAUSED = ("paused_at", "paused", "resumed")

AUDITED: dict[str, Kind] = {
    "dashboard.Connection": Kind("connection", "name", "key", verbs=(BINNED,)),
    "dashboard.Source": Kind("source", "name", "key", verbs=(BINNED,)),
    "dashboard.SavedQuery": Kind(
        "query",
        "name",
        "key",
        verbs=(BINNED, PAUSED),
    ),
    "dashboard.Board": Kind("dashboard", "name", "slug", verbs=(BINNED,)),
    "dashboard.Panel": Kind("panel", "title", of="board", verbs=(("deleted_at", "removed", "restored"),)),
    "dashboard.ShareLink": Kind("link", "label", of="board", verbs=(("revoked_at", "revoked", "opened"),)),
    "dashboard.Note": Kind("note", "text", of="board"),
    "dashboard.HistoryPolicy": Kind("history", "query"),
    "dashboard.Alert": Kind(
        "alert",
        "name",
        "key",
        verbs=(BINNED, PAUSED),
    ),
    "dashboard.Silence": Kind("silence", "until", of="alert"),
    "dashboard.ApiToken": Kind("token", "name"),
    "auth.User": Kind("person", "username"),
    "auth.Group": Kind("group", "name"),
}
NOT_AUDITED = {
    "dashboard.QueryVersion": "it is kept with every change of a query, which is recorded",
    "dashboard.PlanVersion": "it follows from changes; who chose one is recorded by `planning.service`",
    "dashboard.FirstBoard": "what somebody sees first is their own affair",
    "dashboard.HistoryPlace": "it is kept by a process, as results come",
    "dashboard.PastWindow": "it is kept by a process, as results come",
    "dashboard.Segment": "it is kept by a process, as results come",
    "dashboard.Delivery": "the page of an alert lists what was sent",
    "dashboard.Evaluation": "it is kept by a process, as results come",
    "dashboard.Firing": "the page of an alert has their history, with who acknowledged each",
    "dashboard.Seat": "it says which process evaluates",
    "dashboard.CalibrationRecord": "the plan page lists them, with who made each",
    "dashboard.ThroughputSample": "it is kept by a process, as batches end",
    "dashboard.SignIn": "signing in and out are entries of their own",
    "dashboard.Grant": "who may see a thing is said as a whole, by `sharing`",
    "dashboard.Notice": "what comes of it is a right that is given",
    "dashboard.AuditEntry": "it is the log",
}
# What may change who sees what; not signing in, which would have all open pages look again and again.
RIGHTS = (
    Q(kind__in=("person", "group", "source", "access"))
    | Q(kind="session", action="ended")
    | Q(kind="link", action="revoked")
    | Q(kind="dashboard", action__in=("deleted", "restored"))
)


def record(
    action: str,
    kind: str,
    thing: str,
    changes: list[Change] | None = None,
    *,
    key: str = "",
    by: Actor | None = None,
) -> None:
    """Add an entry; `by` says who, where that is not who sent the request."""
    who = actor() if by is None else by
    apps.get_model("dashboard", "AuditEntry").objects.create(
        person=who.person,
        person_name=who.name[:150],
        via=who.via[:120],
        action=action,
        kind=kind,
        thing=thing[:200],
        thing_key=key[:64],
        changes=changes or [],
    )


def rights_version() -> int:
    """Grows whenever somebody's rights may have changed."""
    entries = apps.get_model("dashboard", "AuditEntry").objects.filter(RIGHTS)
    newest: int | None = entries.order_by("-pk").values_list("pk", flat=True).first()
    return newest or 0


def watch() -> None:
    """Record what happens to the audited models from now on."""
    for label in AUDITED:
        model = apps.get_model(label)
        pre_save.connect(_remember, sender=model, dispatch_uid=f"audit.{label}")
        post_save.connect(_saved, sender=model, dispatch_uid=f"audit.{label}")
        post_delete.connect(_deleted, sender=model, dispatch_uid=f"audit.{label}")
    m2m_changed.connect(_members_changed, sender=User.groups.through, dispatch_uid="audit.groups")
    m2m_changed.connect(_role_changed, sender=User.user_permissions.through, dispatch_uid="audit.roles")


def _kind(row: Model) -> Kind:
    return AUDITED[row._meta.label]


def _remember(sender: type[Model], instance: Model, raw: bool = False, **kwargs: Any) -> None:
    before = None if raw or instance.pk is None else sender._base_manager.filter(pk=instance.pk).first()
    instance._audited_before = None if before is None else shown_fields(before)  # type: ignore[attr-defined]


def _saved(sender: type[Model], instance: Model, created: bool, raw: bool = False, **kwargs: Any) -> None:
    if raw:
        return
    # From the database: a form leaves texts where numbers are stored, and an update may be of some fields.
    after = shown_fields(sender._base_manager.get(pk=instance.pk))
    if created:
        _note("added", instance, changed_words({}, after))
        return
    changes = changed_words(getattr(instance, "_audited_before", None) or {}, after)
    if changes:
        verb = _verb(instance, after)
        if verb in ("deleted", "removed") and isinstance(instance, Binned) and instance.along:
            changes.append(["With it", None, instance.along])
        _note(verb, instance, changes)


def _verb(row: Model, after: dict[str, Any]) -> str:
    before = getattr(row, "_audited_before", None) or {}
    for field, done, undone in _kind(row).verbs:
        if (before.get(field) is None) != (after.get(field) is None):
            return done if after.get(field) is not None else undone
    return "changed"


def _deleted(sender: type[Model], instance: Model, **kwargs: Any) -> None:
    _note("deleted for good" if isinstance(instance, Binned) else "deleted", instance, [])


def _note(action: str, row: Model, changes: list[Change]) -> None:
    kind = _kind(row)
    name = str(getattr(row, kind.called))
    if kind.of:
        belongs = getattr(row, kind.of)
        name = f"{name} on {belongs}"
    record(action, kind.noun, name, changes, key=str(getattr(row, kind.key) or ""))


def _members_changed(
    sender: Any, instance: Model, action: str, reverse: bool, pk_set: set[int] | None, **kwargs: Any
) -> None:
    if action not in ("post_add", "post_remove") or not pk_set:
        return
    joins = action == "post_add"
    people = User.objects.filter(pk__in=pk_set) if reverse else [instance]
    groups = [instance] if reverse else Group.objects.filter(pk__in=pk_set)
    for person in people:
        names = ", ".join(str(group) for group in groups)
        change: Change = ["Groups", None, f"joins {names}"] if joins else ["Groups", f"in {names}", "leaves"]
        record("changed", "person", person.username, [change], key=str(person.pk))  # type: ignore[attr-defined]


def _role_changed(
    sender: Any, instance: Model, action: str, pk_set: set[int] | None, reverse: bool, **kwargs: Any
) -> None:
    if action not in ("post_add", "post_remove") or not pk_set or reverse or not isinstance(instance, User):
        return
    if Permission.objects.filter(pk__in=pk_set, codename="edit").exists():
        words: list[str | None] = ["no", "yes"] if action == "post_add" else ["yes", "no"]
        record("changed", "person", instance.username, [["Editor", *words]], key=str(instance.pk))


@receiver(user_logged_in)
def _signed_in(sender: Any, request: HttpRequest, user: User, **kwargs: Any) -> None:
    record("signed in", "session", user.username, key=str(user.pk), by=_themselves(user))


@receiver(user_logged_out)
def _signed_out(sender: Any, request: HttpRequest, user: User | None, **kwargs: Any) -> None:
    if user is not None:
        record("signed out", "session", user.username, key=str(user.pk), by=_themselves(user))


@receiver(user_locked_out)
def _locked_out(sender: Any, request: HttpRequest, username: str, **kwargs: Any) -> None:
    record("locked out", "session", username or "", [["Why", None, "too many wrong passwords"]])


def _themselves(person: User) -> Actor:
    return Actor(person.pk, first_name(person))
