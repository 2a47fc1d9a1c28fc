"""The form of a connection. Secrets go in and never come out: what is saved is kept unless typed anew."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib.auth.models import User

from dashboard.connections.keys import free_key
from dashboard.connections.models import Connection
from dashboard.texts import Line, Lines
from streaming.addresses import allowed_networks, problem_of_literal
from streaming.reach import Unreachable, split_address
from streaming.security import MECHANISMS, PROTOCOLS, InvalidPem, Security, seal

CODE = {"class": "form-control code", "spellcheck": "false", "autocomplete": "off", "autocapitalize": "off"}
PROTOCOL_CHOICES = [
    ("PLAINTEXT", "PLAINTEXT: no encryption, no login"),
    ("SSL", "SSL: encrypted"),
    ("SASL_PLAINTEXT", "SASL_PLAINTEXT: login, not encrypted"),
    ("SASL_SSL", "SASL_SSL: encrypted, with a login"),
]
PEM = {**CODE, "rows": 2}
PEM_BYTES = 100_000
NO_BROKER = "Give at least one broker as host:port."
MOVED = "The servers changed: type the password again, as it will be sent there."


class SecretText(forms.Textarea):
    """A text that is typed and never shown again."""

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        return super().get_context(name, None, attrs)


class ConnectionForm(forms.Form):
    """A connection as it will be saved or tried; `editing` has the secrets that stay."""

    name = Line(
        max_length=80,
        error_messages={"required": "Give the connection a name."},
        widget=forms.TextInput(attrs={"class": "form-control", "autocomplete": "off"}),
    )
    bootstrap_servers = Line(
        max_length=500,
        error_messages={"required": NO_BROKER},
        widget=forms.TextInput(attrs={**CODE, "placeholder": "kafka-1:9092, kafka-2:9092"}),
    )
    protocol = forms.ChoiceField(
        choices=PROTOCOL_CHOICES,
        initial=PROTOCOLS[0],
        error_messages={"required": "Choose a protocol."},
        widget=forms.Select(attrs={"class": "form-select"}),
    )
    mechanism = forms.ChoiceField(
        choices=[(one, one) for one in reversed(MECHANISMS)],
        required=False,
        widget=forms.Select(attrs={"class": "form-select"}),
    )
    username = Line(max_length=200, required=False, widget=forms.TextInput(attrs=CODE))
    password = Line(
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"class": "form-control", "autocomplete": "new-password"}),
    )
    ca = Lines(max_length=PEM_BYTES, required=False, widget=forms.Textarea(attrs=PEM))
    certificate = Lines(max_length=PEM_BYTES, required=False, widget=forms.Textarea(attrs=PEM))
    key = Lines(max_length=PEM_BYTES, required=False, widget=SecretText(attrs={**PEM, "data-secret": ""}))
    check_host = forms.BooleanField(
        required=False, initial=True, widget=forms.CheckboxInput(attrs={"class": "form-check-input"})
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        editing: Connection | None = None,
        *,
        secrets_may_wait: bool = False,
    ) -> None:
        """`secrets_may_wait`: of a file that has none; they are typed later."""
        self.editing = editing
        self.secrets_may_wait = secrets_may_wait
        super().__init__(data, initial=as_typed(editing) if editing else None, auto_id="connection_%s")
        for name in self.errors if self.is_bound else ():
            self.fields[name].widget.attrs["aria-invalid"] = "true"

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"].strip()
        others = Connection.with_deleted.filter(deleted_at=None)
        if self.editing:
            others = others.exclude(pk=self.editing.pk)
        if others.filter(name__iexact=name).exists():
            raise forms.ValidationError(f"There is a connection “{name}” already: choose another name.")
        return name

    def clean_bootstrap_servers(self) -> str:
        typed = self.cleaned_data["bootstrap_servers"].split(",")
        addresses = [part.strip() for part in typed if part.strip()]
        if not addresses:
            raise forms.ValidationError(NO_BROKER)
        try:
            for address in addresses:
                host, _ = split_address(address)
                if problem := problem_of_literal(host, allowed_networks()):
                    raise forms.ValidationError(problem)
        except Unreachable as problem:
            raise forms.ValidationError(str(problem)) from problem
        return ",".join(addresses)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if "protocol" not in cleaned:
            return cleaned
        if cleaned["protocol"].startswith("SASL"):
            self._check_login(cleaned)
        if cleaned["protocol"].endswith("SSL"):
            self._check_certificates(cleaned)
        return cleaned

    def _check_login(self, cleaned: dict[str, Any]) -> None:
        if not cleaned.get("username"):
            self.add_error("username", "Give the user name.")
        if not cleaned.get("password") and not self.kept_password:
            if not self.secrets_may_wait:
                self.add_error("password", "Give the password.")
        elif not cleaned.get("password") and self._goes_elsewhere(cleaned.get("bootstrap_servers", "")):
            self.add_error("password", MOVED)

    def _goes_elsewhere(self, bootstrap_servers: str) -> bool:
        """Whether the kept password would be sent to servers that it was not typed for."""
        known = self.editing.bootstrap_servers.split(",") if self.editing else []
        return not set(bootstrap_servers.split(",")) <= set(known)

    def _check_certificates(self, cleaned: dict[str, Any]) -> None:
        if cleaned.get("certificate") and not cleaned.get("key") and not self.kept_key:
            if not self.secrets_may_wait:
                self.add_error("key", "Give the key of the client certificate.")
        elif cleaned.get("key") and not cleaned.get("certificate"):
            self.add_error("certificate", "Give the client certificate that the key belongs to.")
        else:
            try:
                self.security().ssl_context()
            except InvalidPem as problem:
                self.add_error(problem.field, str(problem))

    @property
    def kept_password(self) -> str:
        return self.editing.sealed_password if self.editing else ""

    @property
    def kept_key(self) -> str:
        return self.editing.sealed_key if self.editing else ""

    def security(self) -> Security:
        """What was typed, with the secrets that stay; of what the protocol does not use, nothing."""
        cleaned = self.cleaned_data
        protocol = cleaned["protocol"]
        login: dict[str, Any] = {}
        encryption: dict[str, Any] = {}
        if protocol.startswith("SASL"):
            login = {
                "mechanism": cleaned.get("mechanism") or MECHANISMS[-1],
                "username": cleaned.get("username", ""),
                "sealed_password": seal(cleaned.get("password", "")) or self.kept_password,
            }
        if protocol.endswith("SSL"):
            certificate = cleaned.get("certificate", "")
            encryption = {
                "ca": cleaned.get("ca", ""),
                "certificate": certificate,
                "sealed_key": (seal(cleaned.get("key", "")) or self.kept_key) if certificate else "",
                "check_host": cleaned.get("check_host", True),
            }
        return Security(protocol=protocol, **login, **encryption)

    def save(self, person: User | None) -> Connection:
        connection = self.editing or Connection(
            key=free_key(Connection, self.cleaned_data["name"]), created_by=person
        )
        connection.name = self.cleaned_data["name"]
        connection.bootstrap_servers = self.cleaned_data["bootstrap_servers"]
        for name, value in self.security().to_json().items():
            setattr(connection, name, value)
        connection.save()
        return connection


def as_typed(connection: Connection) -> dict[str, Any]:
    """Everything but the secrets."""
    secrets = ("password", "key")
    return {name: getattr(connection, name) for name in ConnectionForm.base_fields if name not in secrets}
