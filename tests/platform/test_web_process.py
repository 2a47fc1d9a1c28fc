"""The web process: told to end, it ends, whatever it is at."""

import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from django.conf import settings

from streaming.broker import HOST, free_port

READERS = 8
ENDS_WITHIN = 10.0  # s; one that hangs does so for ever


@contextmanager
def web_process(var_dir: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    environment = os.environ | {"MILLRACE_VAR": str(var_dir), "DJANGO_RUNSERVER_HIDE_WARNING": "true"}
    environment.pop("DATABASE_URL", None)
    manage = [sys.executable, "manage.py"]
    subprocess.run(
        [*manage, "migrate", "--verbosity", "0"], cwd=settings.BASE_DIR, env=environment, check=True
    )
    address = f"{HOST}:{free_port()}"
    command = [*manage, "runserver", address, "--noreload", "--verbosity", "0"]
    process = subprocess.Popen(command, cwd=settings.BASE_DIR, env=environment)
    try:
        yield process, f"http://{address}/sign-in/"
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


def wait_until_it_answers(process: subprocess.Popen[bytes], address: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError):
            urllib.request.urlopen(address, timeout=2).close()
            return
        time.sleep(0.1)
    raise AssertionError("the web process did not answer")
