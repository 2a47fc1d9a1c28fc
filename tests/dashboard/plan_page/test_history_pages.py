"""Plan history: who or what caused each version, what it changed, and the way back."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.models import SavedQuery, Source
from dashboard.planning.service import adopt, newest, replan

pytestmark = pytest.mark.django_db


@pytest.fixture
def twice(hot: SavedQuery, sensors: Source, ana: User) -> Source:
    replan(sensors, "Ana added “Hot devices”")
    adopt(sensors, "no_share", 1, ana)
    return sensors


def test_every_version_says_its_cause_and_what_changed(as_ana: Client, twice: Source) -> None:
    page = as_ana.get("/plan/sensors/history/").content.decode()
    for words in ("Plan 2", "Ana adopted No share", "moved from tree 1", "Plan 1", "Ana added “Hot devices”"):
        assert words in page
    assert page.index("Plan 2") < page.index("Plan 1")


def test_a_source_without_a_plan_has_an_empty_history(as_ana: Client, sensors: Source) -> None:
    assert "No plan for sensors yet." in as_ana.get("/plan/sensors/history/").content.decode()


def test_a_version_is_shown_in_words_and_as_a_picture(as_ana: Client, twice: Source) -> None:
    page = as_ana.get("/plan/sensors/history/2/").content.decode()
    assert "What changed since plan 1" in page
    assert "change-band is-move" in page
    assert "Go back to this plan" not in page  # it is the newest
    assert "The first plan" in as_ana.get("/plan/sensors/history/1/").content.decode()
    assert as_ana.get("/plan/sensors/history/3/").status_code == 404


def test_the_way_back_is_shown_before_it_is_gone(as_ana: Client, twice: Source) -> None:
    preview = as_ana.get("/plan/sensors/history/1/back/").content.decode()
    assert "Go back to plan 1" in preview
    assert "What it means for each window" in preview
    assert len(newest(twice).value().trees) == 2  # type: ignore[union-attr]
    answer = as_ana.post("/plan/sensors/history/1/go-back/", follow=True).content.decode()
    assert "Plan 3 has the trees of plan 1." in answer
    assert len(newest(twice).value().trees) == 1  # type: ignore[union-attr]


def test_an_older_plan_says_which_queries_it_needs_and_offers_to_restore_them(
    as_ana: Client, as_bo: Client, twice: Source, hot: SavedQuery
) -> None:
    title = "Queries that plan 1 had and that do not run as they did"
    assert title not in as_ana.get("/plan/sensors/history/1/").content.decode()
    as_ana.post(f"/bin/query/delete/?key={hot.key}")
    page = as_ana.get("/plan/sensors/history/1/").content.decode()
    assert title in page
    assert f'name="key" value="{hot.key}" checked' in page
    assert (
        "“Hot devices” is in the bin: Ana can restore it."
        in as_bo.get("/plan/sensors/history/1/").content.decode()
    )
    back = as_ana.post("/bin/query/restore/", {"key": hot.key, "next": "/plan/sensors/history/1/back/"})
    assert back.headers["Location"] == "/plan/sensors/history/1/back/"
    assert len(newest(twice).value().all_queries) == 2  # type: ignore[union-attr]
    assert title not in as_ana.get("/plan/sensors/history/1/back/").content.decode()
    as_ana.post("/queries/bulk/?do=pause", {"key": hot.key})
    assert "is paused: resume it" in as_ana.get("/plan/sensors/history/1/").content.decode()
    as_ana.post("/queries/bulk/?do=resume", {"key": hot.key})
    hot.refresh_from_db()
    hot.windows = [{"range": "1h", "slide": "1h"}]
    hot.save()
    assert "was changed since" in as_ana.get("/plan/sensors/history/1/").content.decode()
    as_ana.post(f"/bin/query/delete/?key={hot.key}")
    as_ana.post(f"/bin/query/delete-for-good/?key={hot.key}")
    assert "1 query was deleted for good." in as_ana.get("/plan/sensors/history/1/").content.decode()


def test_restoring_leads_to_no_other_site(as_ana: Client, twice: Source, hot: SavedQuery) -> None:
    as_ana.post(f"/bin/query/delete/?key={hot.key}")
    answer = as_ana.post("/bin/query/restore/", {"key": hot.key, "next": "https://elsewhere.example/"})
    assert answer.headers["Location"] == hot.get_absolute_url()


def test_others_do_not_go_back(as_bo: Client, twice: Source) -> None:
    assert as_bo.post("/plan/sensors/history/1/go-back/").status_code == 403
    assert "Go back to this plan" not in as_bo.get("/plan/sensors/history/1/").content.decode()


def test_long_histories_come_in_pages(as_ana: Client, hot: SavedQuery, sensors: Source) -> None:
    for number in range(23):
        replan(sensors, f"cause {number}")
    first = as_ana.get("/plan/sensors/history/").content.decode()
    assert "Page 1 of 2" in first
    assert "cause 22" in first
    second = as_ana.get("/plan/sensors/history/?page=2").content.decode()
    assert "cause 0" in second
    assert "The same trees." in second
