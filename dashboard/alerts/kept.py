"""Kept results of a query, for the preview of an alert: as much of the last hour as is read quickly."""

import time
from collections import OrderedDict
from dataclasses import dataclass, field
from math import isfinite
from threading import Lock

import numpy as np
from django.conf import settings

from dashboard.alerts.results import Heard, Results
from dashboard.alerts.rules import Instance, Move, Result, Rule, firings
from dashboard.live.reader import BrokerLost
from streaming.results import GroupKey
from streaming.topics import Topics

REACH_MS = 3_600_000
PATIENCE_SECONDS = 4.0
MOST_MESSAGES = 40_000
KEPT_SECONDS = 20.0  # while a form is typed, the same results serve
KEPT_QUERIES = 4


@dataclass
class Kept:
    """One query's results, oldest first, and since when (ms) there are any at all."""

    since: int
    until: int
    finals: dict[GroupKey, list[Result]] = field(default_factory=dict)
    provisionals: dict[GroupKey, list[Result]] = field(default_factory=dict)  # with the final ones


class NothingKept(Exception):
    """Why there is nothing to look at."""


def would_have_fired(rule: Rule, kept: Kept, *, per_group: bool) -> list[tuple[GroupKey, Move]]:
    """When each group would have begun and ceased to fire."""
    groups = kept.provisionals if rule.provisional else kept.finals
    if not per_group:
        groups = {(): sorted((one for own in groups.values() for one in own), key=lambda one: one.heard)}
    moves = [
        (group, move)
        for group, results in groups.items()
        for move in firings(rule, results, Instance(heard=_first_heard(results, kept)), kept.until)
    ]
    return sorted(moves, key=lambda one: one[1].at)


def _first_heard(results: list[Result], kept: Kept) -> int:
    return results[0].heard if results else kept.since


_known: OrderedDict[str, tuple[float, Kept]] = OrderedDict()
_lock = Lock()


def kept_results(query_id: str) -> Kept:
    """From this process' memory where it was read a moment ago."""
    with _lock:
        found = _known.get(query_id)
        if found is None or time.monotonic() - found[0] > KEPT_SECONDS:
            found = _known[query_id] = (time.monotonic(), _read(query_id))
        _known.move_to_end(query_id)
        while len(_known) > KEPT_QUERIES:
            _known.popitem(last=False)
        return found[1]


def _read(query_id: str) -> Kept:
    results = Results(settings.KAFKA_BOOTSTRAP, Topics(settings.TOPIC_PREFIX))
    now = int(time.time() * 1000)
    try:
        results.open(None, now - REACH_MS, most=MOST_MESSAGES)
        kept = Kept(now, now)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not results.caught_up() and time.monotonic() < deadline:
            heard = results.poll()
            _take(kept, query_id, heard)
            if heard:
                kept.since, kept.until = min(kept.since, heard[0].at), heard[-1].at
        if results.caught_up():
            kept.until = now
    except BrokerLost as lost:
        raise NothingKept("Kafka cannot be reached: there are no results to look at.") from lost
    finally:
        results.close()
    return kept


def _take(kept: Kept, query_id: str, heard: list[Heard]) -> None:
    for at, blocks in heard:
        for block in blocks:
            if block.query != query_id:
                continue
            for group, value in zip(block.groups, np.frombuffer(block.values, np.float64).tolist()):
                result = Result(block.end, value if isfinite(value) else None, at)
                kept.provisionals.setdefault(tuple(group), []).append(result)
                if block.final:
                    kept.finals.setdefault(tuple(group), []).append(result)
