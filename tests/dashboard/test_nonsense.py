"""Every page answers nonsense in its address with a sentence, never with an error of ours."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from dashboard.models import Board, Panel, SavedQuery
from tests.dashboard.accounts.test_every_role import ALL, OTHERS, addressed

NONSENSE = (
    "",
    "nonsense",
    "-1",
    "9" * 30,
    "9" * 5_000,
    "1e999",
    "NaN",
    "²",
    "\0",
    "\ud800",
    "null",
    "{}",
    '[["\\ud800"]]',
    "[[1e999]]",
    f"[[{'9' * 400}]]",
    "[" * 20_000,
    "now-1M",
    "../../etc/passwd",
    "'\" OR 1=1 --",
)
WORST = ("9" * 5_000, "[" * 20_000)
READS = re.compile(r"""GET(?:\.get|\.getlist)?[(\[]\s*["'](\w+)["']""")
NAMES = sorted(
    {
        name
        for path in Path(settings.BASE_DIR, "dashboard").rglob("*.py")
        for name in READS.findall(path.read_text())
    }
    | {"to", "from", "days", "person", "kind", "partition", "before", "after", "offset", "limit"}
)
NAMED = re.compile(
    r"""\bname=["'](\w+)["']|POST(?:\.get|\.getlist)?[(\[]\s*["'](\w+)["']|^    (\w+) = (?:forms\.|Line)""",
    re.M,
)
FIELDS = sorted(
    {
        name
        for room, kind in (("dashboard", "*.py"), ("templates", "*.html"))
        for path in Path(settings.BASE_DIR, room).rglob(kind)
        for found in NAMED.findall(path.read_text())
        for name in found
        if name
    }
)
PAGES = [one for one in ALL if not one.startswith("api/") and not OTHERS.match(one)]
OF_MESSAGES = re.compile(
    r"sources/<slug:\w+>/(?!access)"
)  # asks a broker: tests/dashboard/sources looks at those


@pytest.fixture
def things(hot: SavedQuery, ana: object) -> None:
    board = Board.objects.create(slug="plant", name="Plant floor", owner=ana)
    Panel.objects.create(board=board, query=hot, title="Secret title")


def address_of(route: str, hot: SavedQuery) -> str:
    return addressed(route, hot) if "<" in route and "/<" in route else "/" + re.sub(r"<[^>]+>", "1", route)


@pytest.mark.parametrize("route", [one for one in PAGES if not OF_MESSAGES.match(one)])
def test_a_page_with_nonsense_in_its_address(
    things: None, hot: SavedQuery, as_ada: Client, route: str
) -> None:
    as_ada.raise_request_exception = False
    for value in WORST:
        answer = as_ada.get(
            address_of(route, hot), dict.fromkeys(NAMES, value.encode("utf-8", "surrogatepass"))
        )
        assert answer.status_code < 500, value[:40]


@pytest.mark.parametrize("route", PAGES)
def test_a_form_with_nonsense_in_its_fields(
    things: None, hot: SavedQuery, as_ada: Client, route: str
) -> None:
    as_ada.raise_request_exception = False
    for value in ("", *WORST):
        sent = value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        answer = as_ada.post(address_of(route, hot), dict.fromkeys(FIELDS, sent))
        assert answer.status_code < 500, value[:40]


@pytest.mark.parametrize("name", ["queries", "from", "to", "top", "groups", "windows"])
def test_history_with_one_thing_wrong(things: None, hot: SavedQuery, as_ada: Client, name: str) -> None:
    as_ada.raise_request_exception = False
    good = {"queries": hot.key, "from": "0", "to": "1000", "top": "5", "groups": '[["a"]]', "windows": '[""]'}
    assert as_ada.get("/history/", good).status_code == 200
    for value in NONSENSE:
        typed = value.encode("utf-8", "surrogatepass")
        for address in (
            "/history/",
            f"/history/{hot.key}/results.csv",
            f"/history/{hot.key}/marks/",
            "/dashboards/plant/marks/",
        ):
            answer = as_ada.get(address, good | {name: typed})
            assert answer.status_code in (200, 404, 422), (address, value[:40])
