"""Every change of a query leaves a version: who, when, what; and there is a way back."""

from django.contrib.auth.models import User
from django.test import Client

from dashboard.models import PlanVersion, SavedQuery

TYPED = {
    "name": "Hotter",
    "source": "sensors",
    "aggregate": "min",
    "field": "temp",
    "windows": "1m, 5m every 10s",
    "group_by": ["device"],
    "where": "temp > 3",
}


def test_a_change_makes_a_version_that_says_who_changed_what(
    as_ana: Client, hot: SavedQuery, ana: User
) -> None:
    as_ana.post(f"/queries/{hot.key}/edit/", TYPED)
    newest, first = hot.versions.all()
    assert (newest.number, newest.person, first.number) == (2, ana, 1)
    page = as_ana.get(f"/queries/{hot.key}/versions/")
    assert page.context["listed"][0].changes == [
        ("Name", "Hot devices", "Hotter"),
        ("Computes", "max of temp", "min of temp"),
        ("Filter", "none", "temp > 3"),
    ]
    assert "First version" in page.content.decode()
    assert f"/queries/{hot.key}/versions/" in as_ana.get(hot.get_absolute_url()).content.decode()


def test_what_is_no_change_of_the_query_makes_no_version(as_ana: Client, hot: SavedQuery) -> None:
    as_ana.post(f"/queries/{hot.key}/tags/", {"tags": "plant"})
    as_ana.post("/queries/bulk/?do=pause", {"key": hot.key})
    as_ana.post(f"/bin/query/delete/?key={hot.key}")
    as_ana.post(f"/bin/query/restore/?key={hot.key}")
    assert hot.versions.count() == 1


def test_going_back_makes_the_query_what_it_was_with_a_new_plan(as_ana: Client, hot: SavedQuery) -> None:
    before = hot.spec()
    as_ana.post(f"/queries/{hot.key}/edit/", TYPED)
    page = as_ana.post(f"/queries/{hot.key}/versions/1/restore/", follow=True).content.decode()
    assert "“Hot devices” is as in version 1 again." in page
    hot.refresh_from_db()
    assert hot.spec() == before
    assert hot.versions.first().number == 3
    assert {one.id for one in PlanVersion.objects.first().value().queries} == {
        one.id for one in hot.queries()
    }


def test_a_version_that_fits_no_more_is_not_restored(as_ana: Client, hot: SavedQuery) -> None:
    as_ana.post(f"/queries/{hot.key}/edit/", {**TYPED, "aggregate": "count", "field": "", "where": ""})
    hot.source.schema = [["ts", "integer"], ["device", "text"]]
    hot.source.save()
    page = as_ana.post(f"/queries/{hot.key}/versions/1/restore/", follow=True).content.decode()
    assert "Version 1 does not fit the fields of “sensors” any more: " in page
    assert hot.versions.count() == 2


def test_a_teammate_sees_versions_and_restores_none(as_bo: Client, as_ana: Client, hot: SavedQuery) -> None:
    as_ana.post(f"/queries/{hot.key}/edit/", TYPED)
    page = as_bo.get(f"/queries/{hot.key}/versions/").content.decode()
    assert "Hotter" in page
    assert "Restore" not in page
    assert as_bo.post(f"/queries/{hot.key}/versions/1/restore/").status_code == 403


def test_the_api_lists_versions_and_goes_back(as_ana: Client, hot: SavedQuery) -> None:
    as_ana.post(f"/queries/{hot.key}/edit/", TYPED)
    newest, first = as_ana.get(f"/api/queries/{hot.key}/versions").json()
    assert (newest["number"], newest["by"], first["changes"]) == (2, "ana", [])
    assert ["Name", "Hot devices", "Hotter"] in newest["changes"]
    back = as_ana.post(f"/api/queries/{hot.key}/versions/1/restore")
    assert back.json()["name"] == "Hot devices"
    assert as_ana.post(f"/api/queries/{hot.key}/versions/9/restore").json() == {
        "problem": "“Hot devices” has no version 9."
    }
