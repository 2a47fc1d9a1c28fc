"""The past over the web: for charts, as a file, by a link; notes and policies."""

import csv
import gzip
import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client, override_settings
from django.utils import timezone

from dashboard.accounts.levels import NOTHING
from dashboard.models import Alert, Board, Firing, HistoryPolicy, Note, Panel, SavedQuery, ShareLink, Source
from dashboard.past.known import known_windows
from dashboard.past.links import make_link, revoke
from dashboard.past.writing import Writer
from dashboard.queries.actions import change_query
from tests.dashboard.live.messages import block

END = 1_800_000_000_000
RANGE = {"from": END - 1_800_000, "to": END + 1_800_000}
pytestmark = pytest.mark.django_db


@pytest.fixture
def kept(hot: SavedQuery) -> SavedQuery:
    """Two results of three devices, in two windows."""
    writer = Writer("results")
    assert writer.claim() == 0
    for window in ("1m/10s", "5m/10s"):
        for at in range(2):
            values = {("d1",): 1.5 + at, ("=d2",): 7.0, ("d3",): float("nan")}
            writer.take([block(END + at * 10_000, values, query=f"{hot.key}@{window}")])
    writer.flush(4, known_windows())
    return hot


@pytest.fixture
def hall(hot: SavedQuery, ana: User) -> Board:
    board = Board.objects.create(slug="hall", name="Hall", owner=ana)
    Panel.objects.create(board=board, query=hot, title="Hot devices")
    return board


def past(client: Client, query: SavedQuery, base: str = "", **asked: str) -> dict[str, Any]:
    told: dict[str, Any] = client.get(f"{base}/history/", {**RANGE, "queries": query.key, **asked}).json()
    assert list(told) == [query.key]
    answer: dict[str, Any] = told[query.key]
    return answer


def test_a_chart_gets_the_groups_with_the_greatest_results(kept: SavedQuery, as_bo: Client) -> None:
    told = past(as_bo, kept, top="2")
    assert [(one["id"], one["group"]) for one in told["series"]] == [
        ("1m/10s|=d2", ["=d2"]),
        ("1m/10s|d1", ["d1"]),
    ]
    assert told["series"][1]["ends"] == [END, 10_000]
    assert told["series"][1]["values"] == [1.5, 2.5]
    assert (told["groups"], told["series"][0]["step"]) == (3, 0)
    assert told["last"] == END + 10_000
    assert told["written_at"] is not None


def test_a_chart_may_ask_for_certain_groups(kept: SavedQuery, as_bo: Client) -> None:
    told = past(as_bo, kept, groups='[["d3"], ["d9"]]')
    assert [one["group"] for one in told["series"]] == [["d3"]]
    assert told["series"][0]["values"] == [None, None]


def test_a_page_asks_for_all_its_queries_at_once_and_gets_those_that_may_be_seen(
    kept: SavedQuery, as_bo: Client, ana: User
) -> None:
    counts = {"computations": [{"aggregate": "count"}], "windows": [{"range": "1m"}]}
    other = SavedQuery.objects.create(source=kept.source, name="Other", **counts)
    connection = kept.source.connection
    hidden = Source.objects.create(
        key="hidden", name="Hidden", topic="t", connection=connection, created_by=ana, for_all=NOTHING
    )
    secret = SavedQuery.objects.create(source=hidden, name="Secret", **counts)
    asked = {**RANGE, "queries": f"{kept.key},{other.key},{secret.key},nothing"}
    answer = as_bo.get("/history/", asked)
    packed = as_bo.get("/history/", asked, headers={"accept-encoding": "br, gzip"})
    assert packed["Content-Encoding"] == "gzip" and gzip.decompress(packed.content) == answer.content
    told = answer.json()
    assert set(told) == {kept.key, other.key}
    assert told[kept.key]["series"] and not told[other.key]["series"]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"from": "now-15m"}, "“from” must be a time in milliseconds since 1970."),
        ({"to": "9" * 20}, "“to” must be a time in milliseconds since 1970."),
        ({"from": END + 7_200_000}, "The range ends before it begins."),
        ({"top": "51"}, "“top” must be a number from 1 to 50."),
        ({"top": "²"}, "“top” must be a number from 1 to 50."),
        ({"queries": ""}, "“queries” must name 1 to 200 queries, with commas between them."),
        ({"queries": "a," * 201}, "“queries” must name 1 to 200 queries, with commas between them."),
        ({"groups": "d1"}, "“groups” must be a list as JSON."),
        ({"groups": '[{"a": 1}]'}, "“groups” must be a list of at most 50 groups as JSON."),
        ({"groups": "[[[]]]"}, "“groups” must be a list of at most 50 groups as JSON."),
    ],
)
def test_an_address_that_makes_no_sense_is_refused_in_words(
    asked: dict[str, str], sentence: str, kept: SavedQuery, as_bo: Client
) -> None:
    answer = as_bo.get("/history/", {**RANGE, "queries": kept.key, **asked})
    assert (answer.status_code, answer.json()) == (422, {"problem": sentence})


def test_the_file_has_every_result_of_every_window_and_group(kept: SavedQuery, as_bo: Client) -> None:
    answer = as_bo.get(f"/history/{kept.key}/results.csv", RANGE)
    assert answer["Content-Disposition"] == 'attachment; filename="hot-devices.csv"'
    rows = list(csv.reader(io.StringIO(b"".join(answer.streaming_content).decode())))  # type: ignore[attr-defined]
    assert rows[0] == ["window_end", "window", "computation", "device", "value", "detail"]
    assert len(rows) == 1 + 2 * 2 * 3
    assert rows[1] == ["2027-01-15T08:00:00.000+00:00", "1m/10s", "max of temp", "'=d2", "7.0", "full"]
    assert ["2027-01-15T08:00:10.000+00:00", "5m/10s", "max of temp", "d1", "2.5", "full"] in rows
    assert {row[4] for row in rows[1:] if row[3] == "d3"} == {""}


def lines_of(answer: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))


def panel_address(board: Board) -> str:
    return f"/dashboards/{board.slug}/panels/{board.panels.get().pk}/results.csv"


def test_the_file_of_a_panel_has_what_it_shows(
    kept: SavedQuery, hall: Board, ana: User, as_bo: Client, stranger: Client
) -> None:
    other = SavedQuery.objects.create(
        source=kept.source, name="=Other", computations=[{"aggregate": "count"}], windows=[{"range": "1m"}]
    )
    writer = Writer("further results")
    writer.claim()
    writer.take([block(END, {(): 4.0}, query=one.id) for one in other.queries()])
    writer.flush(5, known_windows())
    panel = hall.panels.get()
    panel.shows = [{"query": kept.key, "windows": ["5m every 10s"]}, {"query": other.key}]
    panel.save()
    answer = as_bo.get(panel_address(hall), RANGE)
    assert answer["Content-Disposition"] == 'attachment; filename="hot-devices.csv"'
    rows = lines_of(answer)
    assert list(rows[0]) == ["query", "window_end", "window", "computation", "device", "value", "detail"]
    shown = {(row["query"], row["window"]) for row in rows}
    assert shown == {("Hot devices", "5m/10s"), ("'=Other", "1m/1m")}
    assert [row["device"] for row in rows if row["query"] == "'=Other"] == [""]
    assert lines_of(as_bo.get(panel_address(hall), {"from": 0, "to": 10})) == []
    _, token = make_link(hall, ana, "", timezone.now() + timedelta(days=1))
    assert lines_of(stranger.get(f"/shared/{token}/panels/{panel.pk}/results.csv", RANGE)) == rows


def test_the_file_of_a_panel_by_groups_has_the_window_that_is_shown(
    kept: SavedQuery, hall: Board, as_bo: Client
) -> None:
    assert {row["window"] for row in lines_of(as_bo.get(panel_address(hall), RANGE))} == {"1m/10s"}
    switched = as_bo.get(panel_address(hall), {**RANGE, "window": "5m every 10s"})
    assert {row["window"] for row in lines_of(switched)} == {"5m/10s"}


def test_the_file_of_a_panel_has_nothing_of_a_query_that_one_may_not_see(
    kept: SavedQuery, hall: Board, as_ana: Client, as_bo: Client
) -> None:
    Source.objects.update(for_all=NOTHING)
    refused = as_bo.get(panel_address(hall), RANGE)
    assert refused.status_code == 403
    assert "Ana owns it and can give you access." in refused.content.decode()
    assert lines_of(as_ana.get(panel_address(hall), RANGE))


def test_a_file_of_a_range_without_results_has_its_heading(kept: SavedQuery, as_bo: Client) -> None:
    answer = as_bo.get(f"/history/{kept.key}/results.csv", {"from": 0, "to": 10})
    assert b"".join(answer.streaming_content).count(b"\n") == 1  # type: ignore[attr-defined]


def test_a_note_is_seen_by_all_and_removed_by_who_wrote_it(
    hall: Board, as_ana: Client, as_bo: Client
) -> None:
    made = as_bo.post("/dashboards/hall/notes/", {"time": END, "text": "Deployed 4.2"})
    assert made.status_code == 201
    seen = as_ana.get("/dashboards/hall/marks/", RANGE).json()["notes"]
    assert [(note["time"], note["text"], note["by"], note["mine"]) for note in seen] == [
        (END, "Deployed 4.2", "Bo", False)
    ]
    address = f"/dashboards/hall/notes/{seen[0]['id']}/remove/"
    refused = as_ana.post(address)
    assert (refused.status_code, refused.json()) == (403, {"problem": "Only who wrote a note may remove it."})
    assert as_bo.post(address).status_code == 204
    assert not Note.objects.exists()


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"time": "noon", "text": "x"}, "Say at which time the note belongs."),
        ({"time": END, "text": "  "}, "Write something."),
        ({"time": END, "text": "x" * 141}, "Keep it to 140 characters."),
    ],
)
def test_a_note_without_time_or_words_is_refused(
    fields: dict[str, str], sentence: str, hall: Board, as_ana: Client
) -> None:
    answer = as_ana.post("/dashboards/hall/notes/", fields)
    assert (answer.status_code, answer.json()) == (422, {"problem": sentence})


def test_plans_and_edits_are_marked_each_once(hall: Board, hot: SavedQuery, ana: User, as_bo: Client) -> None:
    change_query(hot, hot.spec(), ana)
    change_query(hot, replace(hot.spec(), where="temp > 20"), ana)
    now = int(timezone.now().timestamp() * 1000)
    asked = {"from": now - 60_000, "to": now + 60_000}
    marks = as_bo.get("/dashboards/hall/marks/", asked).json()["queries"][hot.key]
    assert [text for _, text in marks] == ["Plan 1", "Ana: filter changed"]
    assert as_bo.get("/dashboards/hall/marks/", {"from": 0, "to": 1}).json()["queries"] == {hot.key: []}


def fired(query: SavedQuery, at: int, until: int | None, name: str = "Too hot", **more: Any) -> None:
    """By a device, at 83.1."""
    rule = {"computation": "max(temp)", "window": "1m/10s", "condition": "above"}
    alert = Alert.objects.create(query=query, name=name, **rule, **more)
    moments = [None if one is None else datetime.fromtimestamp(one / 1000, UTC) for one in (at, at, until)]
    times = dict(zip(("since", "fired_at", "resolved_at"), moments))
    Firing.objects.create(alert=alert, group=["d1"], group_key='["d1"]', value=83.1, **times)


def firings(client: Client, address: str, **asked: int) -> dict[str, list[tuple[int, int | None, str]]]:
    told = client.get(address, {**RANGE, **asked}).json()["firings"]
    return {key: [(one["time"], one["until"], one["text"]) for one in marks] for key, marks in told.items()}


def test_charts_of_any_range_mark_when_alerts_fired_and_for_how_long(
    hall: Board, hot: SavedQuery, as_bo: Client, stranger: Client, ana: User
) -> None:
    day = 86_400_000
    fired(hot, END - 40 * day, END - 39 * day)
    fired(hot, END - 60_000, END, name="Hotter")
    fired(hot, END, None, name="Deleted", deleted_at=timezone.now())
    recent = [(END - 60_000, END, "Hotter fires: d1, 83.1"), (END, END, "Hotter recovers: d1")]
    _, token = make_link(hall, ana, "", timezone.now() + timedelta(days=1))
    for who, address in (
        (as_bo, "/dashboards/hall/marks/"),
        (as_bo, f"/history/{hot.key}/marks/"),
        (stranger, f"/shared/{token}/marks/"),
    ):
        assert firings(who, address) == {hot.key: recent}
    begun = firings(as_bo, "/dashboards/hall/marks/", **{"from": END - 39 * day - 5, "to": END - 38 * day})
    assert begun == {
        hot.key: [
            (END - 40 * day, END - 39 * day, "Too hot fires: d1, 83.1"),
            (END - 39 * day, END - 39 * day, "Too hot recovers: d1"),
        ]
    }


def test_firings_of_a_query_that_one_may_not_see_are_not_marked(
    hall: Board, hot: SavedQuery, as_bo: Client
) -> None:
    fired(hot, END, None)
    Source.objects.update(for_all=NOTHING)
    assert firings(as_bo, "/dashboards/hall/marks/") == {}
    assert as_bo.get(f"/history/{hot.key}/marks/", RANGE).status_code == 403


def test_the_owner_says_how_long_results_are_kept(hot: SavedQuery, as_ana: Client, as_bo: Client) -> None:
    address = f"/history/{hot.key}/policy/"
    assert as_bo.post(address, {"detail_days": 3, "kept_days": 90}).status_code == 403
    as_ana.post(address, {"detail_days": 3, "kept_days": 90})
    as_ana.post(address, {"detail_days": 9, "kept_days": 5})
    policy = HistoryPolicy.objects.get(query=hot)
    assert (policy.detail_days, policy.kept_days) == (3, 90)
    page = as_ana.get(f"/queries/{hot.key}/").content.decode()
    assert 'name="detail_days" type="number" min="1" max="3650" value="3"' in page
    assert "at least as long as full detail" in page
    assert "the thinned past for 90" in as_bo.get(f"/queries/{hot.key}/").content.decode()


def test_a_link_shows_the_dashboard_and_nothing_else(
    hall: Board, kept: SavedQuery, as_ana: Client, stranger: Client
) -> None:
    page = as_ana.post("/dashboards/hall/share/", {"label": "the hall", "days": "7"}).content.decode()
    token = page.split("/shared/")[1].split("/")[0]
    assert token not in as_ana.get("/dashboards/hall/share/").content.decode()
    shown = stranger.get(f"/shared/{token}/")
    assert shown.status_code == 200
    assert "Hot devices" in shown.content.decode()
    assert "side-link" not in shown.content.decode()
    assert shown["Content-Security-Policy"].endswith("; frame-ancestors 'self'")
    assert shown["Referrer-Policy"] == "no-referrer"
    assert past(stranger, kept, f"/shared/{token}")["series"]
    panel = f"panels/{hall.panels.get().pk}/results.csv"
    assert stranger.get(f"/shared/{token}/{panel}", RANGE).status_code == 200
    assert stranger.get(f"/shared/{token}/marks/", RANGE).json()["notes"] == []
    other = SavedQuery.objects.create(
        source=kept.source, name="Other", computations=[{"aggregate": "count"}], windows=[{"range": "1m"}]
    )
    both = {**RANGE, "queries": f"{kept.key},{other.key}"}
    assert list(stranger.get(f"/shared/{token}/history/", both).json()) == [kept.key]
    elsewhere = Board.objects.create(slug="elsewhere", name="Elsewhere")
    unshared = Panel.objects.create(board=elsewhere, query=other, title="Other")
    assert stranger.get(f"/shared/{token}/panels/{unshared.pk}/results.csv", RANGE).status_code == 404
    assert stranger.get("/dashboards/hall/").status_code == 302
    revoke(ShareLink.objects.get())
    for address in ("", "history/", panel, "marks/"):
        assert stranger.get(f"/shared/{token}/{address}", RANGE).status_code == 404
    assert "This link has ended." in stranger.get(f"/shared/{token}/").content.decode()


def test_a_link_ends_by_itself_and_with_whom_it_came_from(hall: Board, ana: User, stranger: Client) -> None:
    _, old = make_link(hall, ana, "", timezone.now() - timedelta(seconds=1))
    assert stranger.get(f"/shared/{old}/").status_code == 404
    _, token = make_link(hall, ana, "", timezone.now() + timedelta(days=1))
    assert stranger.get(f"/shared/{token}/").status_code == 200
    ana.is_active = False
    ana.save()
    assert stranger.get(f"/shared/{token}/").status_code == 404


def test_links_are_made_and_revoked_by_who_may_change_the_dashboard(
    hall: Board, ana: User, as_ana: Client, as_bo: Client
) -> None:
    assert as_bo.post("/dashboards/hall/share/", {"days": "7"}).status_code == 403
    link, _ = make_link(hall, ana, "the hall", timezone.now() + timedelta(days=1))
    assert as_bo.post(f"/dashboards/hall/share/{link.pk}/revoke/").status_code == 403
    assert as_ana.post("/dashboards/hall/share/", {"days": "9999"}).status_code == 422
    assert as_ana.post(f"/dashboards/hall/share/{link.pk}/revoke/").status_code == 302
    link.refresh_from_db()
    assert link.revoked_at is not None
    assert "revoked" in as_ana.get("/dashboards/hall/share/").content.decode()


def test_only_origins_of_the_administrators_choice_may_embed(
    hall: Board, ana: User, stranger: Client
) -> None:
    _, token = make_link(hall, ana, "", timezone.now() + timedelta(days=1))
    with override_settings(EMBED_ORIGINS=["https://intranet.example.org"]):
        shown = stranger.get(f"/shared/{token}/")
    policy = shown["Content-Security-Policy"]
    assert policy.endswith("; frame-ancestors 'self' https://intranet.example.org")
    assert "X-Frame-Options" not in shown
    assert stranger.get("/sign-in/")["X-Frame-Options"] == "DENY"


def test_a_dashboard_asks_for_its_modules_at_once(hall: Board, as_ana: Client) -> None:
    page = as_ana.get("/dashboards/hall/").content.decode()
    for module in ("main", "panel", "series"):
        assert f'<link rel="modulepreload" href="{settings.STATIC_URL}js/live/{module}.js">' in page
