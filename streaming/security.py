"""How a source's cluster is reached: encryption, who we are, and secrets that travel and rest sealed.

A secret is sealed with the first key of MILLRACE_SECRETS_KEY and opened with any of them, so that keys can be
changed without a moment at which nothing can be read. Web and job have the same keys.
"""

import os
import ssl
import tempfile
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)
KEYS = "MILLRACE_SECRETS_KEY"  # of the environment


class SecretProblem(RuntimeError):
    """A secret that cannot be sealed or opened; the message is the sentence shown to people."""


class InvalidPem(ValueError):
    """A certificate or key that cannot be used: `field` names it, the message is the sentence for people."""

    def __init__(self, which: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = which


@dataclass(frozen=True)
class Security:
    """What a client needs to be let in. Sealed texts are safe to store and to send; the rest is no secret."""

    protocol: Protocol = "PLAINTEXT"
    mechanism: Mechanism = "SCRAM-SHA-512"
    username: str = ""
    sealed_password: str = field(default="", repr=False)
    ca: str = field(default="", repr=False)  # PEM of who signs the brokers' certificates; empty: the system's
    certificate: str = field(default="", repr=False)  # PEM of the client
    sealed_key: str = field(default="", repr=False)  # the PEM of its private key
    check_host: bool = True  # the broker's certificate must be for the name that was dialled

    @property
    def is_encrypted(self) -> bool:
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def has_login(self) -> bool:
        return self.protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    def client_options(self) -> dict[str, Any]:
        """kafka-python's options for any client of the cluster; raises SecretProblem and InvalidPem."""
        options: dict[str, Any] = {"security_protocol": self.protocol}
        if self.is_encrypted:
            options["ssl_context"] = self.ssl_context()
        if self.has_login:
            options |= {
                "sasl_mechanism": self.mechanism,
                "sasl_plain_username": self.username,
                "sasl_plain_password": unseal(self.sealed_password),
            }
        return options

    def ssl_context(self) -> ssl.SSLContext:
        """The same every time: reading the system's certificates takes long."""
        return _ssl_context(self)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Security":
        return cls(**value)


PLAINTEXT = Security()


@lru_cache(maxsize=64)
def _ssl_context(security: Security) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = security.check_host
    if security.ca:
        try:
            context.load_verify_locations(cadata=security.ca)
        except (ssl.SSLError, ValueError) as error:
            sentence = "The CA is not a certificate: paste the PEM text from BEGIN to END CERTIFICATE."
            raise InvalidPem("ca", sentence) from error
    else:
        context.load_default_certs()
    if security.certificate:
        _load_client_certificate(context, security.certificate, unseal(security.sealed_key))
    return context


def _load_client_certificate(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """Python's ssl takes files alone: they are readable by us alone, and gone at once."""
    with tempfile.TemporaryDirectory(prefix="millrace-tls-") as folder:  # its mode is 700
        certificate_path = _private_file(Path(folder) / "certificate.pem", certificate)
        key_path = _private_file(Path(folder) / "key.pem", key)
        try:
            # An encrypted key must not make OpenSSL ask on a terminal.
            context.load_cert_chain(certificate_path, key_path, password="")
        except ssl.SSLError as error:
            if error.reason == "KEY_VALUES_MISMATCH":
                raise InvalidPem(
                    "key", "The client key does not belong to the client certificate."
                ) from error
            sentence = "The client certificate or its key is not PEM text, or the key is encrypted."
            raise InvalidPem("certificate", sentence) from error


def _private_file(path: Path, text: str) -> Path:
    path.touch(mode=0o600)
    path.write_text(text)
    return path


# --- secrets --------------------------------------------------------------------------------------------


def seal(secret: str) -> str:
    """The secret as it may be stored; nothing for nothing."""
    return _sealer(_keys()).encrypt(secret.encode()).decode() if secret else ""


def unseal(sealed: str) -> str:
    """What was sealed with any of our keys."""
    if not sealed:
        return ""
    try:
        return _sealer(_keys()).decrypt(sealed.encode()).decode()
    except InvalidToken as error:
        raise SecretProblem(
            f"A saved secret cannot be opened with the keys in {KEYS}: type it again."
        ) from error


def reseal(sealed: str) -> str:
    """The same secret, sealed with the first key."""
    return seal(unseal(sealed))


def new_key() -> str:
    return Fernet.generate_key().decode()


def check_keys() -> None:
    """Raise SecretProblem unless the keys can be used."""
    _sealer(_keys())


def _keys() -> str:
    return os.environ.get(KEYS, "")


@lru_cache(maxsize=2)
def _sealer(keys: str) -> MultiFernet:
    try:
        return MultiFernet([Fernet(key.strip()) for key in keys.split(",") if key.strip()])
    except ValueError as error:
        raise SecretProblem(
            f"{KEYS} must hold one or more keys, separated by commas,"
            " each 32 random bytes in URL-safe base64."
        ) from error
