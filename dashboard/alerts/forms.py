"""The forms of alerts; the API sends the same fields as texts, so that both refuse in the same words."""

from collections.abc import Mapping
from datetime import timedelta
from math import isfinite
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils import timezone

from dashboard.alerts import webhook as webhooks
from dashboard.alerts.delivery import NO_MAIL_SERVER
from dashboard.alerts.models import Alert, slide_of
from dashboard.alerts.rules import CONDITIONS
from dashboard.alerts.words import LABELS
from dashboard.queries.models import SavedQuery
from dashboard.queries.windows_text import spoken
from optimizer.durations import InvalidDuration, format_duration, parse_duration
from optimizer.queries import Computation
from streaming.security import seal

NAME_LENGTH = 120
MOST_ADDRESSES = 20
MOST_COMPARED = 500  # results that a change may reach back: all of them are kept for each group
NO_NUMBERS = frozenset(
    ("text_min", "text_max", "concat", "collect", "collect_distinct", "first_n", "last_n", "top_k")
)
INTERVAL, REPEAT = "5m", "4h"
LONGEST_SILENCE = timedelta(days=366)
TEXT = {"class": "form-control", "autocomplete": "off"}
CODE = {**TEXT, "class": "form-control code", "spellcheck": "false"}
CHECK = {"class": "form-check-input"}
OF_TWO = ("between", "outside")


def _text(attrs: Mapping[str, str] = TEXT, placeholder: str = "") -> forms.TextInput:
    return forms.TextInput(attrs={**attrs, "placeholder": placeholder})


class AlertForm(forms.Form):
    """An alert on one query; `editing` has the secret that stays.

    One that is `set_up_later` may lack what it needs to be sent: a secret, and a mail server.
    """

    name = forms.CharField(
        max_length=NAME_LENGTH,
        error_messages={
            "required": "Give the alert a name.",
            "max_length": f"The name is longer than {NAME_LENGTH} characters: shorten it.",
        },
        widget=_text(),
    )
    computation = forms.CharField(required=False, widget=forms.Select(attrs={"class": "form-select"}))
    window = forms.CharField(required=False, widget=forms.Select(attrs={"class": "form-select"}))
    condition = forms.ChoiceField(
        choices=[(one, LABELS[one]) for one in CONDITIONS],
        error_messages={
            "required": f"Choose a condition: {', '.join(CONDITIONS)}.",
            "invalid_choice": f"Choose a condition: {', '.join(CONDITIONS)}.",
        },
        widget=forms.Select(attrs={"class": "form-select"}),
    )
    threshold = forms.CharField(required=False, widget=_text(CODE, "80"))
    upper = forms.CharField(required=False, widget=_text(CODE, "120"))
    percent = forms.BooleanField(required=False, widget=forms.CheckboxInput(attrs=CHECK))
    within = forms.CharField(required=False, widget=_text(CODE, "10m"))
    hold = forms.CharField(required=False, widget=_text(CODE, "5m"))
    margin = forms.CharField(required=False, widget=_text(CODE, "0"))
    per_group = forms.BooleanField(required=False, initial=True, widget=forms.CheckboxInput(attrs=CHECK))
    provisional = forms.BooleanField(required=False, widget=forms.CheckboxInput(attrs=CHECK))
    emails = forms.CharField(required=False, widget=_text(TEXT, "ana@example.org, on-call@example.org"))
    webhook = forms.CharField(
        required=False,
        max_length=500,
        error_messages={"max_length": "The address is longer than 500 characters."},
        widget=_text(CODE, "https://example.org/hooks/millrace"),
    )
    webhook_secret = forms.CharField(
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"class": "form-control", "autocomplete": "new-password"}),
    )
    interval = forms.CharField(required=False, initial=INTERVAL, widget=_text(CODE, INTERVAL))
    repeat = forms.CharField(required=False, initial=REPEAT, widget=_text(CODE, "never"))

    def __init__(
        self,
        query: SavedQuery,
        data: Mapping[str, Any] | None = None,
        editing: Alert | None = None,
        *,
        set_up_later: bool = False,
    ) -> None:
        self.query = query
        self.editing = editing
        self._set_up_later = set_up_later
        self.members = query.spec().members(query.key)
        super().__init__(data, initial=as_typed(editing) if editing else None, auto_id="alert_%s")
        self.fields["computation"].widget.choices = [
            (one.written, one.words) for one in query.spec().computations if one.aggregate not in NO_NUMBERS
        ]
        self.fields["window"].widget.choices = [(one.written, spoken(one)) for one in query.spec().windows]
        for name in self.errors if self.is_bound else ():
            self.fields[name].widget.attrs["aria-invalid"] = "true"

    @property
    def kept_secret(self) -> str:
        return self.editing.sealed_secret if self.editing else ""

    def clean_name(self) -> str:
        return str(self.cleaned_data["name"]).strip()

    def clean_computation(self) -> str:
        computations = self.query.spec().computations
        written = self.cleaned_data["computation"] or computations[0].written
        found = next((one for one in computations if one.written == written), None)
        if found is None:
            known = ", ".join(one.written for one in computations)
            raise ValidationError(f"The query does not compute “{written}”: choose one of {known}.")
        if not self._is_number(found):
            raise ValidationError(f"The {found.words} is no number: an alert needs one.")
        return found.written

    def _is_number(self, computation: Computation) -> bool:
        kind = self.query.source.types.get(computation.field or "")
        text = computation.aggregate in ("first", "last") and kind == "text"
        return computation.aggregate not in NO_NUMBERS and not text

    def clean_window(self) -> str:
        windows = self.query.spec().windows
        written = self.cleaned_data["window"] or windows[0].written
        if written not in [one.written for one in windows]:
            known = ", ".join(one.written for one in windows)
            raise ValidationError(f"The query has no window “{written}”: choose one of {known}.")
        return str(written)

    def clean_emails(self) -> str:
        typed = [one.strip() for one in self.cleaned_data["emails"].replace(";", ",").split(",")]
        addresses = list(dict.fromkeys(one for one in typed if one))
        for one in addresses:
            try:
                validate_email(one)
            except ValidationError as error:
                raise ValidationError(f"“{one}” is not an e-mail address.") from error
        if len(addresses) > MOST_ADDRESSES:
            raise ValidationError(f"At most {MOST_ADDRESSES} addresses: use a mailing list for more people.")
        if addresses and not settings.MAILS and not self._set_up_later:
            raise ValidationError(NO_MAIL_SERVER)
        return ",".join(addresses)

    def clean_webhook(self) -> str:
        address = str(self.cleaned_data["webhook"]).strip()
        problem = webhooks.problem_of(address) if address else ""
        if problem:
            raise ValidationError(problem)
        return address

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        condition = cleaned.get("condition")
        cleaned["interval"] = self._duration("interval") or 0
        cleaned["repeat"] = self._duration("repeat") or 0
        has_secret = cleaned.get("webhook_secret") or self.kept_secret or self._set_up_later
        if cleaned.get("webhook") and not has_secret:
            self.add_error("webhook_secret", "Give a secret: what is sent is signed with it.")
        if condition is None:
            return cleaned
        cleaned["hold"] = self._duration("hold") or 0
        if condition == "no_data":
            if not cleaned["hold"] and "hold" not in self.errors:
                self.add_error("hold", "Say for how long no data may come, such as 5m.")
            return cleaned | {"threshold": 0.0, "upper": 0.0, "margin": 0.0, "percent": False, "within": 0}
        return cleaned | self._bounds(condition) | self._change(condition)

    def _bounds(self, condition: str) -> dict[str, Any]:
        threshold = self._number("threshold", "Give a number, such as 80.")
        upper = self._number("upper", "Give the upper number, such as 120.") if condition in OF_TWO else 0.0
        margin = self._number("margin", "") if self.cleaned_data.get("margin") else 0.0
        if None in (threshold, upper, margin):
            return {}
        threshold, upper, margin = threshold or 0.0, upper or 0.0, margin or 0.0
        if condition in OF_TWO and upper < threshold:
            self.add_error("upper", "The upper number is below the lower one: swap them.")
        if condition == "change" and threshold <= 0:
            self.add_error("threshold", "Give a change above zero: it counts in both directions.")
        if margin < 0:
            self.add_error("margin", "Give zero or more: it is a distance.")
        elif condition == "outside" and 2 * margin > upper - threshold:
            self.add_error("margin", "It would never be ok again: give at most half of the distance.")
        elif condition == "change" and margin >= threshold > 0:
            self.add_error("margin", "It would never be ok again: give less than the change.")
        return {"threshold": threshold, "upper": upper, "margin": margin}

    def _change(self, condition: str) -> dict[str, Any]:
        if condition != "change":
            return {"percent": False, "within": 0}
        within = self._duration("within") or 0
        if not within and "within" not in self.errors:
            self.add_error("within", "Say within how long it changes, such as 10m.")
        written = self.cleaned_data.get("window")
        slides = [slide_of(query) for _, spec, query in self.members if spec.written == written]
        if slides and slides[0] and within > MOST_COMPARED * slides[0]:
            longest = format_duration(MOST_COMPARED * slides[0])
            self.add_error("within", f"At most {longest} here: {MOST_COMPARED} results are compared.")
        return {"percent": self.cleaned_data.get("percent", False), "within": within}

    def _number(self, name: str, missing: str) -> float | None:
        typed = str(self.cleaned_data.get(name) or "").strip().replace("−", "-")
        try:
            value = float(typed)
        except ValueError:
            value = float("nan")
        if isfinite(value):
            return value
        self.add_error(name, f"“{typed}” is not a number." if typed or not missing else missing)
        return None

    def _duration(self, name: str) -> int | None:
        typed = str(self.cleaned_data.get(name) or "").strip()
        if typed in ("", "0", "0s", "never"):
            return 0
        try:
            return parse_duration(typed)
        except InvalidDuration as problem:
            self.add_error(name, str(problem))
            return None

    def alert(self) -> Alert:
        """As it would be saved."""
        alert = self.editing or Alert(query=self.query)
        for name in (*RULE, "name", "emails", "webhook", "interval", "repeat"):
            setattr(alert, name, self.cleaned_data[name])
        if not alert.webhook:
            alert.sealed_secret = ""
        elif self.cleaned_data.get("webhook_secret"):
            alert.sealed_secret = seal(self.cleaned_data["webhook_secret"])
        return alert

    def save(self, person: User) -> Alert:
        """What it looks at begins anew when the rule is another."""
        before = {name: getattr(self.editing, name) for name in RULE} if self.editing else {}
        alert = self.alert()
        if not self.editing:
            alert.owner = person
        elif before != {name: getattr(alert, name) for name in RULE}:
            alert.changed_at = timezone.now()
        alert.save()
        return alert


RULE = (
    "computation",
    "window",
    "condition",
    "threshold",
    "upper",
    "margin",
    "percent",
    "within",
    "hold",
    "per_group",
    "provisional",
)


def as_typed(alert: Alert) -> dict[str, Any]:
    """An alert as it would be typed, without its secret."""
    durations = {
        name: format_duration(getattr(alert, name)) for name in ("hold", "interval", "repeat", "within")
    }
    no_data, of_two = alert.condition == "no_data", alert.condition in OF_TWO
    return {
        "name": alert.name,
        "computation": alert.computation,
        "window": alert.window,
        "condition": alert.condition,
        "threshold": "" if no_data else f"{alert.threshold:.15g}",
        "upper": f"{alert.upper:.15g}" if of_two else "",
        "margin": f"{alert.margin:.15g}" if alert.margin else "",
        "percent": alert.percent,
        "per_group": alert.per_group,
        "provisional": alert.provisional,
        "emails": ", ".join(alert.addresses),
        "webhook": alert.webhook,
        **{name: "" if text == "0s" else text for name, text in durations.items()},
    }


class SilenceForm(forms.Form):
    """For how long nobody is told, of all groups or of one."""

    duration = forms.CharField(
        initial="2h",
        error_messages={"required": "Say for how long, such as 2h."},
        widget=_text(CODE, "2h"),
    )
    reason = forms.CharField(
        required=False,
        max_length=200,
        error_messages={"max_length": "The reason is longer than 200 characters: shorten it."},
        widget=_text(TEXT, "maintenance"),
    )

    def clean_duration(self) -> timedelta:
        try:
            length = timedelta(milliseconds=parse_duration(self.cleaned_data["duration"]))
        except InvalidDuration as problem:
            raise ValidationError(str(problem)) from problem
        if length > LONGEST_SILENCE:
            raise ValidationError("At most a year: pause the alert instead.")
        return length
