"""Takes the pictures of the documentation from a running Millrace.

    ./millrace up                                  # in another terminal; let the demo run for 3 minutes
    .venv/bin/python docs/take_screenshots.py http://127.0.0.1:8000 PASSWORD

PASSWORD is the administrator's, ADDRESS is what `up` printed. The pictures go to docs/images; look at each
before it is committed. Needs the test packages (./millrace test installs them) and Chromium.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, StorageState, sync_playwright

HERE = Path(__file__).resolve().parent
IMAGES = HERE / "images"
sys.path.insert(0, str(HERE.parent))

from dashboard.platform import test_tools  # noqa: E402  # the project is not a package that is installed

DESKTOP = {"width": 1440, "height": 900}
LOW = {"width": 1440, "height": 460}
LOWER = {"width": 1440, "height": 780}
TALL = {"width": 1440, "height": 1180}
SMALLER = {"width": 1280, "height": 840}
PHONE = {"width": 390, "height": 844}
PATIENCE_MS = 60_000


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


def letters_listed(page: Page) -> None:
    page.get_by_text("Would they be read now").wait_for()


def strategies_compared(page: Page) -> None:
    page.get_by_text("Answers are the same under every strategy.").wait_for()
    page.locator("progress").wait_for(state="detached")


def plan_drawn(page: Page) -> None:
    strategies_compared(page)
    results_drawn(page)


def strategy_previewed(page: Page) -> None:
    page.get_by_role("heading", name="What it means for each query").wait_for()


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
    page.get_by_text("would have fired").first.wait_for()
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


def read(page: Page) -> None:
    page.wait_for_timeout(1_000)


@dataclass(frozen=True)
class Picture:
    name: str
    address: str
    until: Callable[[Page], None] = results_drawn
    dark: bool = False
    viewport: dict[str, int] | None = None


BUILDER = "/queries/new/?source=demo-sensors"
PICTURES = (
    Picture("board", "/dashboards/demo/", viewport=SMALLER),
    Picture("board-dark", "/dashboards/demo/", dark=True, viewport=SMALLER),
    Picture("board-phone", "/dashboards/demo/", viewport=PHONE),
    Picture("boards", "/dashboards/", read, viewport=LOW),
    Picture("panel-edit", "/dashboards/demo/", panel_edited),
    Picture("home", "/", home_told, viewport=LOWER),
    Picture("home-dark", "/", home_told, dark=True, viewport=LOWER),
    Picture("home-phone", "/", home_told, viewport=PHONE),
    Picture("people", "/people/", read, viewport=LOW),
    Picture("audit", "/audit/", read, viewport=LOWER),
    Picture("account", "/account/", read),
    Picture("connections", "/connections/", read, viewport=LOW),
    Picture("source-new", "/sources/new/", topic_chosen, viewport=TALL),
    Picture("source", "/sources/demo-sensors/", health_told),
    Picture("source-messages", "/sources/demo-sensors/?tab=messages", messages_listed),
    Picture("source-messages-dark", "/sources/demo-sensors/?tab=messages", messages_listed, dark=True),
    Picture("source-phone", "/sources/demo-sensors/", health_told, viewport=PHONE),
    Picture("dead-letters", "/sources/demo-sensors/?tab=dead-letters", letters_listed),
    Picture("query-new", BUILDER, query_typed),
    Picture("query-new-dark", BUILDER, query_typed, dark=True),
    Picture("query-new-phone", BUILDER, query_typed, viewport=PHONE),
    Picture("backtest", BUILDER, back_tested),
    Picture("query", "/queries/", query_opened),
    Picture("queries", "/queries/", rows_told, viewport=LOW),
    Picture("queries-dark", "/queries/", rows_told, dark=True, viewport=LOW),
    Picture("queries-phone", "/queries/", rows_told, dark=True, viewport=PHONE),
    Picture("plan", "/plan/", plan_drawn),
    Picture("plan-dark", "/plan/", plan_drawn, dark=True),
    Picture("plan-what-if", "/plan/demo-sensors/what-if/", strategies_compared, viewport=LOWER),
    Picture("plan-preview", "/plan/demo-sensors/what-if/no_share/", strategy_previewed, viewport=LOWER),
    Picture("tokens", "/tokens/", read, viewport=LOW),
    Picture("api", "/api/docs", read),
    # Last: from then on an alert fires, and pages say so.
    Picture("alert-new", "/queries/", alert_typed),
    Picture("alert", "/queries/", alert_saved),
    Picture("alerts", "/alerts/", read, viewport=LOW),
)


def keep(page: Page, name: str) -> None:
    page.screenshot(path=IMAGES / f"{name}.png")


def sign_in(browser: Browser, address: str, password: str) -> StorageState:
    """Sign in once, taking the picture of that page on the way."""
    context = browser.new_context(viewport=DESKTOP, base_url=address)
    page = context.new_page()
    page.goto("/")
    keep(page, "sign-in")
    page.get_by_label("User name").fill("admin")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "sign-in" not in url)
    state = context.storage_state()
    context.close()
    return state


def take(browser: Browser, address: str, state: StorageState, picture: Picture) -> None:
    context = browser.new_context(
        viewport=picture.viewport or DESKTOP,
        base_url=address,
        storage_state=state,
        color_scheme="dark" if picture.dark else "light",
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(picture.address)
    page.locator("#job-card b").first.wait_for(state="attached")
    picture.until(page)
    keep(page, picture.name)
    context.close()
    print(f"docs/images/{picture.name}.png")  # noqa: T201  # a script's progress


def main(address: str, password: str) -> None:
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(test_tools.chromium() or "chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        state = sign_in(browser, address, password)
        for picture in PICTURES:
            take(browser, address, state, picture)
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("Usage: docs/take_screenshots.py ADDRESS PASSWORD")
    main(sys.argv[1], sys.argv[2])
