"""The forms of signing in and of personal tokens."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.utils import timezone

from dashboard.texts import Line

FOR_EVER = ""
LIFETIMES = [
    ("30", "30 days"),
    ("90", "90 days"),
    ("365", "one year"),
    (FOR_EVER, "until it is revoked"),
]


class SignInForm(AuthenticationForm):
    """Django's own form in Millrace's look and words."""

    error_messages = {
        **AuthenticationForm.error_messages,
        "invalid_login": "User name and password do not match. Both are case-sensitive.",
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["class"] = "form-control"


class TokenForm(forms.Form):
    """A token that is to be made."""

    name = Line(
        max_length=80,
        error_messages={"required": "Give the token a name, such as what will use it."},
        widget=forms.TextInput(attrs={"class": "form-control", "autocomplete": "off"}),
    )
    days = forms.ChoiceField(
        choices=LIFETIMES, required=False, initial="90", widget=forms.Select(attrs={"class": "form-select"})
    )

    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["days"]
        return timezone.now() + timedelta(days=int(days)) if days != FOR_EVER else None
