"""Panels that wrote “%” after percents go on to do so, now that “%” is of a share."""

from importlib import import_module

import pytest
from django.apps import apps

from dashboard.models import Board, Panel, SavedQuery

pytestmark = pytest.mark.django_db


def test_what_stands_on_a_panel_stays_as_it_is(hot: SavedQuery) -> None:
    board = Board.objects.create(slug="first", name="First")
    units = [{"unit": "%", "right_unit": "%"}, {"unit": "ms"}, {}]
    panels = [Panel.objects.create(board=board, query=hot, title="Hot", settings=unit) for unit in units]
    migration = import_module("dashboard.migrations.0013_percents")
    migration.forwards(apps, None)
    for panel in panels:
        panel.refresh_from_db()
    percents = "% (0–100)"
    assert [panel.settings for panel in panels] == [
        {"unit": percents, "right_unit": percents},
        {"unit": "ms"},
        {},
    ]
    migration.backwards(apps, None)
    panels[0].refresh_from_db()
    assert panels[0].settings == units[0]
