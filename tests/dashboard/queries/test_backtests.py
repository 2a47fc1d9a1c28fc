"""Back-tests: a draft over what a real topic holds, in a process of its own, through the pages."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from kafka.admin import NewTopic

from dashboard.models import Connection, Source
from dashboard.queries import backtests
from dashboard.queries.backtests import BackTest
from streaming.topics import create_topics
from tests.dashboard.places import connection_to
from tests.dashboard.queries.test_sampling import SCHEMA, START, draft, events, produce
from tests.secured import SecuredBroker

PATIENCE = 60.0


@pytest.fixture(autouse=True)
def own_folder(settings: Any, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path


def made_source(ana: User, broker: str, connection: Connection | None = None) -> Source:
    """A topic of events on this broker, reached by another door if one is given."""
    topic = f"past-{uuid4().hex[:8]}"
    create_topics(broker, [NewTopic(topic, 2, 1)])
    produce(broker, topic, [json.dumps(event).encode() for event in events()])
    return Source.objects.create(
        connection=connection or connection_to(broker),
        key=topic,
        name=topic,
        topic=topic,
        event_time="ts",
        allowed_lateness=5_000,
        schema=SCHEMA,
        created_by=ana,
    )


@pytest.fixture
def readings(ana: User, broker: str) -> Source:
    return made_source(ana, broker)


def asked(client: Client, source: Source, **typed: Any) -> BackTest:
    answer = client.post("/queries/backtests/", draft(source, **typed))
    assert answer.status_code == 302
    found = BackTest.find(answer["Location"].rstrip("/").rpartition("/")[2])
    assert found is not None
    return found


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def run(client: Client, test: BackTest, **when: str) -> None:
    assert client.post(f"/queries/backtests/{test.key}/run/", when).status_code == 302
    until(lambda: test.state != backtests.RUNNING)


def test_a_draft_runs_over_all_that_kafka_holds(as_ana: Client, readings: Source) -> None:
    test = asked(as_ana, readings, name="", group_by="device")
    page = as_ana.get(f"/queries/backtests/{test.key}/").content.decode()
    assert "Kafka holds 3,000 messages" in page
    run(as_ana, test)
    assert test.state == backtests.DONE, test.problem
    page = as_ana.get(f"/queries/backtests/{test.key}/").content.decode()
    assert "3,000" in page
    chart = as_ana.get(f"/queries/backtests/{test.key}/results/").json()
    assert [one["group"] for one in chart["series"]] == [["d2"], ["d1"], ["d0"]]
    for one in chart["series"]:
        assert {value for _, value, _ in one["points"]} == {float(one["group"][0][1:])}
    download = b"".join(as_ana.get(f"/queries/backtests/{test.key}/download/").streaming_content)
    rows = [json.loads(line) for line in download.splitlines()]
    finals = sum(final for one in chart["series"] for _, _, final in one["points"])
    assert len(rows) == finals > 50


def test_it_begins_when_it_was_told_to(as_ana: Client, readings: Source) -> None:
    test = asked(as_ana, readings, aggregate="count", field="")
    begins = START + 120_000
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(begins / 1000))
    run(as_ana, test, exactly=at)
    chart = as_ana.get(f"/queries/backtests/{test.key}/results/").json()
    [series] = chart["series"]
    assert min(end for end, _, _ in series["points"]) - 60_000 >= begins
    assert {value for _, value, final in series["points"] if final} == {600}
    summary = test.read("summary")
    assert summary is not None and summary["messages"] == 1_800


def test_a_topic_behind_tls_and_a_login_is_read_with_its_connection(
    as_ana: Client, ana: User, secured: SecuredBroker
) -> None:
    by_login = connection_to(secured.at("tlslogin"), secured.login())
    test = asked(as_ana, made_source(ana, secured.bootstrap_servers, by_login))
    run(as_ana, test)
    assert test.state == backtests.DONE, test.problem


def test_what_goes_wrong_is_said_and_it_can_be_run_again(as_ana: Client, readings: Source) -> None:
    test = asked(as_ana, readings)
    answer = as_ana.post(f"/queries/backtests/{test.key}/run/", {"exactly": "soon"})
    assert answer.status_code == 422
    assert "is not a time" in answer.content.decode()
    run(as_ana, test, exactly="now")
    assert test.state == backtests.FAILED
    assert "holds no messages" in as_ana.get(f"/queries/backtests/{test.key}/").content.decode()
    run(as_ana, test)
    assert test.state == backtests.DONE


def test_a_draft_with_problems_goes_back_to_its_form(as_ana: Client, readings: Source) -> None:
    answer = as_ana.post("/queries/backtests/", draft(readings, windows="soon"))
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.content.decode()


def test_it_can_be_cancelled(as_ana: Client, readings: Source) -> None:
    test = asked(as_ana, readings)
    as_ana.post(f"/queries/backtests/{test.key}/run/")
    as_ana.post(f"/queries/backtests/{test.key}/cancel/")
    until(lambda: test.state != backtests.RUNNING)
    assert test.state == backtests.CANCELLED
    assert "Cancelled." in as_ana.get(f"/queries/backtests/{test.key}/").content.decode()


def test_a_person_has_two_at_a_time(as_ana: Client, readings: Source) -> None:
    tests = [asked(as_ana, readings) for _ in range(3)]
    answers = [as_ana.post(f"/queries/backtests/{test.key}/run/") for test in tests]
    assert [answer.status_code for answer in answers] == [302, 302, 422]
    assert "You have 2 back-tests running" in answers[2].content.decode()
    until(lambda: all(test.state != backtests.RUNNING for test in tests))


def test_others_do_not_see_it(as_ana: Client, as_bo: Client, readings: Source) -> None:
    test = asked(as_ana, readings)
    for place in ("", "state/", "results/", "download/"):
        assert as_bo.get(f"/queries/backtests/{test.key}/{place}").status_code == 403
    for place in ("run/", "cancel/"):
        assert as_bo.post(f"/queries/backtests/{test.key}/{place}").status_code == 403
    assert as_ana.get("/queries/backtests/0000000000000000/").status_code == 404
