"""What several tests do on the way to what they look at."""

import time
from typing import Any

from playwright.sync_api import Error, Page, expect

LOOK_AGAIN_MS = 50


def make_connection(page: Page, name: str, servers: str) -> None:
    """The first step of the wizard, whether or not there are connections of others to choose from."""
    page.goto("/sources/new/")
    another = page.get_by_role("button", name="New connection")
    if another.count():
        another.click()
    form = page.get_by_role("form", name="New connection")
    form.get_by_label("Name", exact=True).fill(name)
    form.get_by_label("Bootstrap servers", exact=True).fill(servers)
    form.get_by_role("button", name="Test connection").click()
    expect(page.get_by_text("can be seen.")).to_be_visible()
    form.get_by_role("button", name="Save connection").click()


def call(page: Page, method: str, address: str, body: Any = None) -> Any:
    """The API with the session of the page."""
    return page.evaluate(
        """async ([method, address, body]) => {
            const token = document.querySelector("input[name=csrfmiddlewaretoken]").value;
            const headers = {"Content-Type": "application/json", "X-CSRFToken": token};
            const sent = body === null ? undefined : JSON.stringify(body);
            const answer = await fetch(address, {method, headers, body: sent});
            const text = await answer.text();
            if (!answer.ok) throw new Error(text);
            return text ? JSON.parse(text) : null;
        }""",
        [method, address, body],
    )


def wait_until_true(page: Page, script: str, arg: Any = None, timeout: float = 60_000) -> None:
    """Wait for what JavaScript says of the page.

    `page.wait_for_function` would do, but evaluates the script in the page, which its content policy forbids.
    """
    deadline = time.monotonic() + timeout / 1000
    while not _is_true(page, script, arg):
        assert time.monotonic() < deadline, f"not so within {timeout / 1000:.0f} s: {script}"
        page.wait_for_timeout(LOOK_AGAIN_MS)


def _is_true(page: Page, script: str, arg: Any) -> bool:
    try:
        return bool(page.evaluate(script, arg))
    except Error as error:  # the page is just being left for another
        if "context was destroyed" in str(error):
            return False
        raise
