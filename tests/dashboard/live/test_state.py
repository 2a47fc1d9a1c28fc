"""The page says which part is down, and since when."""

from dashboard.live.state import LiveState
from tests.dashboard.live.messages import status

NOW = 1_800_000_000_000
RUNNING = {"state": "running", "since": NOW - 60_000, "error": None, "batch": 4}


def heard(*messages: dict[str, object]) -> LiveState:
    state = LiveState()
    state.broker_reachable(NOW - 100_000)
    for message in messages:
        state.observe(message)
    return state


def test_a_job_that_speaks_runs_since_it_began() -> None:
    state = heard(status(NOW, since=NOW - 60_000))
    assert state.job(NOW + 1_000) == {"state": "running", "since": NOW - 60_000}


def test_silence_means_stopped_since_the_last_word() -> None:
    state = heard(status(NOW, since=NOW - 60_000))
    assert state.job(NOW + 6_000)["state"] == "running"
    assert state.job(NOW + 6_001) == {"state": "stopped", "since": NOW}


def test_a_clean_stop_is_said_at_once() -> None:
    state = heard(status(NOW, state="stopped", since=NOW - 60_000))
    assert state.job(NOW + 1) == {"state": "stopped", "since": NOW}


def test_an_old_word_that_arrives_late_changes_nothing() -> None:
    state = heard(status(NOW, state="stopped"), status(NOW - 2_000))
    assert state.job(NOW)["state"] == "stopped"


def test_nothing_heard_ever_is_unknown_not_stopped() -> None:
    assert heard().job(NOW) == {"state": "unknown", "since": None}


def test_silence_while_the_broker_is_down_is_not_the_jobs() -> None:
    state = heard(status(NOW))
    state.broker_down(NOW + 1_000)
    assert state.job(NOW + 60_000)["state"] == "running"
    assert state.broker() == {"state": "down", "since": NOW + 1_000}
    state.broker_reachable(NOW + 60_000)
    assert state.job(NOW + 65_000)["state"] == "running"  # it gets time to be heard again
    assert state.job(NOW + 66_001)["state"] == "stopped"


def test_the_broker_is_down_since_the_first_failure() -> None:
    state = heard()
    state.broker_down(NOW)
    state.broker_down(NOW + 5_000)
    assert state.broker()["since"] == NOW


def test_a_failing_source_tells_its_error_and_others_run_on() -> None:
    failing = {"state": "failing", "since": NOW, "error": "No field “status”.", "batch": 4}
    state = heard(status(NOW, bank=failing, sensors=RUNNING))
    assert state.failing() == ["bank"]
    assert state.source("bank") == {"state": "failing", "since": NOW, "error": "No field “status”."}
    assert state.source("sensors")["state"] == "running"
    assert state.source("elsewhere")["state"] == "absent"
