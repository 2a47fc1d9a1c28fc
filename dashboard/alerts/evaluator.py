"""Feeds every alert with its results and writes what comes of it.

What is in memory is put away every few seconds together with how far the results were read; after a crash
they are read again from there, and come to the same firings at the same places, which are there already.
"""

import logging
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from threading import Event

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from dashboard.alerts.models import Alert, Evaluation, Firing, group_key
from dashboard.alerts.results import Heard, Results
from dashboard.alerts.rules import Move
from dashboard.alerts.seat import Holder, SeatLost
from dashboard.alerts.telling import tell, tidy
from dashboard.alerts.watching import Watch
from dashboard.live.reader import BrokerLost
from streaming.results import GroupKey

logger = logging.getLogger(__name__)

DEFINITIONS_SECONDS = 1.0
PUT_AWAY_SECONDS = 10.0
RENEW_SECONDS = 2.0
RETRY_SECONDS = 2.0
TELL_SECONDS = 1.0
TIDY_SECONDS = 3_600.0
IN_FLIGHT_MS = 2_000  # a result this young may be on its way: that there is none can be said after that
MOST_PENDING_SHOWN = 50
NO_TARGET = "Its query no longer computes this over this window: edit the alert."

Moved = tuple[int, GroupKey, Move]  # alert, group


def instant(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def wall_clock() -> int:
    return int(time.time() * 1000)


class Evaluator:
    """All alerts. Its methods are for one thread."""

    def __init__(self, holder: Holder) -> None:
        self._holder = holder
        self._watches: dict[int, Watch] = {}
        self._by_query: dict[str, list[Watch]] = {}
        self._problems: dict[int, str] = {}
        self._moves: list[Moved] = []
        self._shown: dict[int, tuple[object, ...]] = {}
        self._definitions: dict[int, tuple[object, ...]] = {}
        self._clock = 0  # ms: the newest time that is known to have come
        self._unaccounted = True  # whether there may be firings of alerts that were changed

    @property
    def first_interest(self) -> int:
        """From when on (ms) results are of interest to anybody."""
        return min((watch.since for watch in self._watches.values()), default=wall_clock())

    def load(self) -> None:
        """Begin with what was put away."""
        self.read_definitions()
        for kept in Evaluation.objects.filter(alert__in=self._watches, memory__isnull=False):
            watch = self._watches[kept.alert_id]
            if kept.memory_of == watch.mark and kept.memory is not None:
                watch.take_up(bytes(kept.memory))

    def read_definitions(self) -> None:
        """Follow what people add, change, pause and delete. A changed alert begins anew."""
        known = Alert.objects.select_related("query__source").order_by("pk")
        alerts = {alert.pk: alert for alert in known}
        for gone in self._definitions.keys() - alerts.keys():
            self._unaccounted = True
            self._drop(gone)
        for pk, alert in alerts.items():
            definition = _definition(alert)
            if self._definitions.get(pk) != definition:
                self._definitions[pk] = definition
                self._unaccounted = True
                self._define(alert)

    def _define(self, alert: Alert) -> None:
        target = alert.target()
        active = alert.paused_at is None and alert.query.paused_at is None
        self._problems[alert.pk] = NO_TARGET if target is None else ""
        if target is None or not active:
            self._forget(alert.pk)
            return
        query = target[2]
        watch = Watch.of(alert, query.id, alert.rule(query), wall_clock())
        known = self._watches.get(alert.pk)
        if known is not None and (known.mark, known.query, known.rule) == (
            watch.mark,
            watch.query,
            watch.rule,
        ):
            return
        self._forget(alert.pk)
        self._watches[alert.pk] = watch
        self._by_query.setdefault(query.id, []).append(watch)

    def _drop(self, pk: int) -> None:
        self._forget(pk)
        for known in (self._definitions, self._problems, self._shown):
            known.pop(pk, None)

    def _forget(self, pk: int) -> None:
        watch = self._watches.pop(pk, None)
        if watch is not None:
            self._by_query[watch.query].remove(watch)

    def take(self, heard: Iterable[Heard]) -> None:
        for at, blocks in heard:
            self._clock = max(self._clock, at)
            for block in blocks:
                for watch in self._by_query.get(block.query, ()):
                    self._moves += [(watch.alert, group, move) for group, move in watch.take(block, at)]

    def tick(self, now: int | None = None) -> None:
        """Let time pass up to the newest result; up to `now` where it is known that nothing else came."""
        self._clock = max(self._clock, now or 0)
        for watch in self._watches.values():
            self._moves += [(watch.alert, group, move) for group, move in watch.tick(self._clock)]

    def commit(self, offset: int | None = None) -> None:
        """Write what happened; with an offset, put all memory away as well."""
        if offset is not None:
            for watch in self._watches.values():
                self._moves += [(watch.alert, group, move) for group, move in watch.let_go(self._clock)]
        with transaction.atomic():
            self._holder.keep(**({} if offset is None else {"offset": offset}))
            note_moves(self._moves)
            self._show(put_away=offset is not None)
        self._moves = []

    @property
    def has_news(self) -> bool:
        return bool(self._moves)

    def _show(self, *, put_away: bool) -> None:
        """What the pages read. Memory is written where something was heard since it was last put away."""
        rows, with_memory = [], []
        for pk, definition in self._definitions.items():
            watch = self._watches.get(pk)
            row = Evaluation(alert_id=pk, problem=self._problems.get(pk, ""), **_standing(watch))
            shown = (
                definition,
                row.state,
                row.firing,
                row.pending,
                [one["group"] for one in row.pending_groups],
            )
            if put_away and watch is not None and watch.changed:
                row.memory, row.memory_of, watch.changed = watch.put_away(), watch.mark, False
                with_memory.append(row)
            elif self._shown.get(pk) != shown:
                rows.append(row)
            self._shown[pk] = shown
        fields = ["state", "firing", "pending", "pending_groups", "newest_end", "problem"]
        for found, updated in ((rows, fields), (with_memory, [*fields, "memory", "memory_of"])):
            Evaluation.objects.bulk_create(
                found, update_conflicts=True, unique_fields=["alert"], update_fields=updated
            )

    def end_others(self) -> None:
        """End firings that nothing here accounts for: their alerts were changed, paused or deleted."""
        if not self._unaccounted:
            return
        firing = {(pk, group_key(g)) for pk, one in self._watches.items() for g in one.in_state("firing")}
        now = timezone.now()
        for one in Firing.objects.filter(resolved_at__isnull=True).select_related("alert"):
            if (one.alert_id, one.group_key) in firing:
                continue
            reason = "alert changed" if one.alert_id in self._watches else "no longer evaluated"
            Firing.objects.filter(pk=one.pk).update(
                resolved_at=max(now, one.fired_at), reason=reason, untold=one.told != "resolved"
            )
        self._unaccounted = False


def _definition(alert: Alert) -> tuple[object, ...]:
    query = alert.query
    return (
        alert.changed_at,
        alert.paused_at,
        query.paused_at,
        repr((query.computations, query.windows, query.group_by, query.where)),
    )


def _standing(watch: Watch | None) -> dict[str, object]:
    if watch is None:
        return {"state": "ok", "firing": 0, "pending": 0, "pending_groups": []}
    firing, pending = watch.in_state("firing"), watch.in_state("pending")
    first = sorted(pending.items(), key=lambda item: item[1].since or 0)[:MOST_PENDING_SHOWN]
    return {
        "state": "firing" if firing else "pending" if pending else "ok",
        "firing": len(firing),
        "pending": len(pending),
        "pending_groups": [
            {"group": list(group), "since": known.since, "value": known.value} for group, known in first
        ],
        "newest_end": instant(watch.newest_end) if watch.newest_end else None,
    }


def note_moves(moves: Sequence[Moved]) -> None:
    """Write down what began and ceased to fire; what is written down already stays as it is."""
    by_alert: dict[int, list[tuple[GroupKey, Move]]] = {}
    for alert, group, move in moves:
        by_alert.setdefault(alert, []).append((group, move))
    for alert, own in by_alert.items():
        _note_of(alert, own)


def _note_of(alert: int, moves: Sequence[tuple[GroupKey, Move]]) -> None:
    earliest = instant(min(move.at for _, move in moves))
    known = Firing.objects.filter(Q(resolved_at__isnull=True) | Q(fired_at__gte=earliest), alert_id=alert)
    places = {(one.group_key, one.fired_at): one for one in known}
    open_now = {one.group_key: one for one in places.values() if one.resolved_at is None}
    for group, move in moves:
        key = group_key(group)
        if move.fires:
            place = (key, instant(move.at))
            found = places.get(place) or Firing(
                alert_id=alert,
                group=list(group),
                group_key=key,
                fired_at=place[1],
                since=instant(move.since),
                value=move.value,
            )
            found.resolved_at, found.reason, found.untold = None, "", found.told != "firing"
            places[place] = open_now[key] = found
        elif key in open_now:
            found = open_now.pop(key)
            found.resolved_at, found.reason, found.last_value = instant(move.at), move.reason, move.value
            found.untold = found.told != "resolved"
    Firing.objects.bulk_create([one for one in places.values() if one.pk is None])
    changed = [one for one in places.values() if one.pk is not None]
    Firing.objects.bulk_update(changed, ["resolved_at", "reason", "last_value", "untold"], batch_size=100)


class Runner:
    """Evaluates as long as this process has the seat; waits for it otherwise."""

    def __init__(self, holder: Holder, results: Results) -> None:
        self._holder = holder
        self._results = results
        self._evaluator = Evaluator(holder)
        self._caught_up = False
        self._due: dict[str, float] = {}

    def run(self, stop: Event) -> None:
        waits = False
        while not stop.is_set():
            if not self._holder.take():
                if not waits:
                    logger.info("Another process evaluates the alerts: waiting until it stops.")
                waits = True
                stop.wait(RETRY_SECONDS)
                continue
            waits = False
            try:
                self._serve(stop)
            except SeatLost as lost:
                logger.warning("%s", lost)
            finally:
                self._results.close()

    def _serve(self, stop: Event) -> None:
        self._evaluator, self._caught_up, self._due = Evaluator(self._holder), False, {}
        self._evaluator.load()
        logger.info("This process evaluates the alerts.")
        while not stop.is_set():
            self._read(stop)
            if self._is_due("definitions", DEFINITIONS_SECONDS):
                self._evaluator.read_definitions()
            self._write()
            if self._caught_up and self._is_due("tell", TELL_SECONDS):
                with transaction.atomic():
                    self._holder.keep()
                    self._evaluator.end_others()
                    tell(timezone.now())
            if self._is_due("tidy", TIDY_SECONDS):
                tidy(timezone.now())
        if self._results.is_open:
            self._evaluator.commit(self._results.offset)
        self._holder.leave()

    def _read(self, stop: Event) -> None:
        """What came. A broker that is away brings nothing: that is known, too, once all was read before."""
        try:
            if not self._results.is_open:
                self._results.open(self._holder.offset(), self._evaluator.first_interest)
            heard = self._results.poll()
            self._evaluator.take(heard)
            self._evaluator.tick()
            if not heard and not self._caught_up:
                self._caught_up = self._results.caught_up()
            quiet = not heard
        except BrokerLost as lost:
            if self._is_due("complain", 60):
                logger.warning("%s Trying again.", lost)
            stop.wait(RETRY_SECONDS)
            quiet = True
        if quiet and self._caught_up:
            self._evaluator.tick(wall_clock() - IN_FLIGHT_MS)

    def _write(self) -> None:
        if self._results.is_open and self._is_due("put away", PUT_AWAY_SECONDS):
            self._evaluator.commit(self._results.offset)
            self._is_due("renew", 0)
        elif self._evaluator.has_news or self._is_due("renew", RENEW_SECONDS):
            self._evaluator.commit()

    def _is_due(self, what: str, seconds: float) -> bool:
        """Whether so many seconds have passed since it was last due; the first time it is."""
        now = time.monotonic()
        if now < self._due.get(what, 0.0):
            return False
        self._due[what] = now + seconds
        return True
