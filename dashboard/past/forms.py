"""Forms of history: notes, links, and how long results are kept."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils import timezone

from dashboard.past.asked import LATEST_MS
from dashboard.past.models import MOST_DAYS, HistoryPolicy

LIFETIMES = [("1", "1 day"), ("7", "7 days"), ("30", "30 days"), ("365", "one year")]
DAYS_SENTENCE = f"Give a number of days from 1 to {MOST_DAYS:,}."
DAYS_ERRORS = dict.fromkeys(("required", "invalid", "min_value", "max_value"), DAYS_SENTENCE)


class NoteForm(forms.Form):
    """A note at an instant of a dashboard."""

    time = forms.IntegerField(
        min_value=0,
        max_value=LATEST_MS,
        error_messages=dict.fromkeys(
            ("required", "invalid", "min_value", "max_value"), "Say at which time the note belongs."
        ),
    )
    text = forms.CharField(
        max_length=140,
        error_messages={"required": "Write something.", "max_length": "Keep it to 140 characters."},
    )


class LinkForm(forms.Form):
    """A link that is to be made."""

    label = forms.CharField(
        max_length=80,
        required=False,
        widget=forms.TextInput(
            attrs={"class": "form-control", "autocomplete": "off", "placeholder": "the screen in the hall"}
        ),
    )
    days = forms.ChoiceField(
        choices=LIFETIMES,
        initial="7",
        error_messages={"invalid_choice": "Choose for how long the link holds."},
        widget=forms.Select(attrs={"class": "form-select"}),
    )

    def expires_at(self) -> datetime:
        return timezone.now() + timedelta(days=int(self.cleaned_data["days"]))


class PolicyForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """How long a query's results are kept."""

    class Meta:
        model = HistoryPolicy
        fields = ["detail_days", "kept_days"]
        error_messages = {"detail_days": DAYS_ERRORS, "kept_days": DAYS_ERRORS}

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        detail, kept = cleaned.get("detail_days"), cleaned.get("kept_days")
        if detail is not None and kept is not None and detail > kept:
            self.add_error("kept_days", "The thinned past must be kept at least as long as full detail.")
        return cleaned
