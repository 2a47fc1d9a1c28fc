"""Results in, firings out: by group, once, and the same after any restart."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from dashboard.alerts.evaluator import Evaluator, Runner, wall_clock
from dashboard.alerts.models import Evaluation, Firing, Seat
from dashboard.alerts.results import Results
from dashboard.alerts.seat import Holder, SeatLost
from dashboard.bin.actions import delete
from dashboard.models import SavedQuery
from dashboard.queries.actions import pause_queries
from streaming.topics import Topics
from tests.dashboard.alerts.conftest import MakeAlert, Stream, seated, send

PATIENCE_SECONDS = 30


def firings() -> list[tuple[str, float | None, float | None]]:
    """Group, value, and value at the end, oldest first."""
    return [
        (one.group[0], one.value, one.last_value) for one in Firing.objects.order_by("fired_at", "group_key")
    ]


def test_each_group_fires_and_recovers_for_itself(make_alert: MakeAlert, stream: Stream) -> None:
    alert = make_alert(margin=5.0)
    evaluator = seated()
    evaluator.take(stream.said(stream.next(a=81, b=70), stream.next(a=78, b=90), stream.next(a=74, b=85)))
    evaluator.commit()
    assert firings() == [("a", 81, 74), ("b", 90, None)]
    known = Evaluation.objects.get(alert=alert)
    assert (known.state, known.firing, known.pending) == ("firing", 1, 0)


def test_pending_groups_are_shown_with_since_when(make_alert: MakeAlert, stream: Stream) -> None:
    alert = make_alert(hold=60_000)
    evaluator = seated()
    evaluator.take(stream.said(stream.next(a=81, b=70)))
    evaluator.commit()
    known = Evaluation.objects.get(alert=alert)
    assert (known.state, known.pending) == ("pending", 1)
    assert known.pending_groups == [{"group": ["a"], "since": stream.end, "value": 81.0}]
    assert not Firing.objects.exists()


def test_provisional_results_count_by_choice_alone(make_alert: MakeAlert, stream: Stream) -> None:
    make_alert()
    eager = make_alert(name="Eager", provisional=True)
    evaluator = seated()
    evaluator.take(stream.said(stream.next(final=False, a=81)))
    evaluator.commit()
    assert [one.alert for one in Firing.objects.all()] == [eager]


def test_another_window_and_other_queries_are_no_business_of_it(
    make_alert: MakeAlert, stream: Stream
) -> None:
    make_alert(window="5m/10s")
    evaluator = seated()
    evaluator.take(stream.said(stream.next(a=99)))
    evaluator.commit()
    assert not Firing.objects.exists()


def test_after_a_crash_nothing_fires_twice_and_nothing_is_missed(
    make_alert: MakeAlert, stream: Stream
) -> None:
    """Memory of the third message, what the fourth did is written: all from the fourth on is read again."""
    make_alert(hold=20_000)
    heard = stream.said(*(stream.next(a=value) for value in (90, 90, 70, 90, 90, 90, 70, 90, 90, 90)))
    first = seated()
    first.take(heard[:3])
    first.commit(offset=3)
    first.take(heard[3:8])
    first.commit()  # then it is killed
    written = [(one.pk, one.fired_at, one.resolved_at) for one in Firing.objects.all()]
    assert len(written) == 1
    second = seated_again()
    assert second_offset() == 3
    second.take(heard[3:])
    second.commit(offset=10)
    assert [(one.pk, one.fired_at, one.resolved_at) for one in Firing.objects.order_by("fired_at")][
        :1
    ] == written
    assert firings() == [("a", 90, 70), ("a", 90, None)]


def seated_again() -> Evaluator:
    Seat.objects.update(until=0)  # as if its time had run out
    return seated()


def second_offset() -> int | None:
    return Seat.objects.get().offset


def test_who_lost_the_seat_writes_nothing(make_alert: MakeAlert, stream: Stream) -> None:
    make_alert()
    first = seated()
    first.take(stream.said(stream.next(a=99)))
    seated_again()
    with pytest.raises(SeatLost):
        first.commit(offset=5)
    assert not Firing.objects.exists()
    assert Seat.objects.get().offset is None


def test_the_seat_is_taken_by_one_at_a_time(db: None) -> None:
    first, second = Holder(), Holder()
    assert first.take()
    assert not second.take()
    assert first.take()
    first.leave()
    assert second.take()


def test_a_changed_alert_begins_anew_and_says_why_it_ended(make_alert: MakeAlert, stream: Stream) -> None:
    alert = make_alert()
    evaluator = seated()
    evaluator.take(stream.said(stream.next(a=99)))
    evaluator.commit()
    alert.threshold, alert.changed_at = 100.0, timezone.now()
    alert.save()
    evaluator.read_definitions()
    evaluator.end_others()
    evaluator.commit()
    assert [one.reason for one in Firing.objects.all()] == ["alert changed"]
    evaluator.take(stream.said(stream.next(a=99)))
    evaluator.commit()
    assert Firing.objects.filter(resolved_at__isnull=True).count() == 0


def test_a_paused_query_is_not_missed(make_alert: MakeAlert, hot: SavedQuery, ana: User) -> None:
    make_alert(condition="no_data", hold=60_000, per_group=False)
    evaluator = seated()
    pause_queries([hot], ana)
    evaluator.read_definitions()
    evaluator.tick(wall_clock() + 3_600_000)
    evaluator.commit()
    assert not Firing.objects.exists()


def test_no_data_fires_before_any_came_and_recovers(make_alert: MakeAlert, stream: Stream) -> None:
    make_alert(condition="no_data", hold=60_000, per_group=False)
    evaluator = seated()
    evaluator.tick(wall_clock() + 59_000)
    evaluator.commit()
    assert not Firing.objects.exists()
    evaluator.tick(wall_clock() + 61_000)
    evaluator.commit()
    stream.heard = wall_clock() + 62_000
    evaluator.take(stream.said(stream.next(a=1)))
    evaluator.commit()
    assert Firing.objects.get().resolved_at is not None


def test_a_window_that_the_query_no_longer_has_is_said(make_alert: MakeAlert, hot: SavedQuery) -> None:
    alert = make_alert(window="5m/10s")
    evaluator = seated()
    hot.windows = hot.windows[:1]
    hot.save()
    evaluator.read_definitions()
    evaluator.commit()
    assert "no longer computes this" in Evaluation.objects.get(alert=alert).problem


def test_a_deleted_alert_ends(make_alert: MakeAlert, stream: Stream) -> None:
    alert = make_alert()
    evaluator = seated()
    evaluator.take(stream.said(stream.next(a=99)))
    evaluator.commit()
    delete([alert], None)
    evaluator.read_definitions()
    evaluator.end_others()
    assert Firing.objects.get().reason == "no longer evaluated"


# --- on a real broker -------------------------------------------------------------------------------------


@contextmanager
def running(broker: str, topics: Topics) -> Iterator[threading.Event]:
    """`runalerts` without its sender, in a thread."""
    stop = threading.Event()

    def run() -> None:
        try:
            Runner(Holder(), Results(broker, topics)).run(stop)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield stop
    finally:
        stop.set()
        thread.join()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.django_db(transaction=True)
def test_results_on_kafka_fire_and_what_came_while_nobody_looked_is_caught_up(
    broker: str, topics: Topics, make_alert: MakeAlert, stream: Stream
) -> None:
    make_alert()
    with running(broker, topics):
        send(broker, topics, stream.next(a=90))
        until(lambda: firings() == [("a", 90, None)])
    assert Seat.objects.get().offset == 1  # it was put away on the way out, and the seat is free
    send(broker, topics, stream.next(a=70), stream.next(b=95), stream.next(b=60))
    with running(broker, topics):
        until(lambda: firings() == [("a", 90, 70), ("b", 95, 60)])


@pytest.mark.django_db(transaction=True)
def test_of_two_processes_one_evaluates_and_the_other_takes_over(
    broker: str, topics: Topics, make_alert: MakeAlert, stream: Stream
) -> None:
    make_alert()
    with running(broker, topics) as first:
        until(lambda: Seat.objects.filter(until__gt=time.time()).exists())
        holder = Seat.objects.get().holder
        with running(broker, topics):
            send(broker, topics, stream.next(a=90))
            until(lambda: len(firings()) == 1)
            assert Seat.objects.get().holder == holder
            first.set()
            until(lambda: Seat.objects.get().holder != holder)
            send(broker, topics, stream.next(a=90), stream.next(a=70))
            until(lambda: firings() == [("a", 90, 70)])
