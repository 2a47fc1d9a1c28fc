"""Between phone and wide screen toolbars, lists and headline facts are whole, and the console is clean."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from streaming.broker import free_port
from tests.browser.stage import SOURCE, Stage, session_of_admin, staged

pytestmark = pytest.mark.browser

WIDTHS = (1440, 1280, 1100, 1024, 900, 768)
SEED = f"""
from dashboard.models import Board, Panel, SavedQuery, Source
from dashboard.planning.service import adopt, replan
from django.contrib.auth.models import User
source, ana = Source.objects.get(key={SOURCE!r}), User.objects.get()
replan(source, "Ana added every query that this stage has, some of them with rather long names")
board = Board.objects.create(slug="wide", name="All that goes on in the shop, hour by hour", owner=ana)
shown = "latency line, routes line, regions stacked, latency number, routes top"
for place, (key, kind) in enumerate(one.split() for one in shown.split(", ")):
    query = SavedQuery.objects.get(key=key)
    Panel.objects.create(
        board=board, query=query, title=f"{{query.name}} of the shop", kind=kind, shows=[{{"query": key}}],
        x=3 * (place % 4), y=14 * (place // 4), w=3, h=14,
    )
"""
PAGES = (
    "/",
    "/dashboards/wide/",
    "/queries/",
    "/queries/routes/",
    "/queries/routes/edit/",
    "/sources/",
    f"/sources/{SOURCE}/",
    "/plan/",
    f"/plan/{SOURCE}/what-if/",
    f"/plan/{SOURCE}/what-if/no_share/",
    f"/plan/{SOURCE}/history/",
    "/alerts/",
)
CUT_OFF = (Path(__file__).parent / "cut_off.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def stage(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(broker, tmp_path_factory.mktemp("stage"), free_port()) as running:
        running.shell(SEED)
        yield running


@pytest.fixture(scope="module")
def context(browser: Browser, stage: Stage) -> Iterator[BrowserContext]:
    state = session_of_admin(browser, stage.address)
    made = browser.new_context(base_url=stage.address, storage_state=state)
    yield made
    made.close()


@pytest.mark.parametrize("address", PAGES)
def test_nothing_is_cut_off_and_the_console_is_clean(context: BrowserContext, address: str) -> None:
    page, said = context.new_page(), list[str]()

    def heard(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            said.append(message.text)

    page.on("console", heard)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    page.goto(address)
    page.locator("#job-card", has_text="running").wait_for()
    page.wait_for_timeout(800)
    cut = {width: found for width in WIDTHS if (found := _cut_at(page, width))}
    page.close()
    assert not cut
    assert not said


def _cut_at(page: Page, width: int) -> list[str]:
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_timeout(60)
    return list(page.evaluate(CUT_OFF))
