"""A screen that is left on: 24 simulated hours of updates must not make the page grow.

The page is real; its clock and the server's end of its socket are the benchmark's.
"""

import json
import time
from typing import Any

from playwright.sync_api import Page, WebSocketRoute

from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from benchmarks.report import Chart
from benchmarks.web.browser import chromium, signed_in
from benchmarks.web.stage import Progress, stage

PANELS = 2
STEP_SECONDS = 12  # the page takes a longer leap of its clock for a sleep
HOUR = 3_600


class Server:
    """The far end of the page's socket, in the page's own time."""

    def __init__(self, now: int) -> None:
        self.now = now
        self._route: WebSocketRoute | None = None
        self._queries: list[str] = []
        self._sequence = 0
        self._count = 0

    def open(self, route: WebSocketRoute) -> None:
        self._route = route
        route.on_message(self._heard)

    def _heard(self, text: str | bytes) -> None:
        message = json.loads(text)
        if message["type"] == "watch":
            self._queries, self._sequence = message["queries"], 0
            self.tell()

    def tell(self) -> None:
        """The results of the last seconds: groups come and go, as the greatest do."""
        if self._route is None or not self._queries:
            return
        self._sequence += 1
        messages = [self._state(), *map(self._update, self._queries)]
        for message in messages:
            self._count += 1
            message["count"] = self._count
        self._route.send(json.dumps(messages))

    def _state(self) -> dict[str, Any]:
        return {
            "type": "state",
            "clock": self.now,
            "caught_up": True,
            "broker": {"state": "reachable", "since": 0},
            "job": {"state": "running", "since": 0},
            "failing": [],
            "load": None,
        }

    def _update(self, query: str) -> dict[str, Any]:
        is_first = self._sequence == 1
        turn = self.now // 60_000
        series = [self._line(f"d{(turn + at) % 100}", at) for at in range(8)]
        described = {
            "source": "bench",
            "topic": "events",
            "source_address": "/",
            "group_by": ["device"],
            "lateness": 0,
            "paused": None,
            "edits": [],
            "windows": [{"range": 60_000, "slide": 1_000, "joined": None}],
            "computations": ["max temp"],
        }
        return {
            "type": "snapshot" if is_first else "update",
            "query": query,
            "sequence": self._sequence,
            "series": series,
            "groups": 100,
            **(described if is_first else {}),
        }

    def _line(self, group: str, at: int) -> dict[str, Any]:
        ends = range(self.now - (STEP_SECONDS - 1) * 1_000, self.now + 1, 1_000)
        return {
            "id": f"1m/1s|{group}",
            "range": 60_000,
            "slide": 1_000,
            "computation": "max temp",
            "group": [group],
            "whole": at == 7,
            "points": [[end // 1_000 * 1_000, at + end % 7_000 / 1_000, True] for end in ends],
        }


def run(quick: bool, progress: Progress) -> Section:
    hours = 1 if quick else 24
    first_look = 0.5 if quick else 2.0  # by then the range of the page has been full for a while
    now = int(time.time() * 1000)
    server = Server(now)
    with stage() as made, chromium() as browser:
        made.seed(boards=1, panels=PANELS, groups=8)
        port, _ = made.web()
        context = signed_in(browser, f"http://127.0.0.1:{port}", made.made["session"])
        page = context.new_page()
        page.clock.install(time=now / 1000)
        page.route_web_socket("**/ws/live/", server.open)
        page.goto("/dashboards/board-0/")
        page.wait_for_function(f"document.querySelectorAll('.live-panel canvas').length === {PANELS}")
        sizes = _watched(page, server, hours, progress)
        context.close()
    before = next(size for hour, size in sizes if hour >= first_look)
    after = sizes[-1][1]
    return Section(
        [
            f"After {hours} simulated hours the page’s heap is {after / 1e6:.1f} MB, "
            f"{after / before:.2f} times what it was after {first_look:g}."
        ],
        [],
        [
            Chart(
                "Memory of a wall screen",
                "simulated hours",
                "MB",
                [hour for hour, _ in sizes],
                {"heap": [size / 1e6 for _, size in sizes]},
            )
        ],
        [Figure("heap of a wall screen", after / 1e6, "MB", before / 1e6, 1.1, lower_is_better=True)],
    )


def _watched(page: Page, server: Server, hours: int, progress: Progress) -> list[tuple[float, int]]:
    tools = page.context.new_cdp_session(page)
    tools.send("HeapProfiler.enable")
    sizes = []
    steps = hours * HOUR // STEP_SECONDS
    for step in range(1, steps + 1):
        page.clock.fast_forward(STEP_SECONDS * 1_000)
        server.now += STEP_SECONDS * 1_000
        server.tell()
        if step * STEP_SECONDS % (HOUR // 4) == 0:
            tools.send("HeapProfiler.collectGarbage")
            size = tools.send("Runtime.getHeapUsage")["usedSize"]
            sizes.append((step * STEP_SECONDS / HOUR, int(size)))
            progress(f"{sizes[-1][0]:.1f} h: {size / 1e6:.1f} MB")
    return sizes
