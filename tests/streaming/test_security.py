"""Clusters that do not let everybody in: what is sealed, who gets in, and what is said to who does not."""

import socket
import stat
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.admin import NewTopic

from streaming import kafka_log, kafka_topic, security
from streaming.job import Job
from streaming.kafka_log import LogReader
from streaming.reach import SourceProblem, why_not
from streaming.security import MECHANISMS, InvalidPem, SecretProblem, Security, reseal, seal, unseal
from streaming.sources import SourceSpec
from streaming.topics import Topics, create_topics
from streaming.watch import TopicGone, look
from tests.secured import LIMITED, PASSWORD, Authority, SecuredBroker
from tests.streaming.test_sources_live import COUNT, DAY, START, LiveSource, wait_until

pytestmark = pytest.mark.broker

SECRET = "heron-at-the-weir"


# --- sealing --------------------------------------------------------------------------------------------


def test_what_is_sealed_can_be_opened_and_not_be_read() -> None:
    sealed = seal(SECRET)
    assert SECRET not in sealed
    assert unseal(sealed) == SECRET
    assert seal("") == unseal("") == ""


def test_a_new_key_seals_and_the_old_one_still_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = security.new_key(), security.new_key()
    monkeypatch.setenv("MILLRACE_SECRETS_KEY", old)
    sealed = seal(SECRET)
    monkeypatch.setenv("MILLRACE_SECRETS_KEY", f"{new}, {old}")
    assert unseal(sealed) == SECRET
    moved = reseal(sealed)
    monkeypatch.setenv("MILLRACE_SECRETS_KEY", new)
    assert unseal(moved) == SECRET
    with pytest.raises(SecretProblem, match="type it again"):
        unseal(sealed)


@pytest.mark.parametrize("keys", ["", "short", f"{Fernet.generate_key().decode()},short"])
def test_keys_that_are_none_are_refused(monkeypatch: pytest.MonkeyPatch, keys: str) -> None:
    monkeypatch.setenv("MILLRACE_SECRETS_KEY", keys)
    with pytest.raises(SecretProblem, match="32 random bytes"):
        security.check_keys()


def test_a_source_carries_its_security_sealed_and_it_is_no_part_of_its_state() -> None:
    plain = SourceSpec("s", "h:1", "t")
    secured = replace(
        plain, security=Security("SASL_SSL", username="ana", sealed_password=seal(SECRET), ca="PEM")
    )
    assert SourceSpec.from_json(secured.to_json()) == secured
    assert SECRET not in str(secured.to_json())
    assert secured.stream == plain.stream
    assert "sealed" not in repr(secured)
    before = plain.to_json()
    del before["security"]  # as it was written before there was any
    assert SourceSpec.from_json(before) == plain


def test_the_client_key_is_on_disk_for_its_owner_alone_and_for_a_moment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[int] = []
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    load = security.ssl.SSLContext.load_cert_chain

    def look_then_load(context, certificate, key, **more) -> None:
        seen.extend(stat.S_IMODE(Path(path).stat().st_mode) for path in (certificate, key))
        load(context, certificate, key, **more)

    monkeypatch.setattr(security.ssl.SSLContext, "load_cert_chain", look_then_load)
    signed = Authority("a").sign("m")
    Security("SSL", certificate=signed.certificate, sealed_key=seal(signed.key)).ssl_context()
    assert seen == [0o600, 0o600]
    assert not list(tmp_path.iterdir())


def test_certificates_that_are_none_or_do_not_fit_are_refused() -> None:
    one, other = Authority("a").sign("m"), Authority("a").sign("m")
    for wrong, field in (
        (Security("SSL", ca="no certificate"), "ca"),
        (Security("SSL", certificate=one.certificate, sealed_key=seal("no key")), "certificate"),
        (Security("SSL", certificate=one.certificate, sealed_key=seal(other.key)), "key"),
    ):
        with pytest.raises(InvalidPem) as problem:
            wrong.client_options()
        assert problem.value.field == field


# --- doors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_right_password_opens_and_a_wrong_one_is_named(secured: SecuredBroker, mechanism: str) -> None:
    address = secured.at("tlslogin")
    assert why_not(address, secured.login(mechanism=mechanism)) is None
    for wrong in (secured.login(password="no", mechanism=mechanism), secured.login("nobody")):
        problem = why_not(address, wrong)
        assert problem is not None
        assert (problem.field, str(problem)) == (
            "password",
            f"{address} refused the user name or the password.",
        )


def doors(broker: SecuredBroker) -> Iterator[tuple[str, Security, str | None, str]]:
    """Address, what is tried, the field at fault and part of the sentence."""
    ca = broker.authority.certificate
    client = {"certificate": broker.client.certificate, "sealed_key": seal(broker.client.key)}
    stranger = Authority("Stranger").sign("m")
    tls = Security("SSL", ca=ca)
    yield broker.at("tls"), tls, None, ""
    yield broker.at("mutual"), replace(tls, **client), None, ""
    yield broker.at("login"), broker.login(protocol="SASL_PLAINTEXT"), None, ""
    yield broker.at("tls", "127.0.0.1"), replace(tls, check_host=False), None, ""
    yield broker.at("tls"), Security("SSL"), "ca", "signed by “Weir CA”, which this machine does not know"
    yield broker.at("tls"), replace(tls, ca=Authority("x").certificate), "ca", "does not cover"
    yield broker.at("tls", "127.0.0.1"), tls, "check_host", "is for localhost, not for 127.0.0.1"
    yield broker.at("expired"), tls, "bootstrap_servers", "expired on 20"
    yield broker.at("mutual"), tls, "certificate", "wants a client certificate"
    wrong = {"certificate": stranger.certificate, "sealed_key": seal(stranger.key)}
    yield broker.at("mutual"), replace(tls, **wrong), "certificate", "does not accept the client certificate"
    yield broker.bootstrap_servers, tls, "protocol", "does not speak TLS: choose PLAINTEXT"
    yield broker.at("tls"), Security(), "protocol", "speaks TLS: choose SSL or SASL_SSL."
    yield (
        broker.at("login"),
        Security(),
        "protocol",
        "wants a user name and a password: choose SASL_PLAINTEXT.",
    )
    yield broker.at("tlslogin"), tls, "protocol", "wants a user name and a password: choose SASL_SSL."
    yield broker.at("tls"), broker.login(), "protocol", "asks for no login: choose SSL."
    only = broker.login(protocol="SASL_PLAINTEXT", mechanism="PLAIN")
    yield (
        broker.at("login"),
        only,
        "mechanism",
        "does not offer PLAIN: choose SCRAM-SHA-256 or SCRAM-SHA-512.",
    )


def test_every_closed_door_says_what_is_wrong(secured: SecuredBroker) -> None:
    for address, tried, field, words in doors(secured):
        problem = why_not(address, tried)
        assert getattr(problem, "field", None) == field, (address, tried, problem)
        assert words in str(problem)


def test_a_port_that_is_no_broker_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_say_hello, args=(server,), daemon=True).start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert "not as a Kafka broker" in str(why_not(address, Security()))


def _say_hello(server: socket.socket) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            connection.sendall(b"220 mail.example.org ready\r\n" * 100)


# --- the engine -----------------------------------------------------------------------------------------


@pytest.fixture
def topic(secured: SecuredBroker) -> str:
    """A topic with two thousand messages of a thousand bytes, more than one answer's buffer holds."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    create_topics(secured.bootstrap_servers, [NewTopic(name, 1, 1)])
    producer = KafkaProducer(bootstrap_servers=secured.bootstrap_servers)
    for number in range(6_000):
        producer.send(name, b"%06d" % number * 170)
    producer.close()
    return name


def test_the_engine_reads_through_tls_and_scram(secured: SecuredBroker, topic: str) -> None:
    reader = LogReader(secured.at("tlslogin"), topic, secured.login())
    values = [value for part in reader.read(0, 0, 6_000) for value in part.values.to_pylist()]
    reader.close()
    assert values == [b"%06d" % number * 170 for number in range(6_000)]
    assert look(secured.at("tlslogin"), topic, secured.login()).end == {0: 6_000}


def test_a_wrong_password_is_named_by_who_reads(
    secured: SecuredBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_topic, "PATIENCE_SECONDS", 0.0)
    reader = LogReader(secured.at("tlslogin"), topic, secured.login(password="no", mechanism="PLAIN"))
    with pytest.raises(SourceProblem, match="refused the user name or the password"):
        reader.ends()


def test_a_process_reads_anew_with_new_credentials(secured: SecuredBroker, topic: str) -> None:
    address = secured.at("tlslogin")
    first = kafka_log.reader(address, topic, secured.login(mechanism="PLAIN"))
    assert kafka_log.reader(address, topic, secured.login()) is not first


def test_a_user_without_rights_is_told_which_it_lacks(secured: SecuredBroker, topic: str) -> None:
    address, limited = secured.at("tlslogin"), secured.login(LIMITED)
    with pytest.raises(SourceProblem, match=f"does not let this connection read “{topic}”"):
        look(address, topic, limited)
    secured.grant(LIMITED, "DESCRIBE", topic)
    wait_until(lambda: _sees(address, topic, limited), 20)
    reader = LogReader(address, topic, limited)
    with pytest.raises(SourceProblem, match="needs the rights Describe and Read"):
        list(reader.read(0, 0, 10))
    reader.close()
    with pytest.raises(TopicGone):
        look(address, "nosuch", secured.login())


def _sees(address: str, topic: str, limited: Security) -> bool:
    try:
        return bool(look(address, topic, limited))
    except SourceProblem:
        return False


class SecuredSource(LiveSource):
    """A source that the job reads through TLS and a login; its topic is filled at the plain door."""

    def __init__(self, own: str, topics: Topics, secured: SecuredBroker, name: str) -> None:
        super().__init__(own, topics, secured.at("tlslogin"), name, DAY)
        self.door = self.cluster
        self.cluster = secured.bootstrap_servers

    def let_in_by(self, how: Security) -> None:
        self._spec = replace(self._spec, security=how)


@pytest.fixture
def make_source(
    spark, broker: str, secured: SecuredBroker, tmp_path: Path
) -> Iterator[Callable[[str], SecuredSource]]:
    topics = Topics(f"secured-{uuid.uuid4().hex[:8]}")
    create_topics(broker, topics.shared())
    job = Job(spark, broker, topics, tmp_path)
    thread = threading.Thread(target=job.run)
    thread.start()
    yield lambda name: SecuredSource(broker, topics, secured, name)
    job.stop()
    thread.join()


@pytest.mark.spark
def test_a_changed_password_stops_a_source_and_the_right_one_lets_it_go_on_with_its_state(
    make_source: Callable[[str], SecuredSource], secured: SecuredBroker
) -> None:
    source = make_source("guarded")
    source.create()
    source.let_in_by(secured.login())
    source.want(COUNT)
    source.send(50)
    wait_until(lambda: source.counted() == 50)
    source.let_in_by(secured.login(password="changed"))
    source.want(COUNT)
    wait_until(
        lambda: source.says("failing", f"{source.door} refused the user name or the password."), timeout=60
    )
    source.send(30, START + 5_000)
    _remove_what_was_read(source)  # a source that starts anew would not find it
    source.let_in_by(secured.login(password=PASSWORD, mechanism="SCRAM-SHA-256"))
    source.want(COUNT)
    wait_until(lambda: source.says("running") and source.counted() == 80)
    source.want()


def _remove_what_was_read(source: SecuredSource) -> None:
    admin = KafkaAdminClient(bootstrap_servers=source.cluster)
    admin.delete_records({TopicPartition(source.topic, 0): 50})
    admin.close()
