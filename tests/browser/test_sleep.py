"""A page that was asleep for longer than the socket tells: the kept past fills the hole."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from playwright.sync_api import Browser, expect

from benchmarks.web.browser import signed_in
from benchmarks.web.stage import stage
from tests.browser.scene import SLIDE_MS, Scene, clock, points, until

pytestmark = pytest.mark.browser

MINUTE = 60_000
THINNED_MS = 30_000  # spans of which an hour has two results each


@pytest.fixture
def scene(browser: Browser) -> Iterator[Scene]:
    with stage() as made:
        made.seed(boards=1, panels=1, slide=1)
        context = signed_in(browser, f"http://127.0.0.1:{made.web()[0]}", made.made["session"])
        scene = Scene(made, context.new_page())
        made.start("manage.py", "runhistory")
        yield scene
        context.close()
        scene.job.stop()


def kept_until(scene: Scene, low: int, high: int) -> int:
    """The newest result between these times that the server has written down."""
    (query,) = scene.made.made["boards"][0]["queries"]
    answer = scene.page.context.request.get(f"/history/?from={low}&to={high}&queries={query['key']}")
    return int(answer.json()[query["key"]]["last"] or 0)


def test_after_a_day_asleep_the_hole_is_filled_from_the_kept_past(scene: Scene) -> None:
    page, now = scene.page, clock() // SLIDE_MS * SLIDE_MS
    fell_asleep = now - 25 * MINUTE
    for end in range(now - 45 * MINUTE, fell_asleep, SLIDE_MS):
        scene.job.tell(end, 10.0)
    page.clock.install()
    page.goto("/dashboards/board-0/?from=now-1h&to=now")
    until(lambda: newest(scene) == fell_asleep - SLIDE_MS, "the results before")

    page.context.set_offline(True)
    expect(page.locator(".strip-line")).to_contain_text("Reconnecting.", timeout=40_000)
    for end in range(fell_asleep, now, SLIDE_MS):
        scene.job.tell(end, 10.0)
    until(lambda: kept_until(scene, fell_asleep, now) >= now - SLIDE_MS, "a kept past", 60.0)
    assert newest(scene) == fell_asleep - SLIDE_MS, "the page has heard of nothing"
    page.clock.fast_forward("24:00:00")
    page.context.set_offline(False)

    until(lambda: newest(scene) == now - SLIDE_MS, "the newest result", 60.0)
    until(lambda: widest_hole(scene) <= 2 * THINNED_MS, "that the hole is filled")
    ends = [end for end, _, _ in points(page)]
    assert len(ends) == len(set(ends)), "nothing is there twice"
    assert ends[0] <= now - 44 * MINUTE
    expect(page.locator(".strip-line")).not_to_contain_text("Reconnecting.")


def newest(scene: Scene) -> int | None:
    drawn = points(scene.page)
    return int(drawn[-1][0]) if drawn else None


def widest_hole(scene: Scene) -> int:
    return max(after[0] - before[0] for before, after in pairwise(points(scene.page)))
