"""What would burst a limit is refused in the same words by form, SQL, JSON, API and import, before saving."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from dashboard.accounts.tokens import make_token
from dashboard.models import SavedQuery, Source
from dashboard.platform.problems import Problem
from dashboard.queries import limits
from optimizer import Statistics
from optimizer.queries import InvalidQuery, QuerySpec

pytestmark = pytest.mark.django_db
QUERY = {
    "name": "New",
    "computations": [{"aggregate": "count", "field": None}],
    "group_by": [],
    "where": None,
}
HOPPING = [{"range": "1m", "slide": "10s"}]


def saved(
    source: Source, owner: User | None, windows: list[dict[str, str]] = HOPPING, **more: Any
) -> SavedQuery:
    computations = [{"aggregate": "count"}]
    return SavedQuery.objects.create(
        source=source, owner=owner, name="Old", computations=computations, windows=windows, **more
    )


@pytest.fixture
def limit(settings: LazySettings) -> Callable[..., None]:
    def to(**changed: int) -> None:
        settings.LIMITS = {**settings.LIMITS, **changed}

    return to


def refused(source: Source, owner: User, windows: list[dict[str, str]] = HOPPING, **more: Any) -> str:
    """By what sentence; empty: it is not."""
    spec = QuerySpec.from_json({**QUERY, "windows": windows, **more})
    try:
        limits.check_limits(source, spec, owner)
    except InvalidQuery as problem:
        return problem.sentence
    return ""


def beyond(whose: str, words: str, key: str) -> str:
    asked = f"pause or delete others, or ask the administrator ({key})."
    return f"{whose} would have 2 {words}, more than the 1 that are allowed: {asked}"


LIMITED = [
    ({"queries_per_person": 1}, beyond("Its owner", "queries", "MILLRACE_QUERIES_PER_PERSON")),
    ({"queries_per_source": 1}, beyond("The source", "queries", "MILLRACE_QUERIES_PER_SOURCE")),
    (
        {"windows_per_person": 1},
        beyond("Its owner", "windows of computations", "MILLRACE_WINDOWS_PER_PERSON"),
    ),
    (
        {"overlap": 5},
        "1m every 10s: each event would be in 6 windows, more than the 5 that are allowed: "
        "slide less often (MILLRACE_OVERLAP).",
    ),
]


@pytest.mark.parametrize(("limits_", "sentence"), LIMITED)
def test_the_same_sentence_everywhere(
    sensors: Source,
    ana: User,
    as_ana: Client,
    limit: Callable[..., None],
    limits_: dict[str, int],
    sentence: str,
) -> None:
    saved(sensors, ana)
    limit(**limits_)
    spec = {**QUERY, "windows": HOPPING}
    assert sentence in {
        refused(sensors, ana),
        *(s for _, s in limits.refusals(sensors, QuerySpec.from_json(spec), ana)),
    }
    form = {
        "source": sensors.key,
        "name": "New",
        "aggregate": "count",
        "field": "",
        "windows": "1m every 10s",
    }
    sql = f'SELECT count(*) FROM "{sensors.name}" WINDOW HOPPING (1m, 10s)'
    text = json.dumps({"queries": [spec]})
    ways = [form, {**form, "view": "sql", "sql": sql}, {**form, "view": "json", "json": text}]
    for typed in ways:
        for address in ("/queries/new/", "/queries/preview/"):
            assert sentence in as_ana.post(address, typed).content.decode(), (typed, address)
    headers = {"Authorization": f"Bearer {make_token(ana, 'script', None)[1]}"}
    sent = {**spec, "source": sensors.key, "where": ""}
    for address in ("queries", "queries/preview"):
        answer = Client().post(f"/api/{address}", sent, content_type="application/json", headers=headers)
        assert sentence in answer.json()["problems"].values()
    assert SavedQuery.objects.count() == 1


def test_groups_and_results_count_as_meters_tell_them(
    sensors: Source, ana: User, limit: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "statistics", lambda key: Statistics(groups={("device",): 5_000}))
    by_device = {"group_by": ["device"]}
    limit(groups_per_source=4_000, results_per_person=400)
    assert refused(sensors, ana) == ""
    assert refused(sensors, ana, **by_device).startswith(
        "The source would have 5,000 groups, more than the 4,000"
    )
    limit(groups_per_source=0)
    assert refused(sensors, ana, **by_device).startswith(
        "Its owner would have 500 results a second, more than the 400"
    )
    limit(results_per_person=0)
    assert refused(sensors, ana, **by_device) == ""


def test_what_others_have_does_not_count_nor_what_is_paused(
    sensors: Source, ana: User, bo: User, limit: Callable[..., None]
) -> None:
    saved(sensors, bo)
    old = saved(sensors, ana)
    limit(queries_per_person=1)
    assert refused(sensors, ana) != ""
    old.paused_at = old.created_at
    old.save()
    assert refused(sensors, ana) == ""


def test_a_query_beyond_a_limit_can_be_made_smaller_paused_and_not_resumed(
    sensors: Source, ana: User, as_ana: Client, limit: Callable[..., None]
) -> None:
    wide = saved(sensors, ana, [{"range": "1m", "slide": "10s"}, {"range": "2m", "slide": "10s"}])
    limit(windows_per_person=1, queries_per_person=1)
    form = {"source": sensors.key, "name": "Old", "aggregate": "count", "field": ""}
    assert as_ana.post(f"/queries/{wide.key}/edit/", {**form, "windows": "1m every 20s"}).status_code == 302
    assert (
        as_ana.post(f"/queries/{wide.key}/edit/", {**form, "windows": "1m, 2m every 20s"}).status_code == 422
    )
    bulk = {"key": wide.key}
    as_ana.post("/queries/bulk/", {**bulk, "do": "pause"})
    saved(sensors, ana)
    page = as_ana.post("/queries/bulk/", {**bulk, "do": "resume"}, follow=True).content.decode()
    assert "“Old” stays paused: Its owner would have 2 queries" in page
    wide.refresh_from_db()
    assert wide.paused_at is not None


def test_requests_of_a_person_have_a_pace(ana: User, bo: User, limit: Callable[..., None]) -> None:
    limit(api_rate=1)
    asking = {one: {"Authorization": f"Bearer {make_token(one, 'script', None)[1]}"} for one in (ana, bo)}
    answers = [Client().get("/api/account", headers=asking[ana]) for _ in range(12)]
    assert [answer.status_code for answer in answers[:10]] == [200] * 10
    assert answers[-1].status_code == 429 and "More than 1 requests a second" in answers[-1].content.decode()
    assert Client().get("/api/account", headers=asking[bo]).status_code == 200


def test_an_import_is_refused_in_the_same_words(
    sensors: Source, ana: User, limit: Callable[..., None], tmp_path: Path, settings: LazySettings
) -> None:
    settings.KAFKA_BOOTSTRAP = "127.0.0.1:1"
    saved(sensors, ana)
    path = tmp_path / "millrace.yaml"
    call_command("export", out=path)
    content = yaml.safe_load(path.read_text())
    content["queries"].append({**content["queries"][0], "key": "other", "name": "Other"})
    path.write_text(yaml.safe_dump(content))
    limit(queries_per_person=1)
    with pytest.raises(Problem, match="Its owner would have 2 queries, more than the 1 that are allowed"):
        call_command("import", str(path))
    assert SavedQuery.objects.count() == 1


def test_administrators_see_the_limits(as_ada: Client, limit: Callable[..., None]) -> None:
    limit(queries_per_person=1_234, overlap=0)
    page = as_ada.get("/people/").content.decode()
    for words, value in (("Running queries per owner", "1,234"), ("(range / slide)", "none")):
        assert f'{words}</td><td class="figures">{value}</td>' in page
    assert "MILLRACE_QUERIES_PER_PERSON" in page
