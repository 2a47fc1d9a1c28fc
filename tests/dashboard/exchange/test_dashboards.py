"""Dashboards in files of `export`: they come back as they were, and a second import changes nothing."""

import re

import pytest
import yaml
from django.contrib.auth.models import User

from dashboard.exchange.reading import UnreadableFile, take
from dashboard.exchange.writing import exported
from dashboard.models import Board, Panel, SavedQuery

pytestmark = pytest.mark.django_db


@pytest.fixture
def board(ana: User, hot: SavedQuery) -> Board:
    made = Board.objects.create(slug="plant", name="Plant", owner=ana, tags=["floor"])
    settings = {"unit": "°C", "thresholds": [{"value": 30.0, "colour": "bad"}]}
    Panel.objects.create(board=made, query=hot, title="Hot", x=0, y=0, settings=settings)
    Panel.objects.create(board=made, title="Note", kind="text", x=6, y=0, settings={"text": "# On call\nAna"})
    return made


def test_a_dashboard_comes_back_as_it_was(board: Board) -> None:
    text = exported()
    assert take(text).counts["dashboards"] == {"same": 1}
    Panel.with_deleted.all().delete()
    Board.with_deleted.all().delete()
    assert take(text).counts["dashboards"] == {"added": 1}
    assert exported() == text
    assert take(text).counts["dashboards"] == {"same": 1}


def test_a_panel_that_was_changed_in_the_file_is_changed(board: Board) -> None:
    content = yaml.safe_load(exported())
    content["dashboards"][0]["panels"][0]["title"] = "Hottest"
    assert take(yaml.safe_dump(content)).counts["dashboards"] == {"changed": 1}
    assert [panel.title for panel in board.panels.all()] == ["Hottest", "Note"]


def test_what_the_form_refuses_is_refused_with_its_sentence_and_nothing_is_taken(board: Board) -> None:
    content = yaml.safe_load(exported())
    content["dashboards"][0] |= {"name": "Other"}
    content["dashboards"][0]["panels"][0]["shows"] = [{"query": "gone"}]
    with pytest.raises(UnreadableFile) as refused:
        take(yaml.safe_dump(content))
    said = ", dashboard “Other”, panels: Panel 1, “Hot”: This query no longer exists: choose another."
    assert re.fullmatch(rf"Line \d+{re.escape(said)}", str(refused.value))
    assert Board.objects.get().name == "Plant"
