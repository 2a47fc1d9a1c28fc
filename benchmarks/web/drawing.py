"""A dashboard of 12 panels with 10 series over 6 hours: how soon it is drawn, and what keeping up takes."""

import time
from dataclasses import dataclass
from statistics import median

from playwright.sync_api import BrowserContext, Page

from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from benchmarks.report import Table
from benchmarks.web.browser import CATEGORIES, chromium, scripting_seconds, signed_in
from benchmarks.web.stage import Progress, stage

PANELS = 12
SERIES = 10
HOURS = 6
SLIDE = 10
LOAD_TARGET = 1.5
BETWEEN_VISITS = 1.0  # s
SCRIPT_TARGET_MS = 16.0

# In the page, every frame: when all charts have the whole range, the time since navigation began.
NOTE_WHEN_DRAWN = """
const wanted = PANELS, series = SERIES, span = HOURS * 3.6e6 * 0.97;
const whole = (canvas) => {
  const drawn = canvas.millraceSeries?.() ?? [];
  const reaches = ({ points }) => points.length > 1 && points.at(-1)[0] - points[0][0] > span;
  return drawn.length === series && drawn.every(reaches);
};
const look = () => {
  const canvases = [...document.querySelectorAll(".live-panel canvas")];
  const done = canvases.length === wanted && canvases.every(whole);
  requestAnimationFrame(done ? () => (window.drawnAt = performance.now()) : look);
};
requestAnimationFrame(look);
"""


def run(quick: bool, progress: Progress) -> Section:
    seconds, loads = (8, 2) if quick else (30, 7)
    with stage() as made, chromium() as browser:
        until = int(time.time() * 1000)
        made.seed(boards=1, panels=PANELS, windows=SERIES, slide=SLIDE, past_hours=HOURS, until=until)
        made.feed(groups=0, slide=SLIDE)
        port, _ = made.web()
        address = f"http://127.0.0.1:{port}"
        session = made.made["session"]
        _visited(signed_in(browser, address, session)).page.context.close()  # the server's first are slow
        first, again = [], []
        for number in range(loads):
            context = signed_in(browser, address, session)
            first.append(_visited(context))
            first[-1].page.close()
            time.sleep(BETWEEN_VISITS)
            again.append(_visited(context))
            page = again[-1].page
            progress(f"drawn after {first[-1].seconds:.2f} s, the next time after {again[-1].seconds:.2f} s")
            if number < loads - 1:
                context.close()
        page.wait_for_timeout(3_000)
        browser.start_tracing(page=page, categories=CATEGORIES)
        page.wait_for_timeout(seconds * 1_000)
        scripts = scripting_seconds(browser.stop_tracing()) * 1000 / seconds / PANELS
        progress(f"{scripts:.1f} ms of scripts a second and panel")
    drawn, redrawn = (median(visit.seconds for visit in visits) for visits in (first, again))
    sent, resent = first[-1].sent, again[-1].sent
    return Section(
        [
            f"A dashboard of {PANELS} panels with {SERIES} series each over {HOURS} hours is drawn "
            f"{redrawn:.2f} s after it was asked for ({resent / 1e3:.0f} kB), {drawn:.2f} s with a browser "
            f"new to it ({sent / 1e3:.0f} kB), and takes {scripts:.1f} ms of scripts a second "
            "and panel."
        ],
        [
            Table(
                "Drawing",
                ["", "drawn after, s", "least", "most", "sent, kB"],
                [
                    ["first visit, nothing cached", drawn, *_ends(first), sent / 1e3],
                    ["next visit", redrawn, *_ends(again), resent / 1e3],
                ],
                "Medians of the loads, server and browser on the same cores. A panel that is further away "
                "than half a screen has its results by then, and is drawn when it comes near.",
            )
        ],
        [],
        [
            Figure("a long dashboard is drawn", redrawn, "s", None, LOAD_TARGET, lower_is_better=True),
            Figure("the same on a first visit", drawn, "s", None, LOAD_TARGET, lower_is_better=True),
            Figure("scripts a second and panel", scripts, "ms", None, SCRIPT_TARGET_MS, lower_is_better=True),
            Figure("sent for it on a first visit", sent / 1e3, "kB"),
        ],
    )


@dataclass(frozen=True)
class Visit:
    page: Page
    seconds: float  # until all was drawn, from when it was asked for
    sent: int  # bytes


def _ends(visits: list[Visit]) -> tuple[float, float]:
    times = [visit.seconds for visit in visits]
    return min(times), max(times)


def _visited(context: BrowserContext) -> Visit:
    page = context.new_page()
    script = (
        NOTE_WHEN_DRAWN.replace("PANELS", str(PANELS))
        .replace("SERIES", str(SERIES))
        .replace("HOURS", str(HOURS))
    )
    page.add_init_script(script)
    page.goto(f"/dashboards/board-0/?from=now-{HOURS}h&to=now")
    page.wait_for_function("window.drawnAt", timeout=60_000)
    sent = page.evaluate(
        """() => ["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type))
            .reduce((sum, { transferSize }) => sum + transferSize, 0)"""
    )
    return Visit(page, page.evaluate("window.drawnAt") / 1000, sent)
