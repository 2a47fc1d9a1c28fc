"""What pages show of how messages are read: fields with their types, and where event times come from."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from zoneinfo import available_timezones

from dashboard.sources.forms import (
    DELIMITED,
    ISOLATION_CHOICES,
    KINDS,
    TIME_CHOICES,
    UNIT_CHOICES,
    SettingsForm,
)
from streaming.inference import InferredField


@dataclass(frozen=True)
class ShownField:
    """A line of the table of fields; `kind` is what people chose, empty where it is left out."""

    name: str
    kind: str
    is_usable: bool = True
    missing: float = 0.0
    example: str = ""
    note: str = ""
    time_unit: str = ""

    @property
    def can_hold_time(self) -> bool:
        return self.kind in ("integer", "number", "text")


def found_fields(inferred: tuple[InferredField, ...]) -> list[ShownField]:
    return [
        ShownField(
            name=field.name,
            kind=field.type or "",
            is_usable=field.type is not None,
            missing=field.missing,
            example=field.example,
            note=field.note,
            time_unit=field.time_unit or "",
        )
        for field in inferred
    ]


def corrected(fields: list[ShownField], names: list[str], kinds: list[str]) -> list[ShownField]:
    """The fields with the types, and for columns the names, that people gave them before."""
    if len(names) != len(fields) or len(names) != len(kinds):
        return fields
    return [
        replace(field, name=name, kind=kind if kind in ("", *KINDS) else field.kind)
        for field, name, kind in zip(fields, names, kinds, strict=True)
    ]


def settings_fields(form: SettingsForm) -> list[ShownField]:
    """The fields of a saved source, with the types as they were typed."""
    return [ShownField(*one) for one in form.typed_fields()[: len(form.source.schema)]]


def added_field(form: SettingsForm, suggested: Mapping[str, str]) -> ShownField:
    """The line for one field more: as it was typed, or as the page that led here suggests it."""
    typed = form.typed_fields()[len(form.source.schema) :]
    if typed:
        return ShownField(*typed[0])
    kind = suggested.get("kind", "")
    return ShownField(suggested.get("field", ""), kind if kind in KINDS else "")


def reading_context(fields: list[ShownField], typed: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """For the templates of fields and of event time."""
    return {
        "fields": fields,
        "kinds": KINDS,
        "time_choices": TIME_CHOICES,
        "unit_choices": UNIT_CHOICES,
        "isolation_choices": ISOLATION_CHOICES,
        "zones": sorted(available_timezones()),
        "are_columns": (typed or {}).get("format") in DELIMITED,
    }
