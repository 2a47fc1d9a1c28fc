"""A dashboard of 12 panels with 10 series over 6 hours: how soon it is drawn, and what keeping up takes."""

import time

from playwright.sync_api import Browser, Page

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
    seconds, loads = (8, 2) if quick else (30, 5)
    with stage() as made, chromium() as browser:
        until = int(time.time() * 1000)
        made.seed(boards=1, panels=PANELS, windows=SERIES, slide=SLIDE, past_hours=HOURS, until=until)
        made.feed(groups=0, slide=SLIDE)
        port, _ = made.web()
        address = f"http://127.0.0.1:{port}"
        _loaded(browser, address, made.made["session"])[
            0
        ].context.close()  # the server's first requests are slow
        times = []
        for _ in range(loads):
            page, drawn, sent = _loaded(browser, address, made.made["session"])
            times.append(drawn)
            progress(f"drawn after {drawn:.2f} s, {sent / 1e3:.0f} kB")
            if len(times) < loads:
                page.context.close()
        page.wait_for_timeout(3_000)
        browser.start_tracing(page=page, categories=CATEGORIES)
        page.wait_for_timeout(seconds * 1_000)
        scripts = scripting_seconds(browser.stop_tracing()) * 1000 / seconds / PANELS
        progress(f"{scripts:.1f} ms of scripts a second and panel")
    drawn = sorted(times)[len(times) // 2]
    return Section(
        [
            f"A dashboard of {PANELS} panels with {SERIES} series each over {HOURS} hours is drawn "
            f"{drawn:.2f} s after it was asked for ({sent / 1e3:.0f} kB), and takes {scripts:.1f} ms of "
            "scripts a second and panel."
        ],
        [
            Table(
                "Drawing",
                ["", "value"],
                [
                    ["drawn after, s", drawn],
                    ["sent, kB", sent / 1e3],
                    ["scripts, ms per second and panel", scripts],
                ],
                "Median of the loads, nothing cached, server and browser on the same cores; scripts by "
                "Chromium’s performance trace, while every line gets a result a second.",
            )
        ],
        [],
        [
            Figure("a long dashboard is drawn", drawn, "s", None, LOAD_TARGET, lower_is_better=True),
            Figure("scripts a second and panel", scripts, "ms", None, SCRIPT_TARGET_MS, lower_is_better=True),
            Figure("sent for it", sent / 1e3, "kB"),
        ],
    )


def _loaded(browser: Browser, address: str, session: str) -> tuple[Page, float, int]:
    """The page, when it was drawn (s after it was asked for), and the bytes that were sent for it."""
    context = signed_in(browser, address, session)
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
    return page, page.evaluate("window.drawnAt") / 1000, sent
