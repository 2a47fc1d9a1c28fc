"""Samples of what plans and trees were estimated to take, beside what they did: bounded, with true gaps."""

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.models import SavedQuery, Source, ThroughputSample
from dashboard.planning import samples, service
from dashboard.planning.identity import tree_identity
from dashboard.planning.samples import note_throughput, past_points
from optimizer.plan import Plan
from tests.dashboard.planning.heard import CLOCK, heard

pytestmark = pytest.mark.django_db


def plan_of(source: Source) -> Plan:
    version = service.newest(source)
    assert version is not None
    return version.value()


def sample(source: Source, at: datetime, **changed: object) -> ThroughputSample:
    told = {"plan": 1, "estimated": 100.0, "actual": 91.6} | changed
    return ThroughputSample.objects.create(source=source, at=at, **told)


def test_a_sample_is_kept_for_every_five_minutes_that_are_over(running: Source) -> None:
    note_throughput()
    note_throughput()
    (kept,) = ThroughputSample.objects.all()
    assert int(kept.at.timestamp() * 1000) == CLOCK + 300_000
    assert kept.actual == pytest.approx(1_000 / 0.03 * 2)
    assert kept.estimated > 0
    heard(range(600, 910, 5))
    note_throughput()
    ends = [int(one.at.timestamp() * 1000) - CLOCK for one in ThroughputSample.objects.all()]
    assert ends == [300_000, 600_000, 900_000]  # none is left out that was heard of


def test_a_sample_knows_the_trees_by_what_they_are(running: Source) -> None:
    note_throughput()
    (kept,) = ThroughputSample.objects.all()
    (tree,) = plan_of(running).trees
    estimated, actual = kept.of(tree_identity(tree))
    assert actual == pytest.approx(kept.actual, rel=1e-3)  # it is the only one
    assert estimated == pytest.approx(kept.estimated, rel=0.01)


def test_only_the_costliest_trees_are_kept(running: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "MOST_TREES", 1)
    version = service.adopt(running, "no_share", 1, running.created_by)
    work = {"partials": 1, "kernel_steps": 1, "groups": 1, "results": 1}
    first, costly = version.value().trees
    trees = {first.id: {**work, "seconds": 0.001}, costly.id: {**work, "seconds": 0.009}}
    heard(range(600, 910, 5), plan=version.version, trees=trees)
    note_throughput()
    newest = ThroughputSample.objects.get(plan=version.version, at__gt=_instant(CLOCK + 600_000))
    assert list(newest.trees) == [tree_identity(costly)]


def test_a_tree_is_the_same_while_it_answers_the_same_in_the_same_way(
    running: Source, hot: SavedQuery, ana: User
) -> None:
    (tree,) = plan_of(running).trees
    unshared = service.adopt(running, "no_share", 1, ana).value()
    assert tree_identity(tree) not in {tree_identity(one) for one in unshared.trees}
    SavedQuery.objects.filter(pk=hot.pk).update(name="Hottest devices")
    back = service.go_back(running, running.plans.get(version=1), ana).value()
    assert [tree_identity(one) for one in back.trees] == [tree_identity(tree)]
    SavedQuery.objects.filter(pk=hot.pk).update(group_by=[])
    service.replan(running, "Ana changed it")
    assert tree_identity(tree) not in {tree_identity(one) for one in plan_of(running).trees}


def test_the_past_of_a_tree_is_told_for_as_long_as_it_is_the_same(as_ana: Client, running: Source) -> None:
    (tree,) = plan_of(running).trees
    now = timezone.now()
    sample(running, now - timedelta(hours=3), trees={"another": [7, 8]})
    sample(running, now - timedelta(hours=2), trees={tree_identity(tree): [200, 150]})
    told = as_ana.get(f"/plan/sensors/throughput/?span=24h&tree={tree.id}").json()["points"]
    assert [point[1:] for point in told] == [[150, 200, 1]]
    assert as_ana.get("/plan/sensors/throughput/?span=24h&tree=99").json() == {"points": []}
    sample(running, now - timedelta(days=7), trees={tree_identity(tree): [200, 150]})
    before = as_ana.get(f"/plan/sensors/estimates/?tree={tree.id}").json()["tree"]["before"]
    assert before == {"words": "a week ago", "deviation": pytest.approx(-0.25)}


def test_a_gap_is_a_gap(running: Source) -> None:
    now = timezone.now()
    for minutes in (5, 10, 60, 65):
        sample(running, now - timedelta(minutes=minutes))
    told = past_points(running, timedelta(days=1))
    assert [point[1] for point in told] == [91.6, 91.6, None, 91.6, 91.6]
    ThroughputSample.objects.all().delete()
    for half_hours in (100, 101, 110):  # thinned: half an hour apart is no gap
        sample(running, now - timedelta(minutes=30 * half_hours))
    assert [point[1] for point in past_points(running, timedelta(days=7))] == [91.6, None, 91.6, 91.6]


def test_after_a_day_one_sample_of_each_half_hour_stays_and_after_a_month_none(running: Source) -> None:
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    too_old, old, recent = (hour - timedelta(days=days) for days in (40, 3, 0.5))
    for start in (too_old, old, recent):
        for minutes in range(0, 60, 5):
            sample(running, start + timedelta(minutes=minutes))
    note_throughput()
    kept = ThroughputSample.objects.filter(actual=91.6)
    assert not kept.filter(at__lt=old).exists()
    thinned = kept.filter(at__lt=recent).values_list("at", flat=True)
    assert list(thinned) == [old, old + timedelta(minutes=30)]
    assert kept.filter(at__gte=recent).count() == 12


def test_the_deviation_of_a_week_ago_is_told(as_ana: Client, running: Source) -> None:
    then = timezone.now() - timedelta(days=7) + timedelta(minutes=5)
    sample(running, then)
    told = as_ana.get("/plan/sensors/estimates/").json()["before"]
    assert told["words"] == "a week ago"
    assert told["deviation"] == pytest.approx(-0.084)
    points = as_ana.get("/plan/sensors/throughput/?span=7d").json()["points"]
    assert points == [[int(then.timestamp() * 1000), 91.6, 100.0, 1]]
    assert as_ana.get("/plan/sensors/throughput/?span=24h").json()["points"] == []


def test_a_trees_own_throughput_is_told(as_ana: Client, running: Source) -> None:
    told = as_ana.get("/plan/sensors/estimates/?tree=1").json()["tree"]
    assert told["estimate"] > 0
    assert len(told["points"]) == 39  # quarters of a minute, the newest is not over
    assert as_ana.get("/plan/sensors/estimates/?tree=99").json()["tree"] == {"estimate": None, "points": []}


def _instant(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, tz=timezone.get_current_timezone())
