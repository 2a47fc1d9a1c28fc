"""Back-tests over the API: on a real topic, in a process of their own, with the rights of who asks."""

import fcntl
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from dashboard.models import SavedQuery, Source
from dashboard.queries import backtests
from dashboard.queries.backtests import GONE, NO_RESULTS, BackTest
from tests.dashboard.api.conftest import Ask
from tests.dashboard.queries.test_backtests import made_source, until
from tests.dashboard.queries.test_sampling import START

NOT_YOURS = "You may not see this back-test. Run your own from the query's draft."


@pytest.fixture(autouse=True)
def own_folder(settings: LazySettings, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path


@pytest.fixture
def readings(ana: User, broker: str) -> Source:
    return made_source(ana, broker)


def draft(source: Source, **changes: Any) -> dict[str, Any]:
    asked = {"source": source.key, "computations": [{"aggregate": "count"}], "windows": "1m every 10s"}
    return asked | changes


def ended(ask: Ask, key: str) -> dict[str, Any]:
    until(lambda: ask("get", f"backtests/{key}").json()["state"] != "running")
    told: dict[str, Any] = ask("get", f"backtests/{key}").json()
    return told


def all_rows(ask: Ask, key: str, limit: int) -> tuple[list[dict[str, Any]], int]:
    """Every part of the results, and how many parts there were."""
    rows, parts, after = [], 0, 0
    while after is not None:
        part = ask("get", f"backtests/{key}/results?limit={limit}&after={after}").json()
        assert len(part["items"]) <= limit
        rows, parts, after = rows + part["items"], parts + 1, part["next"]
    assert part["count"] == len(rows)
    return rows, parts


def test_a_draft_is_run_and_its_windows_are_read_in_parts(ask: Ask, as_ana: Client, readings: Source) -> None:
    begins = START + 120_000
    started = ask("post", "backtests", draft(readings, since=str(begins), group_by=["device"]))
    assert started.status_code == 201
    told = started.json()
    assert (told["state"], told["source"], told["group_by"]) == ("running", readings.key, ["device"])
    assert (told["summary"], told["problem"]) == (None, None)
    done = ended(ask, told["key"])
    assert (done["state"], done["problem"], done["progress"]) == ("done", None, None)
    assert done["summary"]["messages"] == 1_800
    assert datetime.fromisoformat(done["since"]).timestamp() * 1000 == begins
    rows, parts = all_rows(ask, told["key"], 20)
    assert parts == -(-len(rows) // 20) > 1
    assert {row["value"] for row in rows} == {200}
    assert {row["group"]["device"] for row in rows} == {"d0", "d1", "d2"}
    assert rows == all_rows(ask, told["key"], 1_000)[0]
    download = b"".join(as_ana.get(f"/queries/backtests/{told['key']}/download/").streaming_content)
    assert rows == [json.loads(line) for line in download.splitlines()]
    assert ask("get", "backtests").json() == {"items": [done], "count": 1}
    assert not SavedQuery.objects.exists()
    beyond = ask("get", f"backtests/{told['key']}/results?after={1 << 50}")
    assert beyond.status_code == 422
    middle = ask("get", f"backtests/{told['key']}/results?after=7")
    assert (middle.status_code, list(middle.json()["problems"])) == (422, ["after"])


def test_one_is_cancelled_and_another_fails_in_words(ask: Ask, readings: Source) -> None:
    sql = f'SELECT max(temp) FROM "{readings.name}" WINDOW TUMBLING (1m)'
    cancelled = ask("post", "backtests", {"sql": sql}).json()["key"]
    assert ask("post", f"backtests/{cancelled}/cancel").status_code == 200
    failed = ask("post", "backtests", draft(readings, since="now")).json()["key"]
    assert ended(ask, cancelled)["state"] == "cancelled"
    assert "holds no messages" in ended(ask, failed)["problem"]
    results = ask("get", f"backtests/{failed}/results")
    assert (results.status_code, results.json()) == (404, {"problem": NO_RESULTS})
    assert ask("post", f"backtests/{failed}/cancel").json()["state"] == "failed"
    assert [one["key"] for one in ask("get", "backtests?limit=1").json()["items"]] == [failed]


def test_no_more_than_two_run_and_a_refused_one_leaves_nothing(ask: Ask, readings: Source) -> None:
    started = [ask("post", "backtests", draft(readings)) for _ in range(3)]
    assert [answer.status_code for answer in started] == [201, 201, 422]
    sentence = "You have 2 back-tests running: cancel one, or wait for it."
    assert started[2].json() == {"problems": {"backtests": sentence}}
    assert ask("get", "backtests").json()["count"] == 2
    for answer in started[:2]:
        ask("post", f"backtests/{answer.json()['key']}/cancel")
        ended(ask, answer.json()["key"])


def test_the_oldest_give_way(ana: User, hot: SavedQuery, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backtests, "KEPT_EACH", 3)
    asked = [BackTest.ask(hot.source, hot.spec(), ana).key for _ in range(5)]
    assert [test.key for test in BackTest.of(ana)] == asked[:1:-1]


def test_others_neither_see_nor_cancel_it(
    ask: Ask, ask_as_bo: Ask, ana: User, bo: User, hot: SavedQuery
) -> None:
    key = BackTest.ask(hot.source, hot.spec(), ana).key
    calls = [
        ("get", f"backtests/{key}"),
        ("get", f"backtests/{key}/results"),
        ("post", f"backtests/{key}/cancel"),
    ]
    for method, address in calls:
        answer = ask_as_bo(method, address)
        assert (answer.status_code, answer.json()) == (403, {"problem": NOT_YOURS}), address
    assert ask_as_bo("get", "backtests").json() == {"items": [], "count": 0}
    bo.is_staff = True
    bo.save()
    assert ask_as_bo("get", f"backtests/{key}").json()["state"] == "asked"
    assert ask_as_bo("get", "backtests").json()["count"] == 0
    for gone in ("0000000000000000", "no-key"):
        answer = ask("get", f"backtests/{gone}")
        assert (answer.status_code, answer.json()) == (404, {"problem": GONE})


def test_who_asks_is_not_taken_for_its_process(ana: User, hot: SavedQuery) -> None:
    test = BackTest.ask(hot.source, hot.spec(), ana)
    (test.folder / "lock").touch()
    with (test.folder / "lock").open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)  # as another page does at this moment
        assert test.state == "asked"
    with (test.folder / "lock").open("w") as process:
        fcntl.flock(process, fcntl.LOCK_EX)
        assert test.state == "running"
