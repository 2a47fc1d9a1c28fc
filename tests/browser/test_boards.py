"""Dashboards in a real browser: arranged, undone, read from afar, by mouse and by keyboard."""

import re
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, StorageState, expect

from streaming.broker import free_port
from tests.browser.stage import Stage, session_of_admin, staged
from tests.browser.steps import call, wait_until_true

pytestmark = pytest.mark.browser

PATIENCE = 30.0  # s
Panels = list[dict[str, Any]]


def panel(kind: str, query: str = "latency", **more: Any) -> dict[str, Any]:
    return {"title": f"A {kind}", "kind": kind, "shows": [{"query": query}], **more}


EVERY_KIND: Panels = [
    panel("line", unit="ms", x=0, y=0, w=6, h=19),
    panel("number", unit="ms", thresholds=[{"value": 1, "colour": "bad"}], x=6, y=0, w=3, h=9),
    panel("gauge", greatest=400, x=6, y=9, w=3, h=10),
    panel("top", "routes", x=9, y=0, w=3, h=19),
    panel("heat", "regions", x=0, y=19, w=6, h=12),
    panel("bar", "failed", stack=True, x=6, y=19, w=6, h=12),
    panel("area", x=0, y=31, w=6, h=12),
    panel("stacked", "regions", x=6, y=31, w=6, h=12),
    {
        "title": "A text",
        "kind": "text",
        "text": "# Hello\n<img src=x onerror=alert(1)> [go](javascript:alert(1))",
    },
]


@pytest.fixture(scope="module")
def stage(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(broker, tmp_path_factory.mktemp("stage"), free_port()) as running:
        yield running


@pytest.fixture(scope="module")
def signed_in(browser: Browser, stage: Stage) -> StorageState:
    return session_of_admin(browser, stage.address)


@pytest.fixture
def context(browser: Browser, stage: Stage, signed_in: StorageState) -> Iterator[BrowserContext]:
    size = {"width": 1440, "height": 900}
    made = browser.new_context(viewport=size, base_url=stage.address, storage_state=signed_in)  # type: ignore[arg-type]
    made.set_default_timeout(PATIENCE * 1000)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


def make_board(page: Page, name: str, panels: Panels) -> str:
    """A dashboard with these panels; its address."""
    page.goto("/dashboards/new/")
    return str(call(page, "POST", "/api/dashboards", {"name": name, "panels": panels})["key"])


def opened(page: Page, name: str, panels: Panels) -> str:
    key = make_board(page, name, panels)
    page.goto(f"/dashboards/{key}/")
    expect(page.locator(".board.is-laid-out")).to_be_visible()
    return key


def place(page: Page, key: str, title: str) -> tuple[int, int, int, int]:
    """Where the server has a panel."""
    board = call(page, "GET", f"/api/dashboards/{key}")
    (found,) = [one for one in board["panels"] if one["title"] == title]
    return found["x"], found["y"], found["w"], found["h"]


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {PATIENCE:.0f} s"
        time.sleep(0.2)


TWO: Panels = [panel("line", x=0, y=0, w=6, h=19), panel("number", "requests", x=6, y=0, w=3, h=9)]


def test_a_panel_is_dragged_saved_and_put_back_by_undo(page: Page) -> None:
    key = opened(page, "Dragged", TWO)
    head = page.locator(".kind-number .panel-head h2").bounding_box()
    assert head is not None
    x, y = head["x"] + 10, head["y"] + head["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 11):
        page.mouse.move(x + 30 * step, y)
    page.mouse.up()
    expect(page.locator("#saved")).to_have_text("Saved")
    expect(page.get_by_text("Moved “A number”.")).to_be_visible()
    assert place(page, key, "A number") == (9, 0, 3, 9)
    expect(page.locator("#saved")).to_have_text("", timeout=4_000)
    page.get_by_role("button", name="Undo").click()
    until(lambda: place(page, key, "A number") == (6, 0, 3, 9), "the way back")


def test_a_panel_is_resized_by_its_corner(page: Page) -> None:
    key = opened(page, "Resized", TWO)
    wait_until_true(page, "document.querySelector('.kind-line canvas')?.millraceSeries?.().length === 3")
    before = page.locator(".kind-line canvas").bounding_box()
    page.locator(".kind-line").hover()
    corner = page.locator(".grid-stack-item").first.locator(".ui-resizable-se").bounding_box()
    assert before is not None
    assert corner is not None
    x, y = corner["x"] + corner["width"] / 2, corner["y"] + corner["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 11):
        page.mouse.move(x - 24 * step, y + 10 * step)
    page.mouse.up()
    expect(page.locator("#saved")).to_have_text("Saved")
    _, _, width, height = place(page, key, "A line")
    assert width < 6
    assert height > 19

    def is_drawn_anew() -> bool:
        now = page.locator(".kind-line canvas").bounding_box()
        return now is not None and now["width"] < before["width"] and now["height"] > before["height"]

    until(is_drawn_anew, "a picture of the new size")


def test_how_long_results_are_kept_is_set_on_the_page_of_the_query(page: Page) -> None:
    page.goto("/queries/errors/")
    form = page.locator(".history-form")
    form.get_by_label("Keep every result for").fill("9")
    form.get_by_label("thinned for").fill("3")
    form.get_by_role("button", name="Save").click()
    said = "Not saved: The thinned past must be kept at least as long as full detail."
    expect(page.get_by_text(said)).to_be_visible()
    form.get_by_label("Keep every result for").fill("9")
    form.get_by_label("thinned for").fill("90")
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved how long results of “Error ratio” are kept.")).to_be_visible()
    page.reload()
    expect(form.get_by_label("Keep every result for")).to_have_value("9")
    expect(form.get_by_label("thinned for")).to_have_value("90")


def test_arrows_move_shift_arrows_resize_and_control_z_takes_it_back(page: Page) -> None:
    key = opened(page, "Keys", TWO)
    page.keyboard.press("e")
    expect(page.locator(".board.is-editing")).to_be_visible()
    page.locator(".kind-number").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Shift+ArrowDown")
    until(lambda: place(page, key, "A number") == (7, 1, 2, 10), "what the keys asked for")
    page.keyboard.press("Control+z")
    until(lambda: place(page, key, "A number") == (6, 0, 3, 9), "the way back")
    page.keyboard.press("Escape")
    expect(page.locator(".board.is-editing")).to_have_count(0)
    page.reload()
    assert page.locator(".grid-stack-item").nth(1).get_attribute("gs-x") == "6"


def test_a_layout_that_the_server_did_not_take_is_kept_and_tried_again(page: Page) -> None:
    key = opened(page, "Away", TWO)
    page.route("**/layout", lambda route: route.abort())
    page.keyboard.press("e")
    page.locator(".kind-number").focus()
    page.keyboard.press("ArrowRight")
    said = "Not saved: the server did not answer. Your changes are kept here."
    expect(page.get_by_text(said)).to_be_visible()
    page.unroute("**/layout")
    page.get_by_role("button", name="Try again").click()
    until(lambda: place(page, key, "A number")[0] == 7, "the second try")


def test_a_removed_panel_comes_back_where_it_was_and_goes_on(page: Page) -> None:
    key = opened(page, "Removed", TWO)
    expect(page.locator(".kind-number .big-number span")).not_to_have_text("–")
    page.locator(".kind-number").hover()
    page.get_by_label("Menu of “A number”").click()
    page.get_by_role("button", name="Remove panel").click()
    expect(page.locator(".kind-number")).to_have_count(0)
    expect(page.get_by_text("Removed “A number”.")).to_be_visible()
    assert len(call(page, "GET", f"/api/dashboards/{key}")["panels"]) == 1
    page.keyboard.press("Control+z")
    expect(page.locator(".kind-number")).to_have_count(1)
    until(lambda: place(page, key, "A number") == (6, 0, 3, 9), "the panel's return")
    before = page.locator(".kind-number .big-number span").inner_text()
    expect(page.locator(".kind-number .big-number span")).not_to_have_text(before)


def test_every_kind_draws_results_and_axe_finds_nothing_in_either_theme(
    page: Page, context: BrowserContext
) -> None:
    opened(page, "Every kind", EVERY_KIND)
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    for kind in ("line", "bar", "area", "stacked", "heat", "gauge"):
        wait_until_true(
            page,
            "kind => document.querySelector(`.kind-${kind} canvas`)"
            "?.millraceSeries?.().some(one => one.points.length > 5)",
            arg=kind,
        )
    expect(page.locator(".kind-number .mark.is-bad").first).to_contain_text("above 1")
    expect(page.locator(".kind-top tbody tr")).to_have_count(8)
    expect(page.locator(".kind-top tbody tr").first).to_contain_text("/api/")
    expect(page.locator(".kind-top")).to_contain_text("8 of 1,208 groups")
    expect(page.locator(".kind-gauge .gauge-ends")).to_contain_text("400")
    expect(page.locator(".kind-text h3")).to_have_text("Hello")
    expect(page.locator(".kind-text .text-place img, .kind-text .text-place a")).to_have_count(0)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        wait_until_true(page, "theme => document.documentElement.dataset.bsTheme === theme", arg=theme)
        wait_until_true(
            page,  # colours fade
            "document.getAnimations().every(({ playState }) => playState !== 'running')",
        )
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
    assert dialogs == []


def test_fifty_series_have_a_legend_that_isolates_hides_and_is_searched(page: Page) -> None:
    opened(page, "Fifty", [panel("line", "routes", groups=50, w=12, h=19)])
    rows = page.locator(".key-table tbody tr")
    expect(rows).to_have_count(50)
    expect(page.get_by_text("50 of 1,208, by the newest final value")).to_be_visible()
    expect(rows.first.locator("td")).to_have_count(4)
    rows.filter(has_text="/api/checkout").get_by_role("button").click()
    expect(page.locator(".key-table tr.is-hidden")).to_have_count(49)
    assert "hide-" in page.url
    page.reload()
    expect(page.locator(".key-table tr.is-hidden")).to_have_count(49)
    rows.filter(has_text="/api/checkout").get_by_role("button").click()
    expect(page.locator(".key-table tr.is-hidden")).to_have_count(0)
    rows.filter(has_text="/api/search").get_by_role("button").click(modifiers=["Control"])
    expect(page.locator(".key-table tr.is-hidden")).to_have_count(1)
    page.get_by_label("Search in the legend").fill("session")
    expect(page.locator(".key-table tbody tr:visible")).to_have_count(1)


def test_several_queries_share_a_panel_with_two_axes(page: Page) -> None:
    shows = [{"query": "latency", "windows": ["5m every 5s"]}, {"query": "requests", "axis": "right"}]
    units = {"unit": "ms", "right_unit": "req", "right_decimals": 2}
    steps = [{"value": 150, "colour": "bad"}]
    both = {"title": "Both", "kind": "line", "shows": shows, "scale": "log", "thresholds": steps, **units}
    opened(page, "Two axes", [{**both, "w": 6, "h": 19}])
    names = page.locator(".key-table tbody tr button .clip")
    expect(names).to_have_text(["Latency, average", "Requests"])
    newest = page.locator(".key-table tbody .newest")
    expect(newest.first).to_have_text(re.compile(r"^\d+\u202fms$"))
    expect(newest.last).to_have_text(re.compile(r"^1\.\d+\u202fM\u202freq$"))
    wait_until_true(page, "!!window.Chart?.getChart(document.querySelector('canvas'))?.scales.right")
    axes = page.evaluate(
        """() => Object.fromEntries(["y", "right"].map((name) => {
            const { type, ticks } = Chart.getChart(document.querySelector("canvas")).scales[name];
            return [name, { type, labels: ticks.map(({ label }) => label) }];
        }))"""
    )
    assert {axis["type"] for axis in axes.values()} == {"logarithmic"}
    assert axes["y"]["labels"][-1].endswith("\u202fms")
    assert axes["right"]["labels"][-1].endswith("\u202freq")
    others = "".join(label for axis in axes.values() for label in axis["labels"][:-1])
    assert "ms" not in others
    assert "req" not in others
    assert red_pixels(page, 150) > 100, "the threshold is drawn where its value is on the left axis"
    assert red_pixels(page, 130) < 30

    page.locator("canvas").focus()
    page.keyboard.press("ArrowLeft")
    tip = page.locator(".hover-card")
    expect(tip.locator(".tip-row", has_text="Requests")).to_contain_text("req")
    expect(tip.locator(".tip-row", has_text="Latency")).to_contain_text("ms")
    page.keyboard.press("t")
    cells = page.locator(".panel-table tbody tr").last.locator("td")
    expect(cells.nth(1)).to_contain_text("ms")
    expect(cells.nth(2)).to_contain_text("req")


def red_pixels(page: Page, value: float) -> int:
    """In the chart's row of pixels at a value of the left axis."""
    found: int = page.evaluate(
        """(value) => {
            const canvas = document.querySelector("canvas");
            const chart = Chart.getChart(canvas);
            const y = Math.round(chart.scales.y.getPixelForValue(value) * chart.currentDevicePixelRatio);
            const { data } = canvas.getContext("2d").getImageData(0, y, canvas.width, 1);
            return Array.from({ length: canvas.width }, (_, x) => data.slice(4 * x, 4 * x + 4))
                .filter(([red, green, , alpha]) => alpha > 100 && red > green + 40).length;
        }""",
        value,
    )
    return found


def test_the_editor_asks_for_the_unit_of_the_right_axis_where_there_is_one(page: Page) -> None:
    key = opened(page, "Right axis", TWO)
    page.locator(".kind-line").hover()
    page.get_by_label("Menu of “A line”").click()
    page.get_by_role("link", name="Edit panel").click()
    unit = page.get_by_label("Unit of the right axis")
    expect(unit).to_be_hidden()
    page.get_by_label("Axis", exact=True).select_option("right")
    unit.fill("req")
    expect(page.locator("#preview .key-table .newest").first).to_contain_text("req")
    page.get_by_role("button", name="Save panel").click()
    page.wait_for_url(f"**/dashboards/{key}/")
    expect(page.locator(".kind-line .key-table .newest").first).to_contain_text("req")


def test_a_chart_is_shown_as_a_table_by_key_and_saved_as_a_picture(page: Page) -> None:
    opened(page, "Table", TWO)
    wait_until_true(page, "document.querySelector('.kind-line canvas')?.millraceSeries?.().length === 3")
    page.locator(".kind-line canvas").focus()
    page.keyboard.press("t")
    table = page.get_by_role("group", name="The values as a table").first
    expect(table.locator("thead th")).to_have_count(4)
    expect(table).to_be_focused()
    page.locator(".kind-line").hover()
    page.get_by_label("Menu of “A line”").click()
    page.get_by_role("button", name="Show as table").first.click()
    expect(table).to_be_hidden()
    page.get_by_label("Menu of “A line”").click()
    with page.expect_download() as download:
        page.locator(".kind-line [data-panel-does=picture]").click()
    assert download.value.suggested_filename == "a-line.png"
    content = download.value.path().read_bytes()
    assert content.startswith(b"\x89PNG")
    assert struct.unpack(">I", content[16:20])[0] > 700


def test_the_editor_previews_what_is_typed_and_says_what_is_wrong(page: Page) -> None:
    key = opened(page, "Edited", TWO)
    page.locator(".kind-line").hover()
    page.get_by_label("Menu of “A line”").click()
    page.get_by_role("link", name="Edit panel").click()
    page.locator("label.choice", has_text="Number").click()
    expect(page.locator("#preview.kind-number .number-block")).to_have_count(3)
    page.locator("label.choice", has_text="1h every 10s").click()
    expect(page.locator("#preview .number-block")).to_have_count(1)
    page.get_by_label("Unit", exact=True).fill("ms")
    expect(page.locator("#preview .big-number small")).to_have_text("ms")
    page.get_by_role("button", name="Add threshold").click()
    page.get_by_label("From this value on").fill("hot")
    expect(page.get_by_text("“hot” is not a number.")).to_be_visible()
    expect(page.locator("#preview .number-block")).to_have_count(1)
    page.get_by_label("From this value on").fill("1")
    expect(page.locator("#preview .big-number .ink-warn")).to_have_count(1)
    page.get_by_role("button", name="Save panel").click()
    page.wait_for_url(f"**/dashboards/{key}/")
    expect(page.locator(".kind-number")).to_have_count(2)


def test_a_kiosk_has_no_bars_goes_round_and_ends_with_escape(page: Page) -> None:
    first = make_board(page, "Round one", TWO)
    second = make_board(page, "Round two", TWO)
    for key in (first, second):
        call(page, "PATCH", f"/api/dashboards/{key}", {"tags": ["round"]})
    page.goto(f"/dashboards/{first}/?kiosk&every=5&of=tag%3Around")
    expect(page.locator(".shell-side")).to_be_hidden()
    expect(page.locator("#kiosk-clock")).to_have_text(time.strftime("%H:%M"), timeout=3_000)
    page.wait_for_url(f"**/dashboards/{second}/**")
    page.keyboard.press("Escape")
    expect(page.locator(".shell-side")).to_be_visible()
    assert "kiosk" not in page.url
    page.keyboard.press("k")
    expect(page.locator(".shell-side")).to_be_hidden()


def test_keys_lead_to_places_but_not_while_typing(page: Page) -> None:
    page.goto("/dashboards/")
    page.keyboard.press("/")
    page.keyboard.type("gqn")
    assert page.url.endswith("/dashboards/")
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("g")
    page.keyboard.press("q")
    page.wait_for_url("**/queries/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.get_by_label("Single keys are on").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.wait_for_timeout(300)
    assert page.url.endswith("/queries/")


def test_slash_jumps_to_anything_by_its_name(page: Page) -> None:
    make_board(page, "Jump target", TWO)
    page.goto("/queries/")
    page.keyboard.press("/")
    field = page.get_by_role("combobox", name="Search or jump to")
    expect(field).to_be_focused()
    expect(page.get_by_role("option", name="Dashboards")).to_be_visible()
    field.fill("jump tar")
    expect(page.get_by_role("option")).to_have_count(1)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.keyboard.press("Enter")
    page.wait_for_url("**/dashboards/jump-target/")
    page.get_by_role("link", name="Search or jump to").click()
    field.fill("nothing like it")
    expect(page.get_by_text("Nothing matches “nothing like it”.")).to_be_visible()
    field.fill("a")
    expect(page.get_by_role("option").nth(1)).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option").nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()


def test_on_a_phone_panels_stand_in_one_column_and_are_not_moved(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, "Phone", EVERY_KIND)
    page.wait_for_timeout(500)
    boxes = [box.bounding_box() for box in page.locator(".board .panel").all()]
    assert all(box is not None and box["x"] == boxes[0]["x"] and box["width"] > 360 for box in boxes)  # type: ignore[index]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.locator(".board.grid-stack-static")).to_have_count(1)


def test_a_dashboard_is_made_of_a_query_in_one_click_starred_copied_deleted_and_brought_back(
    page: Page,
) -> None:
    page.goto("/queries/latency/")
    page.get_by_role("button", name="Make dashboard").click()
    expect(page.locator(".board.is-laid-out .live-panel").first).to_be_visible()
    wait_until_true(page, "document.querySelector('.kind-line canvas')?.millraceSeries?.().length > 0")
    name = page.locator("#page-title").inner_text()
    page.get_by_role("button", name="Add to favourites").click()
    expect(page.locator(".shell-side").get_by_role("link", name=name)).to_be_visible()

    page.get_by_label("Menu of this dashboard").click()
    page.get_by_role("button", name="Open this one first").click()
    page.goto("/start/")
    expect(page.locator("#page-title")).to_have_text(name)

    panels = page.locator(".board .live-panel").count()
    page.get_by_label("Menu of this dashboard").click()
    page.get_by_role("button", name="Duplicate dashboard").click()
    expect(page.locator("#page-title")).not_to_have_text(name)
    expect(page.locator(".board .live-panel")).to_have_count(panels)

    copy = page.locator("#page-title").inner_text()
    page.wait_for_load_state()
    page.get_by_label("Menu of this dashboard").click()
    page.get_by_role("link", name="Delete dashboard").click()
    page.get_by_role("button", name="Delete dashboard").click()
    expect(page.locator("table.list")).not_to_contain_text(copy)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#page-title")).to_have_text(copy)
    expect(page.locator(".board .live-panel")).to_have_count(panels)


def test_a_template_fills_a_new_dashboard_with_the_queries_of_a_source(page: Page) -> None:
    page.goto("/dashboards/new/")
    page.get_by_label("Name").fill("From a template")
    page.get_by_text("A number and a line for every query.").click()
    page.get_by_role("button", name="Save dashboard").click()
    expect(page.locator(".board.is-laid-out .kind-number").first).to_be_visible()
    expect(page.locator(".board .kind-line").first).to_be_visible()


FIRED = """
from datetime import timedelta
from django.utils import timezone
from dashboard.models import Alert, Evaluation, Firing, SavedQuery
now, regions = timezone.now(), SavedQuery.objects.get(key="regions")
rule = {"computation": "max(ms)", "window": "15s", "condition": "above", "threshold": 400}
alert = Alert.objects.create(query=regions, name="Slow region", **rule)
Evaluation.objects.create(alert=alert, state="firing", firing=1)
for group, value, fired, ended in (("us-east", 731, 180, 120), ("eu-west", 512, 4, None)):
    at = now - timedelta(minutes=fired)
    end = None if ended is None else now - timedelta(minutes=ended)
    Firing.objects.create(
        alert=alert, group=[group], group_key=group, since=at, fired_at=at, value=value, resolved_at=end
    )
"""
ALERT_AT_THE_EDGE = """(canvas) => {
    const ratio = canvas.width / canvas.clientWidth;
    const context = canvas.getContext("2d");
    const [red, green, blue] = context.getImageData(canvas.width - 3 * ratio, 19 * ratio, 1, 1).data;
    return red > green + 60 && red > blue + 60;
}"""
OLD_FIRING = """(canvas) => {
    const chart = Chart.getChart(canvas);
    const note = chart.options.plugins.timeMarks.notes.find(({ text }) => text.includes("us-east"));
    return chart.scales.x.getPixelForValue(note.time);
}"""


def test_alerts_are_marked_on_charts_of_any_range_and_lead_to_their_firings(page: Page, stage: Stage) -> None:
    stage.shell(FIRED)
    charts = [panel("line", "regions", x=0, y=0, w=6, h=19), panel("heat", "regions", x=6, y=0, w=6, h=19)]
    key = opened(page, "Marked", charts)
    for kind in ("line", "heat"):
        canvas = page.locator(f".kind-{kind} canvas")
        expect(canvas).to_have_attribute("aria-label", re.compile("Slow region fires: eu-west, 512"))
        until(lambda drawn=canvas: bool(drawn.evaluate(ALERT_AT_THE_EDGE)), f"the bar on the {kind}")
        expect(canvas).not_to_have_attribute("aria-label", re.compile("us-east, 731"))

    page.goto(f"/dashboards/{key}/?from=now-6h&to=now")
    line = page.locator(".kind-line canvas")
    expect(line).to_have_attribute("aria-label", re.compile("Slow region fires: us-east, 731"))
    expect(page.locator(".kind-heat canvas")).to_have_attribute("aria-label", re.compile("us-east, 731"))
    line.hover(position={"x": line.evaluate(OLD_FIRING), "y": 60})
    expect(page.locator(".kind-line .tip-mark")).to_have_text(re.compile("Slow region fires: us-east, 731"))

    page.locator(".kind-heat .panel-menu summary").click()
    page.locator(".kind-heat").get_by_role("link", name="Alerts 1 firing").click()
    rows = page.locator("#alerts").get_by_role("region", name="Newest firings").locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("still fires")
    rows.first.get_by_role("link", name="Slow region").click()
    expect(page.locator("#alert-now tbody tr")).to_contain_text("eu-west")
