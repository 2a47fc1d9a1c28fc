"""Messages on their way: a real HTTP server, a real SMTP server, failures, back-off and private networks."""

import hashlib
import hmac
import json
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection
from django.utils import timezone

from dashboard.alerts import actions, delivery
from dashboard.alerts.delivery import LONGEST_DELAY, MOST_ATTEMPTS, Sender, attempt, claim, delay_after
from dashboard.alerts.models import Alert, Delivery
from dashboard.alerts.webhook import PRIVATE, NotSent, is_allowed, post, problem_of
from streaming.security import seal
from tests.dashboard.alerts.conftest import MakeAlert
from tests.dashboard.alerts.test_evaluator import until

SECRET = "otter-in-the-reeds"


class Hook:
    """A server that answers with the given statuses, the last one for ever, and keeps what it got."""

    def __init__(self, *statuses: int, location: str = "") -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        hook, left = self, list(statuses)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.got.append((dict(self.headers), body))
                self.send_response(left.pop(0) if len(left) > 1 else left[0])
                if location:
                    self.send_header("Location", location)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/hook?team=a"

    @contextmanager
    def serving(self) -> Iterator["Hook"]:
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        try:
            yield self
        finally:
            self.server.shutdown()
            self.server.server_close()
            thread.join()


@pytest.fixture
def loopback_allowed(settings: LazySettings) -> None:
    settings.WEBHOOK_NETWORKS = [ip_network("127.0.0.0/8")]


@pytest.fixture
def no_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's own connection stays open: here no thread of its own sends."""
    monkeypatch.setattr(delivery.connection, "close", lambda: None)


def to_hook(make_alert: MakeAlert, address: str) -> Alert:
    return make_alert(webhook=address, sealed_secret=seal(SECRET))


def try_once() -> Delivery:
    Delivery.objects.update(due_at=timezone.now())  # as if its time had come
    [one] = claim(timezone.now(), 1)
    attempt(one)
    one.refresh_from_db()
    return one


@pytest.mark.usefixtures("loopback_allowed", "no_closing")
def test_a_webhook_is_signed_and_the_receiver_can_check_it(make_alert: MakeAlert) -> None:
    with Hook(200).serving() as hook:
        actions.send_test(to_hook(make_alert, hook.address))
        sent = try_once()
    assert sent.sent_at is not None
    assert sent.due_at is None
    [(headers, body)] = hook.got
    told = dict(part.split("=", 1) for part in headers["X-Millrace-Signature"].split(","))
    expected = hmac.new(SECRET.encode(), f"{told['t']}.".encode() + body, hashlib.sha256).hexdigest()
    assert hmac.compare_digest(told["v1"], expected)
    assert headers["X-Millrace-Delivery"] == json.loads(body)["id"] == sent.key
    assert json.loads(body)["alert"]["condition"] == "above 80"


@pytest.mark.usefixtures("loopback_allowed", "no_closing")
def test_a_server_that_fails_is_tried_again_later_under_the_same_id(make_alert: MakeAlert) -> None:
    with Hook(500, 503, 204).serving() as hook:
        actions.send_test(to_hook(make_alert, hook.address))
        first = try_once()
        assert first.problem == "127.0.0.1 failed to take it (500)."
        assert claim(timezone.now(), 5) == []  # not before its time
        try_once()
        assert try_once().sent_at is not None
    assert len({headers["X-Millrace-Delivery"] for headers, _ in hook.got}) == 1
    assert len(hook.got) == 3


@pytest.mark.usefixtures("loopback_allowed", "no_closing")
def test_without_a_secret_nothing_is_posted(make_alert: MakeAlert) -> None:
    """One that came with a file has none yet; what is not signed nobody could trust."""
    with Hook(200).serving() as hook:
        actions.send_test(make_alert(webhook=hook.address))
        given_up = try_once()
    assert (given_up.due_at, given_up.sent_at, hook.got) == (None, None, [])
    assert given_up.problem == "The alert has no secret to sign with: type one on its page."


def test_the_delay_doubles_up_to_a_bound_and_ends_after_about_an_hour() -> None:
    delays = [delay_after(attempts) for attempts in range(1, MOST_ATTEMPTS)]
    assert [one.total_seconds() for one in delays[:4]] == [5, 10, 20, 40]
    assert max(delays) == LONGEST_DELAY
    assert timedelta(minutes=45) < sum(delays, timedelta()) < timedelta(minutes=75)


@pytest.mark.usefixtures("loopback_allowed", "no_closing")
def test_it_is_given_up_after_so_many_attempts(make_alert: MakeAlert) -> None:
    with Hook(500).serving() as hook:
        actions.send_test(to_hook(make_alert, hook.address))
        Delivery.objects.update(attempts=MOST_ATTEMPTS - 1)
        gone = try_once()
    assert (gone.due_at, gone.sent_at) == (None, None)


@pytest.mark.usefixtures("loopback_allowed", "no_closing")
@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (404, "127.0.0.1 refused it (404)."),
        (302, "127.0.0.1 answers with a redirect (302): give the address it leads to."),
    ],
)
def test_refusals_and_redirects_are_not_tried_again(
    make_alert: MakeAlert, status: int, sentence: str
) -> None:
    with Hook(status, location="http://127.0.0.1:1/").serving() as hook:
        actions.send_test(to_hook(make_alert, hook.address))
        refused = try_once()
    assert (refused.due_at, refused.problem) == (None, sentence)
    assert len(hook.got) == 1


@pytest.mark.usefixtures("no_closing")
def test_a_private_address_is_refused_when_it_is_sent_to_whatever_name_leads_there(
    make_alert: MakeAlert, settings: LazySettings
) -> None:
    settings.WEBHOOK_NETWORKS = []
    with Hook(200).serving() as hook:
        named = hook.address.replace("127.0.0.1", "localhost")
        actions.send_test(to_hook(make_alert, named))
        refused = try_once()
    assert (refused.due_at, refused.problem) == (None, PRIVATE)
    assert hook.got == []


@pytest.mark.parametrize(
    "address",
    ["10.1.2.3", "192.168.0.1", "169.254.169.254", "127.0.0.1", "::1", "fd00::1", "::ffff:10.0.0.1"],
)
def test_private_addresses_are_allowed_by_the_administrator_alone(
    address: str, settings: LazySettings
) -> None:
    settings.WEBHOOK_NETWORKS = []
    assert not is_allowed(ip_address(address))
    host = f"[{address}]" if ":" in address else address
    assert problem_of(f"https://{host}/hook") == PRIVATE
    settings.WEBHOOK_NETWORKS = [ip_network(one) for one in ("0.0.0.0/0", "::/0")]
    assert is_allowed(ip_address(address))


def test_public_addresses_are_allowed(settings: LazySettings) -> None:
    settings.WEBHOOK_NETWORKS = []
    assert problem_of("https://8.8.8.8/hook") == ""
    assert problem_of("https://hooks.example.org:8443/a?b=c") == ""


SLOW = {  # what a server does that has taken the connection
    "says nothing": lambda end: None,
    "one byte now and then": lambda end: end.sendall(b"H"),
    "headers without end": lambda end: end.sendall(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n"),
    "one moment without end": lambda end: end.sendall(b"HTTP/1.1 100 Continue\r\n\r\n"),
}


@pytest.mark.usefixtures("loopback_allowed")
@pytest.mark.parametrize("does", SLOW)
def test_a_webhook_takes_so_long_in_all_whatever_the_server_does(
    does: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboard.alerts.webhook.TIMEOUT_SECONDS", 1)
    over = threading.Event()

    def serve(server: socket.socket) -> None:
        end, _ = server.accept()
        with end, suppress(OSError):
            while not over.wait(0.05):
                SLOW[does](end)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, args=[server], daemon=True).start()
        began = time.monotonic()
        try:
            with pytest.raises(
                NotSent, match=r"^127\.0\.0\.1 (did not answer within 1 s|could not be reached)"
            ):
                post(f"http://127.0.0.1:{server.getsockname()[1]}/", b"{}", {})
        finally:
            over.set()
        assert time.monotonic() - began < 2.0


def test_a_name_that_is_looked_up_for_ever_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.alerts.webhook.TIMEOUT_SECONDS", 0.2)
    found = threading.Event()

    def look_up(*_: object, **__: object) -> list[Any]:
        found.wait(5)
        raise socket.gaierror

    monkeypatch.setattr("socket.getaddrinfo", look_up)
    began = time.monotonic()
    with pytest.raises(NotSent, match="did not answer within"):
        post("http://hook.example.org/", b"{}", {})
    assert time.monotonic() - began < 2.0
    found.set()


def test_whoever_counts_the_attempt_has_it(make_alert: MakeAlert) -> None:
    actions.send_test(make_alert(webhook="https://example.org/"))
    now = timezone.now()
    stale = Delivery.objects.get()
    assert len(claim(now, 5)) == 1
    Delivery.objects.filter(pk=stale.pk).update(due_at=stale.due_at)
    again = Delivery.objects.filter(pk=stale.pk, attempts=stale.attempts)
    assert not again.exists()
    assert Delivery.objects.get().attempts == 1


# --- mail -------------------------------------------------------------------------------------------------


class MailServer(socketserver.ThreadingTCPServer):
    """As much SMTP as it takes to get a mail; refuses one address."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, busy: int = 0) -> None:
        super().__init__(("127.0.0.1", 0), _Smtp)
        self.mails: list[bytes] = []
        self.busy = busy  # mails that it puts off first

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Smtp(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self._say("220 test")
        while line := self.rfile.readline().decode().strip():
            verb = line.split()[0].upper()
            if verb == "QUIT":
                self._say("221 bye")
                return
            if verb == "RCPT" and "nobody@" in line:
                self._say("550 no such person")
            elif verb == "RCPT" and self.server.busy:
                self.server.busy -= 1
                self._say("451 later")
            elif verb == "DATA":
                self._say("354 go on")
                self._take()
            else:
                self._say("250 ok")

    def _take(self) -> None:
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line)
        self.server.mails.append(b"".join(lines))
        self._say("250 taken")

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@pytest.fixture
def mail_server(settings: LazySettings) -> Iterator[MailServer]:
    with MailServer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        settings.MAILS = True
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.usefixtures("no_closing")
def test_a_mail_arrives_and_says_what_where_and_why(make_alert: MakeAlert, mail_server: MailServer) -> None:
    actions.send_test(make_alert(emails="ana@example.org"))
    assert try_once().sent_at is not None
    mail = message_from_bytes(mail_server.mails[0], policy=policy.default)
    assert (mail["To"], mail["Subject"]) == ("ana@example.org", "Test message of “Too hot”")
    assert mail["Message-ID"] == f"<{Delivery.objects.get().key}@millrace>"
    assert "max of temp, 1m every 10s of “Hot devices” (sensors): above 80." in mail.get_content()


@pytest.mark.usefixtures("no_closing")
def test_a_mail_that_is_refused_is_not_tried_again(make_alert: MakeAlert, mail_server: MailServer) -> None:
    actions.send_test(make_alert(emails="nobody@example.org"))
    refused = try_once()
    assert (refused.due_at, refused.problem) == (None, "The mail server refuses nobody@example.org.")


@pytest.mark.usefixtures("no_closing")
def test_a_mail_server_that_is_away_is_tried_again(make_alert: MakeAlert, settings: LazySettings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.MAILS = "127.0.0.1", 1, True
    actions.send_test(make_alert(emails="ana@example.org"))
    waiting = try_once()
    assert waiting.due_at is not None
    assert waiting.problem.startswith("The mail server did not take it")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("loopback_allowed")
def test_the_sender_sends_by_itself_and_a_slow_address_holds_up_nobody(
    make_alert: MakeAlert, mail_server: MailServer
) -> None:
    with Hook(200).serving() as hook:
        alert = to_hook(make_alert, hook.address)
        alert.emails = "ana@example.org"
        alert.save()
        actions.send_test(alert)
        stop = threading.Event()

        def run() -> None:
            Sender().run(stop)
            connection.close()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            until(lambda: not Delivery.objects.filter(sent_at__isnull=True).exists())
        finally:
            stop.set()
            thread.join()
        assert (len(hook.got), len(mail_server.mails)) == (1, 1)
