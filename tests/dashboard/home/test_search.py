"""Search or jump to: by name, best matches first, and never what its reader may not see."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.accounts.levels import NOTHING
from dashboard.home.finding import found
from dashboard.models import Board, SavedQuery, Source

pytestmark = pytest.mark.django_db


def names(person: User, asked: str) -> list[str]:
    return [one.name for one in found(person, asked)]


def test_before_anything_is_asked_there_are_the_places(ana: User, vera: User, ada: User) -> None:
    assert names(ana, "")[:6] == ["Home", "Dashboards", "Queries", "Sources", "Plan", "Alerts"]
    assert "New query" in names(ana, "")
    assert "New query" not in names(vera, "")
    assert "People" in names(ada, "")
    assert "People" not in names(ana, "")


def test_things_are_found_by_name_tag_topic_and_kind(ana: User, hot: SavedQuery, sensors: Source) -> None:
    Board.objects.create(slug="floor", name="Plant floor", tags=["on-call"])
    assert hot.name in names(ana, hot.name[:4].upper())
    assert names(ana, "on-call") == ["Plant floor"]
    assert sensors.name in names(ana, "sensors source")
    assert names(ana, "no such thing") == []


def test_names_that_begin_with_it_come_first(ana: User) -> None:
    for slug, name in (("a", "All of the plant"), ("b", "Implant"), ("c", "Plant floor")):
        Board.objects.create(slug=slug, name=name)
    assert names(ana, "plant") == ["Plant floor", "All of the plant", "Implant"]


def test_what_somebody_may_not_see_is_not_found(bo: User, ana: User, hot: SavedQuery) -> None:
    Source.objects.update(for_all=NOTHING)
    assert hot.name in names(ana, hot.name)
    assert names(bo, hot.name) == []
    assert names(bo, "sensors source") == []


def test_a_script_gets_the_lines_alone_and_a_person_the_page(as_ana: Client) -> None:
    lines = as_ana.get("/search/?q=quer", headers={"HX-Request": "true"}).content.decode()
    assert 'href="/queries/"' in lines
    assert "<html" not in lines
    page = as_ana.get("/search/?q=%3Cb%3Eno").content.decode()
    assert "<html" in page
    assert "Nothing matches “&lt;b&gt;no”." in page
