"""Whether a cluster lets us in, and if not, why, in a sentence that says what to change.

kafka-python tries again until time is over and then speaks of a time-out; so doors are tried here one step at
a time: name, port, TLS, login.
"""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from cryptography import x509
from cryptography.x509.oid import NameOID
from kafka.errors import IllegalSaslStateError, KafkaError, KafkaTimeoutError, RequestTimedOutError
from kafka.net.sasl import get_sasl_mechanism
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from streaming import addresses, checked_socket
from streaming.kafka_connection import ANSWER_SECONDS, Connection
from streaming.security import InvalidPem, SecretProblem, Security

ALERT_SECONDS = 0.5  # in which a broker says that it does not like our certificate
# OpenSSL's X509_V_ERR_…
NOT_YET_VALID, EXPIRED, OTHER_HOST, OTHER_IP = 9, 10, 62, 64


class SourceProblem(RuntimeError):
    """Why a source cannot be read; the message is the sentence shown to people."""


class Unreachable(SourceProblem):
    """Why a cluster does not let us in; `field` names what of the connection to look at."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


def secure_options(security: Security) -> dict[str, Any]:
    """kafka-python's options; raises Unreachable where secrets cannot be opened or are no good."""
    try:
        return security.client_options() | checked_socket.OPTIONS
    except SecretProblem as problem:
        raise Unreachable("password", str(problem)) from problem
    except InvalidPem as problem:
        raise Unreachable(problem.field, str(problem)) from problem


def split_address(address: str) -> tuple[str, int]:
    """Host and port of one bootstrap server.

    >>> split_address("[::1]:9092")
    ('::1', 9092)
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise Unreachable(
            "bootstrap_servers",
            f"“{address}” is not an address: write host:port, several separated by commas.",
        )
    return host.strip("[]"), int(port)


def closed_because(address: str, patience: float) -> str | None:
    """Why no connection can be made, in plain TCP; None: it can."""
    host, port = split_address(address)
    try:
        addresses.dial(host, port, patience).close()
    except addresses.NotAllowed as problem:
        raise Unreachable("bootstrap_servers", str(problem)) from problem
    except (socket.gaierror, UnicodeError):
        return f"The name {host} does not resolve; check its spelling."
    except TimeoutError:
        return f"{address} does not answer within {patience:.0f} s; check the address and the firewall."
    except ConnectionRefusedError:
        return f"{address} refused the connection; check that Kafka is running on this port."
    except OSError as error:
        return f"{address} cannot be reached: {error.strerror or error}."
    return None


def why_not(bootstrap_servers: str, security: Security) -> Unreachable | None:
    """Why the first address that is open does not let us in; None: it does, or all are closed."""
    for address in map(str.strip, bootstrap_servers.split(",")):
        if closed_because(address, ANSWER_SECONDS / 2) is None:
            return _why_not_at(address, security)
    return None


def misdirected(bootstrap_servers: str, security: Security) -> Unreachable | None:
    """Why brokers cannot be reached where they say they are, though an address of the cluster lets us in."""
    for address in map(str.strip, bootstrap_servers.split(",")):
        if closed_because(address, ANSWER_SECONDS / 2) is None:
            return _sent_on(address, security)
    return None


def _sent_on(address: str, security: Security) -> Unreachable | None:
    connection = Connection(address, secure_options(security))
    try:
        brokers = connection.ask(_about_brokers()).brokers
    finally:
        connection.close()
    for broker in brokers:
        told = address_of(broker)
        reason = None if told == address else _closed_or_not_allowed(told)
        if reason is not None:
            return Unreachable(
                "bootstrap_servers",
                f"{address} answers, but sends readers on to {told}. {reason}"
                " If that address is meant for others, use the listener that is meant for us.",
            )
    return None


def _closed_or_not_allowed(address: str) -> str | None:
    try:
        return closed_because(address, ANSWER_SECONDS / 2)
    except Unreachable as problem:
        return str(problem)


def address_of(broker: Any) -> str:
    """Host and port of a broker as a cluster told of it."""
    host = f"[{broker.host}]" if ":" in broker.host else broker.host
    return f"{host}:{broker.port}"


def _why_not_at(address: str, security: Security) -> Unreachable | None:
    try:
        connection = Connection(address, secure_options(security))
        try:
            if not security.has_login:
                connection.ask(_about_brokers())  # a broker that wants a login closes the door now
        finally:
            connection.close()
    except Unreachable as problem:
        return problem
    except (KafkaError, OSError, ValueError) as error:
        return _explained(address, security, error)
    return None


def _about_brokers() -> MetadataRequest:
    return MetadataRequest(topics=[], allow_auto_topic_creation=False)


def _explained(address: str, security: Security, error: Exception) -> Unreachable:
    if isinstance(error, KafkaTimeoutError | RequestTimedOutError | TimeoutError):
        return Unreachable("bootstrap_servers", f"The Kafka cluster at {address} does not answer.")
    problem = _tls_problem(address, security) if security.is_encrypted else _plain_problem(address)
    problem = problem or _login_problem(address, security)
    if problem is not None:
        return problem
    return Unreachable("bootstrap_servers", f"{address} answers, but not as a Kafka broker; check the port.")


# --- login ----------------------------------------------------------------------------------------------


def _login_problem(address: str, security: Security) -> Unreachable | None:
    """Kafka says why and hangs up; kafka-python's own login often hears the second alone."""
    without = replace(security, protocol="SSL" if security.is_encrypted else "PLAINTEXT")
    try:
        connection = Connection(address, secure_options(without))
        try:
            return _refused_at_login(address, security, connection)
        finally:
            connection.close()
    except (KafkaError, OSError, ValueError):
        return None


def _refused_at_login(address: str, security: Security, connection: Connection) -> Unreachable | None:
    answer = connection.ask(SaslHandshakeRequest(mechanism=security.mechanism, max_version=1))
    asks = answer.error_code != IllegalSaslStateError.errno
    if asks != security.has_login:
        wanted = _protocol(security.is_encrypted, asks)
        what = "wants a user name and a password" if asks else "asks for no login"
        return Unreachable("protocol", f"{address} {what}: choose {wanted}.")
    if not asks:
        return None
    if security.mechanism not in answer.mechanisms:
        offered = " or ".join(sorted(answer.mechanisms))
        return Unreachable("mechanism", f"{address} does not offer {security.mechanism}: choose {offered}.")
    host, _ = split_address(address)
    talk = get_sasl_mechanism(security.mechanism)(host=host, **secure_options(security))
    while not talk.is_done():
        reply = connection.ask(SaslAuthenticateRequest(talk.auth_bytes()))
        if reply.error_code:
            return Unreachable("password", f"{address} refused the user name or the password.")
        talk.receive(reply.auth_bytes)
    return None


def _protocol(is_encrypted: bool, has_login: bool) -> str:
    encrypted = "SSL" if is_encrypted else "PLAINTEXT"
    return f"SASL_{encrypted}" if has_login else encrypted


# --- TLS ------------------------------------------------------------------------------------------------


@contextmanager
def _handshake(address: str, context: ssl.SSLContext) -> Iterator[ssl.SSLSocket]:
    host, port = split_address(address)
    with (
        addresses.dial(host, port, ANSWER_SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=host) as encrypted,
    ):
        yield encrypted


def _tls_problem(address: str, security: Security) -> Unreachable | None:
    try:
        with _handshake(address, security.ssl_context()) as encrypted:
            return _disliked(address, security, encrypted)
    except ssl.SSLCertVerificationError as error:
        return _bad_certificate(address, security, error)
    except ssl.SSLError as error:
        if "ALERT" in (error.reason or ""):
            return _certificate_wanted(address, security)
        return _not_tls(address, security)
    except TimeoutError:
        return None
    except OSError:
        return _not_tls(address, security)


def _disliked(address: str, security: Security, encrypted: ssl.SSLSocket) -> Unreachable | None:
    """With TLS 1.3 a broker says only after the handshake that it does not like our certificate."""
    encrypted.settimeout(ALERT_SECONDS)
    try:
        encrypted.recv(1)
    except ssl.SSLError as error:
        if "ALERT" in (error.reason or ""):
            return _certificate_wanted(address, security)
    except OSError:
        pass
    return None


def _certificate_wanted(address: str, security: Security) -> Unreachable:
    if security.certificate:
        sentence = f"{address} does not accept the client certificate: its CA must be known there."
    else:
        sentence = f"{address} wants a client certificate: add one and its key."
    return Unreachable("certificate", sentence)


def _not_tls(address: str, security: Security) -> Unreachable:
    plain = _protocol(False, security.has_login)
    return Unreachable("protocol", f"{address} does not speak TLS: choose {plain}, or another port.")


def _plain_problem(address: str) -> Unreachable | None:
    """A port that speaks TLS to somebody who does not."""
    try:
        with _handshake(address, _trusting()):
            pass
    except ssl.SSLError as error:
        if "ALERT" not in (error.reason or ""):
            return None
    except OSError:
        return None
    return Unreachable("protocol", f"{address} speaks TLS: choose SSL or SASL_SSL.")


def _bad_certificate(address: str, security: Security, error: ssl.SSLCertVerificationError) -> Unreachable:
    host, _ = split_address(address)
    certificate = _certificate(address)
    if error.verify_code in (OTHER_HOST, OTHER_IP):
        names = ", ".join(_names(certificate)) or "another host"
        sentence = f"The certificate of {address} is for {names}, not for {host}: use a name that it is for."
        return Unreachable("check_host", sentence)
    if error.verify_code in (EXPIRED, NOT_YET_VALID):
        return Unreachable("bootstrap_servers", _out_of_time(address, certificate, error))
    issuer = f"“{_common_name(certificate.issuer)}”" if certificate else "an unknown CA"
    known = "the CA given here does not cover" if security.ca else "this machine does not know"
    sentence = (
        f"The certificate of {address} is signed by {issuer}, which {known}: paste that CA’s certificate."
    )
    return Unreachable("ca", sentence)


def _out_of_time(
    address: str, certificate: x509.Certificate | None, error: ssl.SSLCertVerificationError
) -> str:
    if certificate is None or error.verify_code == NOT_YET_VALID:
        return f"The certificate of {address} is not valid yet; check the clocks."
    if certificate.not_valid_after_utc < datetime.now(UTC):
        until = certificate.not_valid_after_utc
        return f"The certificate of {address} expired on {until:%Y-%m-%d}: it has to be renewed there."
    return f"A CA above the certificate of {address} has expired: it has to be renewed there."


def _certificate(address: str) -> x509.Certificate | None:
    """What the broker shows, whoever signed it."""
    try:
        with _handshake(address, _trusting()) as encrypted:
            shown = encrypted.getpeercert(binary_form=True)
    except OSError:
        return None
    return x509.load_der_x509_certificate(shown) if shown else None


def _trusting() -> ssl.SSLContext:
    """To look at what a broker shows; nothing is ever sent to it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _names(certificate: x509.Certificate | None) -> list[str]:
    if certificate is None:
        return []
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return [_common_name(certificate.subject)]
    return [str(name.value) for name in names]


def _common_name(name: x509.Name) -> str:
    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else name.rfc4514_string()
