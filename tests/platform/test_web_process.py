"""The web process: told to end, it ends, whatever it is at."""

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from django.conf import settings
from kafka import KafkaConsumer
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from streaming.broker import HOST, free_port
from streaming.topics import Topics, create_topics

READERS = 8
ENDS_WITHIN = 10.0  # s; one that hangs does so for ever


PREFIX = "web-process"
SAVED_AND_NOT_TOLD = """
from dashboard.models import Connection, Source
from dashboard.planning.service import newest, replan
here = Connection.objects.create(key="here", name="here", bootstrap_servers="127.0.0.1:1")
source = Source.objects.create(key="s", name="s", topic="s", connection=here, schema=[["ts", "integer"]])
replan(source, "A test")
assert newest(source).published_at is None
"""


SESSION = "s" * 32
SIGNED_IN = f"""
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.utils.timezone import now, timedelta
ana = User.objects.create_user("ana")
known = {{SESSION_KEY: str(ana.pk), HASH_SESSION_KEY: ana.get_session_auth_hash()}}
known[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
Session.objects.create(
    session_key={SESSION!r}, session_data=SessionStore().encode(known), expire_date=now() + timedelta(days=1)
)
"""


def manage(environment: dict[str, str], *command: str) -> None:
    subprocess.run(
        [sys.executable, "manage.py", *command], cwd=settings.BASE_DIR, env=environment, check=True
    )


@contextmanager
def web_process(
    var_dir: Path, kafka: str = "127.0.0.1:1", before: str = ""
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """`before` is done without Kafka, then the process starts with it."""
    environment = os.environ | {"MILLRACE_VAR": str(var_dir)}
    environment |= {"MILLRACE_KAFKA": "127.0.0.1:1", "MILLRACE_TOPIC_PREFIX": PREFIX}
    environment.pop("DATABASE_URL", None)
    manage(environment, "migrate", "--verbosity", "0")
    if before:
        manage(environment, "shell", "--verbosity", "0", "--command", before)
    port = free_port()
    command = [sys.executable, "manage.py", "serve", "--port", str(port)]
    process = subprocess.Popen(command, cwd=settings.BASE_DIR, env=environment | {"MILLRACE_KAFKA": kafka})
    try:
        yield process, f"http://{HOST}:{port}/sign-in/"
    finally:
        process.kill()
        process.wait()


def read(address: str, done: threading.Event) -> None:
    while not done.is_set():
        with suppress(OSError):
            urllib.request.urlopen(address, timeout=2).close()


@pytest.mark.parametrize("attempt", range(2))
def test_it_ends_in_the_middle_of_requests(tmp_path: Path, attempt: int) -> None:
    done = threading.Event()
    with web_process(tmp_path) as (process, address):
        wait_until_it_answers(process, address)
        readers = [threading.Thread(target=read, args=(address, done)) for _ in range(READERS)]
        for reader in readers:
            reader.start()
        try:
            time.sleep(1.0)
            process.terminate()
            process.wait(ENDS_WITHIN)
        finally:
            done.set()
            for reader in readers:
                reader.join()


def test_told_to_end_it_closes_sockets_so_that_pages_come_back(tmp_path: Path) -> None:
    with web_process(tmp_path, before=SIGNED_IN) as (process, address):
        wait_until_it_answers(process, address)
        here = address.removeprefix("http://").removesuffix("/sign-in/")
        headers = {"Cookie": f"sessionid={SESSION}"}
        with connect(f"ws://{here}/ws/live/", origin=f"http://{here}", additional_headers=headers) as page:
            page.recv()
            process.terminate()
            with pytest.raises(ConnectionClosed):
                while True:
                    page.recv(ENDS_WITHIN)
            assert page.close_code == 1012  # “service restart”
        assert process.wait(ENDS_WITHIN) == 0


def test_a_plan_that_was_saved_and_not_told_goes_out_though_nobody_watches(
    tmp_path: Path, broker: str
) -> None:
    """Who saved it ended in between, or Kafka was away."""
    topics = Topics(PREFIX)
    create_topics(broker, topics.shared())
    consumer = KafkaConsumer(topics.plans, bootstrap_servers=broker, auto_offset_reset="earliest")
    with closing(consumer), web_process(tmp_path, broker, SAVED_AND_NOT_TOLD):
        told = [record for records in consumer.poll(30_000).values() for record in records]
    assert [(record.key, json.loads(record.value)["plan"]["version"]) for record in told] == [(b"s", 1)]


def wait_until_it_answers(process: subprocess.Popen[bytes], address: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError):
            urllib.request.urlopen(address, timeout=2).close()
            return
        time.sleep(0.1)
    raise AssertionError("the web process did not answer")
