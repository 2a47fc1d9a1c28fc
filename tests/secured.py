"""A Kafka broker with every kind of door: plain, TLS, client certificates, logins; and who may enter.

The plain listener stays, for what tests do beside; there everybody may do everything.
"""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from kafka import KafkaAdminClient
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType

from streaming.broker import HOST, Broker
from streaming.security import MECHANISMS, Security, seal

NAME = "localhost"  # what the certificates are for; 127.0.0.1 is the same machine, but not that name
PASSWORD = "weir & heron = 9"
LIMITED = "bo"  # may read what was granted alone


@dataclass(frozen=True)
class Signed:
    """A certificate and its key, as PEM."""

    certificate: str
    key: str


class Authority:
    """Signs certificates."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = _pem(self._certificate(self._name, self._key, days=1, is_ca=True))

    def sign(self, name: str, days: float = 1, host: str | None = None) -> Signed:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return Signed(_pem(self._certificate(subject, key, days, host)), _key_pem(key))

    def _certificate(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        days: float,
        host: str | None = None,
        is_ca: bool = False,
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=3))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        )
        if host:
            builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def _different_ports(count: int) -> list[int]:
    """Free ports, held until all are known: one that is let go may be given again."""
    with ExitStack() as held:
        probes = [held.enter_context(socket.create_server((HOST, 0))) for _ in range(count)]
        return [probe.getsockname()[1] for probe in probes]


class SecuredBroker(Broker):
    """Doors by name: `tls`, `mutual` (wants a client certificate), `expired`, `login`, `tlslogin`."""

    DOORS = {
        "tls": "SSL",
        "mutual": "SSL",
        "expired": "SSL",
        "login": "SASL_PLAINTEXT",
        "tlslogin": "SASL_SSL",
    }

    def __init__(self, data_dir: Path, jars_dir: Path, java: Path) -> None:
        own, *ports = _different_ports(1 + len(self.DOORS))
        super().__init__(data_dir, own, jars_dir, java)
        self.authority = Authority("Weir CA")
        self.client = self.authority.sign("millrace")
        self._ports = dict(zip(self.DOORS, ports, strict=True))

    def at(self, door: str, host: str = NAME) -> str:
        return f"{host}:{self._ports[door]}"

    def login(self, username: str = "ana", password: str = PASSWORD, **changes: str) -> Security:
        """What lets somebody in at `tlslogin`."""
        wanted = {"protocol": "SASL_SSL", "ca": self.authority.certificate, **changes}
        return Security(username=username, sealed_password=seal(password), **wanted)  # type: ignore[arg-type]

    def grant(self, username: str, operation: str, topic: str) -> None:
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap_servers)
        admin.create_acls(
            [
                ACL(
                    principal=f"User:{username}",
                    host="*",
                    operation=ACLOperation[operation],
                    permission_type=ACLPermissionType.ALLOW,
                    resource_pattern=ResourcePattern(ResourceType.TOPIC, topic),
                )
            ]
        )
        admin.close()

    def _write_configuration(self) -> None:
        with ExitStack() as held:  # or one of them might be chosen for the controller
            for port in (self.port, *self._ports.values()):
                held.enter_context(socket.create_server((HOST, port)))
            super()._write_configuration()
        for door, days in (("good", 1), ("expired", -1)):
            signed = self.authority.sign("broker", days, NAME)
            (self.data_dir / f"{door}.pem").write_text(signed.key + signed.certificate)
        (self.data_dir / "ca.pem").write_text(self.authority.certificate)
        with self._properties.open("a") as file:
            file.writelines(f"{line}\n" for line in self._more_properties())

    def _more_properties(self) -> Iterator[str]:
        plain = dict(
            line.split("=", 1) for line in self._properties.read_text().splitlines() if "listeners=" in line
        )
        doors = {door.upper(): f"{HOST}:{port}" for door, port in self._ports.items()}
        seen = {door: place.replace(HOST, NAME) for door, place in doors.items()}
        yield "listeners=" + ",".join([plain["listeners"], *(f"{d}://{p}" for d, p in doors.items())])
        yield "advertised.listeners=" + ",".join(
            [plain["advertised.listeners"], *(f"{d}://{p}" for d, p in seen.items())]
        )
        protocols = "".join(f",{door.upper()}:{protocol}" for door, protocol in self.DOORS.items())
        yield f"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT{protocols}"
        yield "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"
        yield "super.users=User:ANONYMOUS;User:ana;User:CN=millrace"
        for door, protocol in self.DOORS.items():
            prefix = f"listener.name.{door}"
            if protocol.endswith("SSL"):
                own = "expired" if door == "expired" else "good"
                yield f"{prefix}.ssl.keystore.type=PEM"
                yield f"{prefix}.ssl.keystore.location={self.data_dir / own}.pem"
                yield f"{prefix}.ssl.truststore.type=PEM"
                yield f"{prefix}.ssl.truststore.location={self.data_dir / 'ca.pem'}"
                yield f"{prefix}.ssl.client.auth={'required' if door == 'mutual' else 'none'}"
            if protocol.startswith("SASL"):
                yield from self._login_properties(
                    prefix, MECHANISMS if door == "tlslogin" else MECHANISMS[1:]
                )

    def _login_properties(self, prefix: str, mechanisms: tuple[str, ...]) -> Iterator[str]:
        users = " ".join(f'user_{name}="{PASSWORD}"' for name in ("ana", LIMITED))
        yield f"{prefix}.sasl.enabled.mechanisms={','.join(mechanisms)}"
        for mechanism in mechanisms:
            modules = "org.apache.kafka.common.security"
            module = f"{modules}.plain.PlainLoginModule required {users};"
            if mechanism != "PLAIN":
                module = f"{modules}.scram.ScramLoginModule required;"
            yield f"{prefix}.{mechanism.lower()}.sasl.jaas.config={module}"

    def _format_options(self) -> list[str]:
        users = [
            f'{mechanism}=[name={name},password="{PASSWORD}"]'
            for mechanism in MECHANISMS[1:]
            for name in ("ana", LIMITED)
        ]
        return [part for user in users for part in ("--add-scram", user)]
