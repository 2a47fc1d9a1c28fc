"""Whatever is sent to the API, as it is described or against that, no call fails."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as how
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from dashboard.accounts.tokens import make_token
from dashboard.api.api import described
from dashboard.bin.actions import delete
from dashboard.models import Alert, Board, Note, Panel, SavedQuery
from dashboard.past.links import make_link
from dashboard.queries.backtests import BackTest

EXAMPLES_OF_EACH_CALL = 15
CHECKS = [not_a_server_error, response_schema_conformance, status_code_conformance]
CALLS = [(method, path) for path, operations in described()["paths"].items() for method in operations]
SHAPES = schemathesis.openapi.from_dict(json.loads(json.dumps(described())))
SHAPES.app = get_wsgi_application()


@pytest.fixture(autouse=True)
def own_folder(settings: LazySettings, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path


@pytest.fixture(autouse=True)
def same_connection() -> Iterator[None]:
    """Between two requests the database is not closed, which would end the test's transaction."""
    request_started.disconnect(close_old_connections)
    request_finished.disconnect(close_old_connections)
    yield
    request_started.connect(close_old_connections)
    request_finished.connect(close_old_connections)


def ended_backtest(query: SavedQuery, person: User) -> BackTest:
    """One that is done and has a result."""
    test = BackTest.ask(query.source, query.spec(), person)
    figures = dict.fromkeys(("messages", "malformed", "late", "misdated", "results"), 1)
    test.write("summary", figures | {"seconds": 0.5})
    row = {"query": "draft", "range": "1m", "slide": "10s", "group": {}, "value": None, "count": 1}
    test.results.write_text(json.dumps(row) + "\n")
    return test


def binned_alert(query: SavedQuery, person: User) -> Alert:
    alert = Alert.objects.create(
        query=query, name="Gone", computation="max(temp)", window="1m/10s", condition="above", owner=person
    )
    delete([alert], person)
    return alert


@pytest.mark.parametrize("mode", GenerationMode)
@pytest.mark.parametrize(("method", "path"), CALLS)
def test_no_call_fails(ana: User, hot: SavedQuery, method: str, path: str, mode: GenerationMode) -> None:
    """Each call over and over, with what is there and what is not; what is made is gone after the test."""
    hot.source.connection.created_by = ana
    hot.source.connection.save()
    board = Board.objects.create(slug="plant", name="Plant", owner=ana)
    panel = Panel.objects.create(board=board, query=hot, title="Hot", x=0, y=0)
    alert = Alert.objects.create(
        query=hot, name="Too hot", computation="max(temp)", window="1m/10s", condition="above", owner=ana
    )
    note = Note.objects.create(board=board, time=0, text="Deployed", author=ana)
    link, _ = make_link(board, ana, "hall", timezone.now() + timedelta(days=1))
    numbers = {"notes": note.pk, "links": link.pk, "versions": 1}
    keys = {
        "connections": hot.source.connection.key,
        "sources": hot.source.key,
        "queries": hot.key,
        "backtests": ended_backtest(hot, ana).key,
        "dashboards": board.slug,
        "alerts": alert.key,
        "bin": binned_alert(hot, ana).key,
    }
    headers = {"Authorization": f"Bearer {make_token(ana, 'schemathesis', None)[1]}"}

    @how(
        max_examples=EXAMPLES_OF_EACH_CALL,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(SHAPES[path][method].as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        case.call_and_validate(headers=headers, checks=CHECKS)
        if "{key}" in path:
            case.path_parameters["key"] = keys[path.split("/")[2]]  # chance would rarely find it
            if "{kind}" in path:
                case.path_parameters["kind"] = "alert"
            if "{panel}" in path:
                case.path_parameters["panel"] = panel.pk
            if "{number}" in path:
                case.path_parameters["number"] = numbers[path.split("/")[4]]
            case.call_and_validate(headers=headers, checks=CHECKS)

    ask()
