"""Texts that people send, checked where they come in: none holds what nobody sees and databases refuse."""

import re
from typing import Any

from django import forms
from django.core.validators import slug_re

CONTEXT = 12  # characters that tell where in a text the slip is
_UNSEEN = (
    r"\x00-\x1f\x7f-\x9f\ud800-\udfff"  # control characters, and halves of pairs that UTF-8 cannot write
)
_IN_A_LINE = re.compile(f"[{_UNSEEN}]")
_IN_LINES = re.compile(f"(?![\t\n\r])[{_UNSEEN}]")


def control_problem(text: str, *, lines: bool = False) -> str:
    """A sentence about the first control character, or nothing; with `lines` a text may have several lines.

    >>> control_problem("Mean temp\\0"), control_problem("Mean temp")
    ('Remove the control character U+0000 after “Mean temp”.', '')
    """
    stripped = text.strip()
    found = (_IN_LINES if lines else _IN_A_LINE).search(stripped)
    if found is None:
        return ""
    before = stripped[: found.start()][-CONTEXT:]
    place = f"after “{before}”" if before else "at the beginning"
    return f"Remove the control character U+{ord(found[0]):04X} {place}."


def key_typed(text: str) -> str:
    """A key to look for; nothing where it cannot be one."""
    return text if slug_re.fullmatch(text) else ""


class Line(forms.CharField):
    """A text of one line."""

    several = False

    def validate(self, value: Any) -> None:
        super().validate(value)
        problem = control_problem(value or "", lines=self.several)
        if problem:
            raise forms.ValidationError(problem, code="control_character")


class Lines(Line):
    """A text that may have several lines, such as a certificate."""

    several = True


class KeyChoice(forms.ModelChoiceField):  # type: ignore[type-arg]  # not generic at run time
    """One of the things that have keys."""

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and value and not key_typed(value):
            raise forms.ValidationError(self.error_messages["invalid_choice"], code="invalid_choice")
        return super().to_python(value)
