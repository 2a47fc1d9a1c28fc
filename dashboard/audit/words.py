"""What changed, in words that give no secret away."""

import re
from datetime import datetime
from typing import Any

from django.db.models import ForeignKey, JSONField, Model

# Said to have changed, never shown.
SECRET = re.compile(r"password|secret|sealed|digest|token|signature|private", re.IGNORECASE)
_LOGIN = re.compile(r"//[^/@\s]+@")  # in an address
# Of no meaning to people, or told by the action itself.
LEFT_OUT = {
    "id",
    "created_at",
    "last_login",
    "last_used_at",
    "date_joined",
    "position",
    "x",
    "y",
    "w",
    "h",
    "paused_by",
    "paused_why",
    "deleted_by",
    "for_all",
    "rereads",
}
LABELS = {
    "is_staff": "Administrator",
    "is_superuser": "Superuser",
    "is_active": "May sign in",
    "where": "Filter",
    "username": "User name",
    "schema": "Fields",
    "created_by": "Owner",
    "sealed_password": "Password",
    "sealed_key": "Private key",
    "ca": "Certificate authority",
}
LONGEST = 300
HIDDEN = "hidden"
EMPTY = (None, "", False)


def shown_fields(row: Model) -> dict[str, Any]:
    """The fields of a row that people know, secrets as they are: `changed_words` hides them."""
    fields = [field for field in row._meta.concrete_fields if field.name not in LEFT_OUT]
    return {field.name: _value(row, field) for field in fields}


def _value(row: Model, field: Any) -> Any:
    if isinstance(field, ForeignKey):
        related = getattr(row, field.name)
        return None if related is None else str(related)
    value = getattr(row, field.attname)
    return _json_words(value) if isinstance(field, JSONField) else value


def _json_words(value: Any) -> str:
    """
    >>> _json_words([{"range": "1m", "slide": "10s"}, {"gap": "30s"}])
    'range 1m slide 10s, gap 30s'
    >>> _json_words([["ts", "integer"], ["temp", "number"]]), _json_words([])
    ('ts integer, temp number', '')
    """
    if isinstance(value, dict):
        return " ".join(f"{name} {_json_words(one)}" for name, one in value.items())
    if isinstance(value, list):
        joint = ", " if any(isinstance(one, list | dict) for one in value) else " "
        return joint.join(_json_words(one) for one in value)
    return "none" if value is None else str(value)


def changed_words(before: dict[str, Any], after: dict[str, Any]) -> list[list[str | None]]:
    """[what, before, after] of what differs; of a new row, of what is not empty.

    >>> changed_words({"name": "a", "sealed_password": "x"}, {"name": "b", "sealed_password": "y"})
    [['Name', 'a', 'b'], ['Password', 'hidden', 'another one, hidden']]
    """
    lines: list[list[str | None]] = []
    for name, value in after.items():
        old = before.get(name)
        if old == value or (not before and (value in EMPTY or SECRET.search(name))):
            continue
        label = LABELS.get(name, name.replace("_", " ").capitalize())
        if SECRET.search(name):
            told = [
                HIDDEN if old else None,
                f"another one, {HIDDEN}" if value and old else HIDDEN if value else None,
            ]
        else:
            told = [None if not before else _spoken(old), _spoken(value)]
        lines.append([label, *told])
    return lines


def _spoken(value: Any) -> str:
    if value is None or value == "":
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M} UTC"
    text = _LOGIN.sub(f"//{HIDDEN}@", str(value))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
