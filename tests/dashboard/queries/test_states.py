"""Lists say of a query that it runs only where something can run."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.live.hub import Hub
from dashboard.live.relay import wall_clock
from dashboard.models import SavedQuery
from dashboard.queries import states
from dashboard.queries.states import state_of
from tests.dashboard.live.messages import status

MINUTE = 60_000
RUNNING = {"state": "running", "since": 0, "error": None}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Hub:
    """What a web process knows while the job reads the source."""
    hub = Hub()
    hub.caught_up = True
    hub.state.broker_reachable(wall_clock() - MINUTE)
    hub.state.observe(status(wall_clock(), sensors=RUNNING))
    monkeypatch.setattr(states, "process_hub", hub)
    return hub


def test_a_query_runs_while_the_job_reads_its_source(hub: Hub, hot: SavedQuery) -> None:
    assert state_of(hot).word == "Running"


def test_without_a_broker_none_runs(hub: Hub, hot: SavedQuery) -> None:
    hub.state.broker_down(wall_clock())
    assert state_of(hot).word == "Broker not reachable"


def test_without_a_job_none_runs(hub: Hub, hot: SavedQuery, as_ana: Client) -> None:
    hub.state.observe(status(wall_clock() + 1, state="stopped", sensors=RUNNING))
    assert state_of(hot).word == "Job stopped"
    for page in ("/", "/queries/", f"/queries/{hot.key}/"):
        assert "was last heard of at" in as_ana.get(page).content.decode(), page


def test_a_job_that_was_never_heard_of_is_to_be_started(hub: Hub, hot: SavedQuery) -> None:
    hub.state = type(hub.state)()
    hub.state.broker_reachable(wall_clock())
    assert (state_of(hot).word, state_of(hot).note) == ("Job stopped", "start it with ./millrace up")


def test_until_the_past_is_read_an_old_sign_of_life_tells_nothing(hub: Hub, hot: SavedQuery) -> None:
    hub.state.observe(status(wall_clock() + 1, state="stopped", sensors=RUNNING))
    hub.caught_up = False
    assert state_of(hot).word == "Running"


def test_who_is_paused_stays_so(hub: Hub, hot: SavedQuery, ana: User) -> None:
    hub.state.broker_down(wall_clock())
    hot.paused_at, hot.paused_by = timezone.now(), ana
    assert state_of(hot).word == "Paused"
