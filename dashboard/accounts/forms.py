"""The forms of signing in, of one's own account, of people and groups, and of personal tokens."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth.forms import (
    AuthenticationForm,
    PasswordChangeForm,
    PasswordResetForm,
    SetPasswordForm,
)
from django.contrib.auth.models import Group, User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.cache import cache
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from dashboard.accounts.guessing import knows_password
from dashboard.accounts.people import ADMINISTRATOR, EDITOR, ROLES, give_role, role_of, signed_in
from dashboard.accounts.sessions import end_other_sessions
from dashboard.texts import Line

FOR_EVER = ""
LIFETIMES = [
    ("30", "30 days"),
    ("90", "90 days"),
    ("365", "one year"),
    (FOR_EVER, "until it is revoked"),
]


MAILED_AGAIN_AFTER = 300  # s; a stranger who knows an address must not flood its mail box
ROLE_CHOICES = [(role, role.capitalize()) for role in ROLES]
MISMATCH = {"password_mismatch": "The two passwords are not the same."}
WRONG_PASSWORD = "This is not your current password."  # noqa: S105  # a sentence
NAME_RULE = "Use letters, digits and @ . + - _ for a user name."


def _text(**more: str) -> forms.TextInput:
    return forms.TextInput(attrs={"class": "form-control", "autocomplete": "off", **more})


def _end_tokens() -> forms.BooleanField:
    return forms.BooleanField(required=False, widget=forms.CheckboxInput(attrs={"class": "form-check-input"}))


def _dress(form: forms.BaseForm) -> None:
    for field in form.fields.values():
        field.widget.attrs.setdefault("class", "form-control")
        field.help_text = ""


class SignInForm(AuthenticationForm):
    """Django's own form in Millrace's look and words."""

    error_messages = {
        **AuthenticationForm.error_messages,
        "invalid_login": "User name and password do not match. Both are case-sensitive.",
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _dress(self)


class ConfirmedForm(forms.BaseForm):
    """Part of a form whose sender has to show that a stolen session is not all they have."""

    def confirm(self, request: HttpRequest, field: str = "password") -> None:
        """Note what is wrong with the current password that was typed."""
        typed = self.cleaned_data.get(field) or ""
        if not typed:
            self.add_error(field, "Type your current password.")
        elif not knows_password(request, signed_in(request), typed):
            self.add_error(field, WRONG_PASSWORD)


def _current_password() -> forms.CharField:
    attributes = {"class": "form-control", "autocomplete": "current-password"}
    return forms.CharField(required=False, strip=False, widget=forms.PasswordInput(attrs=attributes))


class TokenForm(ConfirmedForm, forms.Form):
    """A token that is to be made."""

    name = Line(
        max_length=80,
        error_messages={"required": "Give the token a name, such as what will use it."},
        widget=forms.TextInput(attrs={"class": "form-control", "autocomplete": "off"}),
    )
    days = forms.ChoiceField(
        choices=LIFETIMES, required=False, initial="90", widget=forms.Select(attrs={"class": "form-select"})
    )
    password = _current_password()

    def __init__(self, request: HttpRequest, data: Any = None) -> None:
        super().__init__(data)
        self._request = request

    def clean(self) -> None:
        if not self.errors:
            self.confirm(self._request)

    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["days"]
        return timezone.now() + timedelta(days=int(days)) if days != FOR_EVER else None


class ProfileForm(ConfirmedForm, forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """How somebody is called, and where mail reaches them: links for new passwords, too."""

    password = _current_password()

    def __init__(self, request: HttpRequest, data: Any = None) -> None:
        super().__init__(data, instance=signed_in(request))
        self._request = request

    def clean(self) -> None:
        super().clean()
        if not self.errors and self.cleaned_data["email"] != self.initial["email"]:
            self.confirm(self._request)

    class Meta:
        model = User
        fields = ["first_name", "email"]
        widgets = {
            "first_name": _text(autocomplete="given-name"),
            "email": forms.EmailInput(attrs={"class": "form-control", "autocomplete": "email"}),
        }
        error_messages = {"email": {"invalid": "This is no e-mail address, such as ana@example.org."}}


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]
    """A password that is set with a link."""

    end_tokens = _end_tokens()
    error_messages = {**SetPasswordForm.error_messages, **MISMATCH}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _dress(self)


class OwnPasswordForm(PasswordChangeForm):
    """Another password, by who knows the current one."""

    end_tokens = _end_tokens()
    error_messages = {
        **PasswordChangeForm.error_messages,
        **MISMATCH,
        "password_incorrect": WRONG_PASSWORD,
    }

    def __init__(self, request: HttpRequest, data: Any = None) -> None:
        super().__init__(signed_in(request), data)
        self._request = request
        _dress(self)
        del self.fields["old_password"].widget.attrs["autofocus"]  # it is one form of several on its page
        self.fields["old_password"].error_messages["required"] = "Type your current password."
        self.fields["new_password1"].error_messages["required"] = "Type a new password."
        self.fields["new_password2"].error_messages["required"] = "Type the new password again."

    def clean_old_password(self) -> str:
        typed: str = self.cleaned_data["old_password"]
        if not knows_password(self._request, signed_in(self._request), typed):
            raise forms.ValidationError(WRONG_PASSWORD)
        return typed


class ForgottenForm(PasswordResetForm):
    """Where to mail a link to; the answer is the same whether somebody has that address."""

    email = forms.EmailField(
        max_length=254,
        error_messages={
            "required": "Type the e-mail address of your account.",
            "invalid": "This is no e-mail address, such as ana@example.org.",
        },
        widget=forms.EmailInput(attrs={"class": "form-control", "autocomplete": "email"}),
    )

    def get_users(self, email: str) -> Any:
        return (
            one for one in super().get_users(email) if cache.add(f"mailed.{one.pk}", 1, MAILED_AGAIN_AFTER)
        )


class PersonForm(forms.Form):
    """A person as an administrator sees them: new, or to be changed, where the user name stays."""

    username = forms.CharField(
        max_length=150,
        strip=True,
        validators=[UnicodeUsernameValidator(message=NAME_RULE)],
        error_messages={"required": "Give a user name: it is what they sign in with."},
        widget=_text(),
    )
    first_name = forms.CharField(max_length=150, required=False, widget=_text())
    email = forms.EmailField(
        required=False,
        error_messages={"invalid": "This is no e-mail address, such as ana@example.org."},
        widget=forms.EmailInput(attrs={"class": "form-control", "autocomplete": "off"}),
    )
    role = forms.ChoiceField(
        choices=ROLE_CHOICES,
        initial=EDITOR,
        error_messages={
            "required": "Choose viewer, editor or administrator.",
            "invalid_choice": "Choose viewer, editor or administrator.",
        },
        widget=forms.Select(attrs={"class": "form-select"}),
    )
    groups = forms.ModelMultipleChoiceField(
        Group.objects.all(),
        to_field_name="name",
        required=False,
        error_messages={"invalid_choice": "There is no group “%(value)s”."},
        widget=forms.CheckboxSelectMultiple,
    )
    is_active = forms.BooleanField(required=False, initial=True)

    def __init__(self, data: Any = None, *, by: User, editing: User | None = None) -> None:
        super().__init__(data, initial=as_typed(editing) if editing else None)
        self.by, self.editing = by, editing
        self.fields["groups"].queryset = Group.objects.order_by("name")  # type: ignore[attr-defined]
        if editing:
            del self.fields["username"]
        else:
            del self.fields["is_active"]

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        if User.objects.filter(username__iexact=name).exists():
            raise forms.ValidationError(f"There is a “{name}” already: choose another user name.")
        return name

    def clean_role(self) -> str:
        role: str = self.cleaned_data["role"]
        if self.editing == self.by and role != ADMINISTRATOR:
            raise forms.ValidationError("You cannot take this role from yourself: another administrator can.")
        return role

    def clean_is_active(self) -> bool:
        may: bool = self.cleaned_data["is_active"]
        if self.editing == self.by and not may:
            raise forms.ValidationError("You cannot lock yourself out: another administrator can.")
        return may

    @transaction.atomic
    def save(self) -> User:
        cleaned = self.cleaned_data
        person = self.editing or User(username=cleaned["username"])
        person.first_name, person.email = cleaned["first_name"], cleaned["email"]
        if self.editing is None:
            person.set_unusable_password()
        else:
            person.is_active = cleaned["is_active"]
        person.save()
        if role_of(person) != cleaned["role"]:
            give_role(person, cleaned["role"])
        person.groups.set(cleaned["groups"])
        if not person.is_active:
            end_other_sessions(person, None)
        return person


def as_typed(person: User) -> dict[str, Any]:
    """A person as the form would be filled to make them."""
    return {
        "first_name": person.first_name,
        "email": person.email,
        "role": role_of(person),
        "groups": [group.name for group in person.groups.order_by("name")],
        "is_active": person.is_active,
    }


class GroupForm(forms.Form):
    """A group and who is in it."""

    name = forms.CharField(
        max_length=150, error_messages={"required": "Give the group a name."}, widget=_text()
    )
    members = forms.ModelMultipleChoiceField(
        User.objects.all(),
        to_field_name="username",
        required=False,
        error_messages={"invalid_choice": "There is no person “%(value)s”."},
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, data: Any = None, *, editing: Group | None = None) -> None:
        initial = {"name": editing.name, "members": members_of(editing)} if editing else None
        super().__init__(data, initial=initial)
        self.editing = editing
        self.fields["members"].queryset = User.objects.order_by("first_name", "username")  # type: ignore[attr-defined]

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"].strip()
        others = Group.objects.exclude(pk=self.editing.pk) if self.editing else Group.objects.all()
        if others.filter(name__iexact=name).exists():
            raise forms.ValidationError(f"There is a group “{name}” already: choose another name.")
        return name

    @transaction.atomic
    def save(self) -> Group:
        group = self.editing or Group()
        group.name = self.cleaned_data["name"]
        group.save()
        group.user_set.set(self.cleaned_data["members"])
        return group


def members_of(group: Group) -> list[str]:
    return [one.username for one in group.user_set.order_by("username")]
