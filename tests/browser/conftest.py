"""A running Millrace and a real browser: `up` without the demo, on the broker that all tests share."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings
from playwright.sync_api import Browser, Page, expect, sync_playwright

from dashboard.platform import test_tools
from streaming.broker import free_port
from streaming.jars import jars_dir

PASSWORD = "kingfisher-under-9"
START_SECONDS = 120


@dataclass(frozen=True)
class Millrace:
    address: str
    bootstrap_servers: str
    var_dir: Path

    def pid(self, name: str) -> int:
        services = json.loads((self.var_dir / "run" / "millrace.json").read_text())["services"]
        return next(int(service["pid"]) for service in services if service["name"] == name)


@pytest.fixture(scope="package")
def millrace(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Millrace]:
    var_dir, port = tmp_path_factory.mktemp("millrace"), free_port()
    kept = settings.VAR_DIR / "numba"
    kept.mkdir(exist_ok=True)
    (var_dir / "numba").symlink_to(kept)  # compiled kernels, as a second start has them
    for made in settings.VAR_DIR.glob("spark.jsa*"):
        (var_dir / made.name).symlink_to(made)
    environment = os.environ | {
        "MILLRACE_VAR": str(var_dir),
        "MILLRACE_JARS": str(jars_dir(settings.VAR_DIR).resolve()),
        "MILLRACE_ADMIN_PASSWORD": PASSWORD,
        "MILLRACE_TOPIC_PREFIX": "browser",
        "MILLRACE_WEBHOOK_NETWORKS": "127.0.0.0/8",
        "SPARK_MASTER": "local[2]",
    }
    command = [sys.executable, "manage.py", "up", "--no-demo", "--port", str(port), "--kafka", broker]
    with (var_dir / "up.log").open("w") as log:
        process = subprocess.Popen(command, cwd=settings.BASE_DIR, env=environment, stdout=log, stderr=log)
    running = Millrace(f"http://127.0.0.1:{port}", broker, var_dir)
    try:
        _wait_until_served(running, process)
        yield running
    finally:
        process.terminate()
        process.wait(60)


def _wait_until_served(running: Millrace, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, (running.var_dir / "up.log").read_text()
        try:
            with urllib.request.urlopen(f"{running.address}/sign-in/") as answer:
                if answer.status == 200:
                    return
        except urllib.error.URLError:
            time.sleep(0.2)
    raise AssertionError((running.var_dir / "up.log").read_text())


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=str(test_tools.chromium() or "chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        expect.set_options(timeout=30_000)  # job and back-tests share few cores with the browser
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser, millrace: Millrace) -> Iterator[Page]:
    """A page of somebody who has signed in."""
    fresh = new_page(browser, millrace)
    sign_in(fresh, "admin", PASSWORD)
    fresh.wait_for_url(lambda url: "sign-in" not in url)
    yield fresh
    fresh.context.close()


def new_page(browser: Browser, millrace: Millrace) -> Page:
    """In a browser of its own, of nobody yet."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, base_url=millrace.address)
    context.set_default_timeout(60_000)
    return context.new_page()


def sign_in(page: Page, name: str, password: str) -> None:
    page.goto("/sign-in/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
