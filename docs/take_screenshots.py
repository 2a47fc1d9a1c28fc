"""Takes the pictures of the documentation from a running Millrace.

    ./millrace up                                  # in another terminal; let the demo run for 20 minutes
    .venv/bin/python docs/take_screenshots.py http://127.0.0.1:8000 PASSWORD [NAME…]

PASSWORD is the administrator's, ADDRESS is what `up` printed; with names, only those pictures are taken.
Every page is taken four times: 1440 and 390 px wide, light and dark. All four together go to
docs/images/pages, the wide light one alone to docs/images where a document shows it. Look at each before it
is committed. Needs the test packages (./millrace test installs them) and Chromium.
"""

import io
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, StorageState, sync_playwright

HERE = Path(__file__).resolve().parent
IMAGES = HERE / "images"
SHEETS = IMAGES / "pages"
sys.path.insert(0, str(HERE.parent))

from dashboard.platform import test_tools  # noqa: E402  # the project is not a package that is installed

WIDE, NARROW = 1440, 390
HIGH, LOW, TALL, WHOLE = 900, 560, 1180, 3_000
SHEET_SCALE, GAP = 0.7, 24
PATIENCE_MS = 60_000


def job_told(page: Page) -> None:
    """Wait until the socket has told how the job and the source of the page are."""
    page.wait_for_function(
        """() => {
            const told = (place, word) => document.querySelector(place)?.textContent.includes(word) ?? true;
            return told("#job-card", "running") && told("[data-live-source]", "partitions");
        }"""
    )


def health_told(page: Page) -> None:
    page.locator(".health-value").first.wait_for()


def results_drawn(page: Page) -> None:
    """Wait until every chart of the page has lines."""
    page.wait_for_function(
        """() => {
            const charts = [...document.querySelectorAll("canvas")];
            const hasLines = (chart) => chart.millraceSeries?.().some((one) => one.points.length > 1);
            return charts.length && charts.every(hasLines);
        }"""
    )
    page.wait_for_timeout(1_500)  # the page redraws once a second


def query_opened(page: Page) -> None:
    page.get_by_role("link", name="Temperature, average", exact=True).click()
    results_drawn(page)


def rows_told(page: Page) -> None:
    """Wait until the rows of the list of queries have their lines; some windows take long to fill."""
    page.locator("[data-figure=line] path").nth(2).wait_for(state="attached")


def messages_listed(page: Page) -> None:
    page.locator(".message-line").nth(20).wait_for()
    page.get_by_role("button", name="Pause").click()
    page.locator(".message-line").nth(4).click()
    page.get_by_text("How Millrace reads it").wait_for()
    page.wait_for_timeout(1_000)  # the list scrolls to the line


def letters_listed(page: Page) -> None:
    page.get_by_text("Would they be read now").wait_for()


def strategies_compared(page: Page) -> None:
    page.get_by_text("Answers are the same under every strategy.").wait_for()
    page.locator("progress").wait_for(state="detached")


def plan_drawn(page: Page) -> None:
    strategies_compared(page)
    results_drawn(page)


def strategy_previewed(page: Page) -> None:
    page.get_by_role("heading", name="What it means for each window").wait_for()


def topic_chosen(page: Page) -> None:
    page.get_by_role("button", name="Test connection").click()
    page.get_by_role("button", name="demo.sensors", exact=True).click()
    page.get_by_role("button", name="Save source").wait_for()
    page.wait_for_timeout(500)


def query_typed(page: Page) -> None:
    page.get_by_label("Name", exact=True).fill("Warmest by site")
    page.get_by_label("Aggregate", exact=True).select_option("max")
    page.get_by_role("button", name="Add another").click()
    page.get_by_label("Aggregate", exact=True).nth(1).select_option("p95")
    page.get_by_role("combobox", name="Field or expression").nth(1).fill("temp")
    page.get_by_label("Windows", exact=True).fill("30s, 1m, 2m every 10s")
    page.locator(".choice", has_text="site").click()
    page.get_by_role("combobox", name="Filter").fill("status <> 'fault'")
    page.get_by_role("combobox", name="Filter").press("Escape")
    page.get_by_text("2 m every 10 s", exact=True).wait_for()
    page.wait_for_timeout(500)
    results_drawn(page)


def back_tested(page: Page) -> None:
    page.get_by_label("Windows", exact=True).fill("10s, 1m, 2m every 1s")
    page.get_by_text("2 m every 1 s", exact=True).wait_for()
    page.get_by_role("button", name="Back-test").click()
    page.get_by_role("button", name="Run back-test").click()
    page.get_by_role("heading", name="History").wait_for()
    results_drawn(page)


def panel_edited(page: Page) -> None:
    page.locator(".live-panel").first.hover()
    page.locator(".live-panel .panel-menu summary").first.click()
    page.get_by_role("link", name="Edit panel").first.click()
    results_drawn(page)


def alert_typed(page: Page) -> None:
    page.get_by_role("link", name="Hottest reading by site", exact=True).click()
    page.get_by_role("link", name="New alert").click()
    page.get_by_label("Name").fill("Too hot")
    page.get_by_role("textbox", name="Value").fill("30")
    page.get_by_text(re.compile("^Would have fired")).first.wait_for()
    results_drawn(page)


def alert_saved(page: Page) -> None:
    alert_typed(page)
    page.get_by_role("button", name="Save alert").click()
    page.get_by_text("Firing").first.wait_for()
    results_drawn(page)


def home_told(page: Page) -> None:
    page.locator(".spark path").first.wait_for(state="attached")
    page.locator(".job-figures").wait_for(state="attached")
    page.get_by_text("Healthy").first.wait_for(state="attached")


def verified(page: Page) -> None:
    page.get_by_role("button", name="Verify").click()
    page.get_by_text("equal").first.wait_for()


def events_opened(page: Page) -> None:
    page.get_by_role("link", name="Events", exact=True).click()
    page.get_by_role("heading", name="Events", exact=True).first.wait_for()


def query_paused(page: Page) -> None:
    """A panel that says so; the query goes on afterwards."""
    events_opened(page)
    page.get_by_role("button", name="Pause").first.click()
    page.get_by_text("paused").first.wait_for()
    page.wait_for_timeout(1_000)


def query_resumed(page: Page) -> None:
    events_opened(page)
    page.get_by_role("button", name="Resume").first.click()
    results_drawn(page)


def link_made(page: Page) -> None:
    """The dashboard as somebody sees it who has been sent a link."""
    page.get_by_label("For what or whom").fill("the hall")
    page.get_by_role("button", name="Make link").click()
    page.goto(page.locator("#share-address").inner_text())
    results_drawn(page)


def version_opened(page: Page) -> None:
    page.locator(".plan-history tbody a").first.click()
    page.get_by_role("heading", name="Plan").first.wait_for()


def keys_told(page: Page) -> None:
    page.keyboard.press("?")
    page.get_by_role("heading", name="Keys").wait_for()


def read(page: Page) -> None:
    page.wait_for_timeout(1_000)


@dataclass(frozen=True)
class Scene:
    name: str
    address: str
    until: Callable[[Page], None] = results_drawn
    height: int = HIGH
    narrow_height: int = HIGH
    alone: bool = False  # a document shows the wide light one by itself
    # What `until` does is done once; then the page that it led to is opened again, until this.
    then: Callable[[Page], None] | None = None


BUILDER = "/queries/new/?source=demo-sensors"
SOURCE = "/sources/demo-sensors/"
SIGN_IN = Scene("sign-in", "/", read)
SCENES = (
    Scene("board", "/dashboards/demo/", alone=True),
    Scene("panels", "/dashboards/panels/", height=TALL, narrow_height=WHOLE, alone=True),
    Scene("board-kiosk", "/dashboards/demo/?kiosk=1"),
    Scene("boards", "/dashboards/", read, LOW),
    Scene("board-new", "/dashboards/new/", read),
    Scene("board-share", "/dashboards/demo/share/", read, LOW),
    Scene("shared", "/dashboards/demo/share/", link_made, then=results_drawn),
    Scene("panel-edit", "/dashboards/demo/", panel_edited, alone=True),
    Scene("home", "/", home_told, alone=True),
    Scene("search", "/search/?q=temp", read, LOW),
    Scene("keys", "/", keys_told),
    Scene("not-found", "/nowhere/", read, LOW),
    Scene("people", "/people/", read, LOW),
    Scene("audit", "/audit/", read),
    Scene("account", "/account/", read),
    Scene("notices", "/notices/", read, LOW),
    Scene("connections", "/connections/", read, LOW),
    Scene("connection-new", "/connections/new/", read),
    Scene("sources", "/sources/", read, LOW),
    Scene("source-new", "/sources/new/", topic_chosen, TALL, alone=True),
    Scene("source", SOURCE, health_told, alone=True),
    Scene("source-messages", f"{SOURCE}?tab=messages", messages_listed, alone=True),
    Scene("source-consumers", f"{SOURCE}?tab=consumers", health_told),
    Scene("dead-letters", f"{SOURCE}?tab=dead-letters", letters_listed, alone=True),
    Scene("source-settings", f"{SOURCE}?tab=settings", health_told, TALL),
    Scene("query-new", BUILDER, query_typed, alone=True),
    Scene("backtest", BUILDER, back_tested, alone=True, then=results_drawn),
    Scene("queries", "/queries/", rows_told, LOW, alone=True),
    Scene("plan", "/plan/", plan_drawn, alone=True),
    Scene("plan-what-if", "/plan/demo-sensors/what-if/", strategies_compared, alone=True),
    Scene("plan-preview", "/plan/demo-sensors/what-if/no_share/", strategy_previewed, alone=True),
    Scene("plan-verify", "/plan/demo-sensors/verify/", verified, alone=True, then=read),
    Scene("tokens", "/tokens/", read, LOW),
    Scene("api", "/api/docs", read),
    # From here on something is paused, or an alert fires, and pages say so.
    Scene("query-paused", "/queries/", query_paused, then=read),
    Scene("query", "/queries/", query_resumed, then=results_drawn),
    Scene("plan-history", "/plan/demo-sensors/history/", read, alone=True),
    Scene("plan-version", "/plan/demo-sensors/history/", version_opened, then=read),
    Scene("alert-new", "/queries/", alert_typed, alone=True),
    Scene("alert", "/queries/", alert_saved, then=results_drawn),
    Scene("alerts", "/alerts/", read, LOW),
    Scene("board-firing", "/dashboards/demo/"),
)


@dataclass(frozen=True)
class Form:
    """How a page is looked at."""

    width: int
    dark: bool


FORMS = (Form(WIDE, dark=False), Form(NARROW, dark=False), Form(WIDE, dark=True), Form(NARROW, dark=True))


def sign_in(browser: Browser, address: str, password: str) -> StorageState:
    context = browser.new_context(base_url=address, bypass_csp=True)
    page = context.new_page()
    page.goto("/")
    page.get_by_label("User name").fill("admin")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "sign-in" not in url)
    state = context.storage_state()
    context.close()
    return state


def taken(browser: Browser, address: str, state: StorageState | None, scene: Scene) -> list[Image.Image]:
    """The page in all forms."""
    pictures, place, until = [], scene.address, scene.until
    for form in FORMS:
        context = browser.new_context(
            bypass_csp=True,  # or it could not be asked whether all is drawn
            viewport={
                "width": form.width,
                "height": scene.height if form.width == WIDE else scene.narrow_height,
            },
            base_url=address,
            storage_state=state,
            color_scheme="dark" if form.dark else "light",
        )
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.goto(place)
        until(page)
        job_told(page)
        pictures.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
        if scene.then is not None:
            place, until = page.url, scene.then
        context.close()
    return pictures


def sheet(pictures: list[Image.Image]) -> Image.Image:
    """All forms of a page beside each other: light above dark, and narrow ones that are long in columns."""
    light, narrow, _, _ = pictures
    right = 2 * GAP + WIDE
    below = 2 * GAP + light.height
    places = [(GAP, GAP), (right, GAP), (GAP, below), (right, below)]
    if narrow.height > light.height:
        places[3] = (right + NARROW + GAP, GAP)
    ends = [(x + one.width, y + one.height) for one, (x, y) in zip(pictures, places, strict=True)]
    whole = Image.new("RGB", (max(x for x, _ in ends) + GAP, max(y for _, y in ends) + GAP), "#8a93a3")
    for one, place in zip(pictures, places, strict=True):
        whole.paste(one, place)
    size = (round(whole.width * SHEET_SCALE), round(whole.height * SHEET_SCALE))
    return whole.resize(size, Image.Resampling.LANCZOS)


def keep(scene: Scene, pictures: list[Image.Image]) -> None:
    sheet(pictures).save(SHEETS / f"{scene.name}.webp", quality=82, method=6)
    if scene.alone:
        pictures[0].save(IMAGES / f"{scene.name}.png", optimize=True)
    print(f"docs/images/pages/{scene.name}.webp")  # noqa: T201  # a script's progress


def main(address: str, password: str, names: list[str]) -> None:
    SHEETS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(test_tools.chromium() or "chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        state = sign_in(browser, address, password)
        for scene in (SIGN_IN, *SCENES):
            if not names or scene.name in names:
                keep(scene, taken(browser, address, None if scene is SIGN_IN else state, scene))
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("Usage: docs/take_screenshots.py ADDRESS PASSWORD [NAME…]")
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
