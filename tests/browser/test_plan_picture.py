"""The plan page with five hundred queries, on a stage: its picture can be read, and trees have a past."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, StorageState, expect

from streaming.broker import free_port
from tests.browser.stage import SOURCE, Stage, session_of_admin, staged
from tests.browser.steps import wait_until_true

pytestmark = pytest.mark.browser

QUERIES = 500
SEED = f"""
from datetime import timedelta
from django.contrib.auth.models import User
from django.utils import timezone
from dashboard.models import SavedQuery, Source, ThroughputSample
from dashboard.planning.identity import tree_identity
from dashboard.planning.service import replan
names = ("Bo", "Carla", "Dmitri", "Eve", "Faisal", "Greta", "Hiro", "Ines", "Jan", "Konstantin")
owners = [User.objects.create_user(name.lower(), first_name=name) for name in names]
source = Source.objects.get(key={SOURCE!r})
computed = (("mean", "ms"), ("max", "ms"), ("p95", "ms"), ("sum", "bytes"), ("count", None), ("max", "bytes"))
groups, slides = ([], ["route"], ["region"], ["route", "region"]), ("5s", "10s", "15s", "30s", "1m")
SavedQuery.objects.all().delete()
SavedQuery.objects.bulk_create(
    SavedQuery(
        key=f"many{{n:04}}", name=f"Query {{n}}", source=source, owner=owners[n % 10 if n % 3 else 0],
        computations=[dict(zip(("aggregate", "field"), computed[n % 6]))],
        windows=[{{"range": f"{{1 + n % 60}}m", "slide": slides[n // 24 % 5]}}],
        group_by=groups[n // 6 % 4], where="" if n % 7 else "ms > 100",
    )
    for n in range({QUERIES})
)
plan = replan(source, "Ana imported many queries").value()
richest = max(plan.trees, key=lambda tree: len(tree.queries))
now = timezone.now()
for minutes in (10, 15, 20, 24 * 60):
    ThroughputSample.objects.create(
        source=source, at=now - timedelta(minutes=minutes), plan=plan.version, estimated=1_000, actual=800,
        trees={{tree_identity(richest): [50_000, 35_000]}},
    )
"""
# Texts of the picture that lie over each other, reach out of it, or are too small to be read.
UNREADABLE = """() => {
  const picture = document.querySelector(".flow-body svg").getBoundingClientRect();
  const texts = [...document.querySelectorAll(".flow-body svg text")].filter((text) => text.textContent);
  const boxes = texts.map((text) => ({
    said: text.textContent,
    size: parseFloat(getComputedStyle(text).fontSize),
    box: text.getBoundingClientRect(),
  }));
  const both = (a, b, from, to) => Math.min(a[to], b[to]) - Math.max(a[from], b[from]);
  const over = (a, b) => both(a, b, "left", "right") > 1 && both(a, b, "top", "bottom") > 2;
  return boxes.flatMap(({ said, size, box }, at) => [
    ...(size < 11 ? [`${said} is small`] : []),
    ...(box.right > picture.right + 1 || box.bottom > picture.bottom + 1 ? [`${said} is cut off`] : []),
    ...boxes.slice(at + 1).filter((one) => over(box, one.box)).map((one) => `${said} over ${one.said}`),
  ]);
}"""
DRAWN = """() => document.querySelector("#throughput canvas").millraceSeries()
  .map(({ points }) => points.map(([, value]) => value))"""


@pytest.fixture(scope="module")
def stage(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(broker, tmp_path_factory.mktemp("stage"), free_port()) as running:
        running.shell(SEED)
        yield running


@pytest.fixture(scope="module")
def signed_in(browser: Browser, stage: Stage) -> StorageState:
    return session_of_admin(browser, stage.address)


@pytest.fixture
def plan(browser: Browser, stage: Stage, signed_in: StorageState) -> Iterator[Page]:
    size: Any = {"width": 1440, "height": 900}
    context = browser.new_context(viewport=size, base_url=stage.address, storage_state=signed_in)
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto("/plan/")
    expect(page.locator("a.flow-band").first).to_be_visible()
    yield page
    context.close()


def another_tree(plan: Page) -> tuple[Any, str]:
    """A band that is not selected, and the number of its tree."""
    band = plan.locator("a.flow-band:not(.is-chosen)").first
    number = (band.get_attribute("href") or "").rpartition("tree=")[2]
    return plan.locator(f'a.flow-band[href$="tree={number}"]'), number


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_five_hundred_queries_can_be_read(plan: Page, width: int, scheme: Any) -> None:
    plan.emulate_media(color_scheme=scheme)
    plan.set_viewport_size({"width": width, "height": 900})
    plan.reload()
    picture = plan.locator(".flow-body svg")
    expect(picture.get_by_text(f"{QUERIES} windows", exact=True)).to_be_attached()
    expect(picture.get_by_text("more trees")).to_be_attached()
    expect(picture.get_by_text("by owner")).to_be_attached()
    assert plan.evaluate(UNREADABLE) == []
    wait_until_true(plan, "document.documentElement.scrollWidth <= innerWidth")
    found = Axe().run(plan).response["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []


def test_a_band_tells_what_it_stands_for_when_pointed_at_and_when_focused(plan: Page) -> None:
    card = plan.locator(".flow-card")
    expect(card).to_be_hidden()
    band, number = another_tree(plan)
    band.locator(".flow-name").hover()
    expect(card).to_contain_text(f"Tree {number}, node 1")
    for told in ("Kernel", "of all", "ms a second", "Queries"):
        expect(card).to_contain_text(told)
    plan.mouse.move(1, 1)
    expect(card).to_be_hidden()
    band.focus()
    expect(card).to_contain_text(f"Tree {number}, node 1")
    expect(band).to_have_attribute("aria-label", re.compile(f"^Tree {number}, node 1, .* of the cost$"))
    plan.keyboard.press("Enter")
    expect(plan.locator("#slices-title")).to_have_text(f"Tree {number}")


def test_the_rest_of_the_trees_tells_whose_queries_it_holds(plan: Page) -> None:
    plan.locator("g.flow-band .flow-name").hover()
    card = plan.locator(".flow-card")
    expect(card).to_contain_text("more trees")
    expect(card).to_contain_text(re.compile(r"Bo, \d+ windows"))
    expect(card).to_contain_text("4 more")  # of ten owners


def test_a_click_on_the_picture_shows_the_tree(plan: Page) -> None:
    band, number = another_tree(plan)
    band.locator(".flow-name").click()
    plan.wait_for_url(f"**tree={number}")
    expect(plan.locator("#slices-title")).to_have_text(f"Tree {number}")
    expect(plan.get_by_text("Why this kernel.")).to_be_visible()


def test_a_tree_has_a_past_of_its_own(plan: Page) -> None:
    chart = plan.locator("#throughput")
    chart.get_by_role("button", name="24 h").click()
    expect(chart.get_by_text("−20 %", exact=True)).to_be_visible()
    chart.locator("[data-of=tree]").click()
    expect(chart.get_by_role("button", name="24 h")).to_have_attribute("aria-pressed", "true")
    expect(chart.get_by_text("−30 %", exact=True)).to_be_visible()
    expect(chart.get_by_text("deviation, −30 % a day ago")).to_be_visible()
    estimated, actual = plan.evaluate(DRAWN)
    assert [value for value in actual if value is not None] == [35_000] * len(actual)
    assert {value for value in estimated if value is not None} == {50_000}
    chart.get_by_role("button", name="7 d").click()
    wait_until_true(plan, f"({DRAWN})()[1].includes(null)")  # a day without samples is a gap
    another_tree(plan)[0].locator(".flow-name").click()
    expect(chart.get_by_text("No samples of this tree.")).to_be_visible()
