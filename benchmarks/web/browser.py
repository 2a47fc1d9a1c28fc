"""Chromium for the benchmarks: signed in, and with what its performance trace says of scripts."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext, sync_playwright

from dashboard.platform import test_tools

CATEGORIES = ["devtools.timeline", "disabled-by-default-devtools.timeline", "v8.execute"]
SCRIPTS = {
    "EvaluateScript",
    "EventDispatch",
    "FireAnimationFrame",
    "FunctionCall",
    "MajorGC",
    "MinorGC",
    "RunMicrotasks",
    "TimerFire",
    "v8.compile",
    "v8.callFunction",
}


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(test_tools.chromium() or "chromium"),
            args=["--no-sandbox", "--disable-gpu", "--enable-precise-memory-info"],
        )
        try:
            yield browser
        finally:
            browser.close()


def signed_in(browser: Browser, address: str, session: str) -> BrowserContext:
    context = browser.new_context(
        viewport={"width": 1440, "height": 900},
        base_url=address,
        bypass_csp=True,  # or it could not be asked whether all is drawn
    )
    context.add_cookies([{"name": "sessionid", "value": session, "url": address}])
    return context


def scripting_seconds(trace: bytes) -> float:
    """How long scripts ran on the page's main thread: the union of all spans that are scripting."""
    events: list[dict[str, Any]] = json.loads(trace)["traceEvents"]
    mains = {
        (event["pid"], event["tid"])
        for event in events
        if event.get("name") == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    spans = [
        (event["ts"], event["ts"] + event.get("dur", 0))
        for event in events
        if event.get("ph") == "X" and event["name"] in SCRIPTS and (event["pid"], event["tid"]) in mains
    ]
    return covered(spans) / 1e6


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """The length of what spans cover together.

    >>> covered([(0, 4), (1, 2), (3, 6), (10, 11)])
    7
    """
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total
