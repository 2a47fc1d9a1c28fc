"""One alert at work: results in, moves of its groups out. Its memory can be put away and taken up again."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import msgspec
import numpy as np

from dashboard.alerts.models import Alert
from dashboard.alerts.rules import Instance, Move, Result, Rule, is_gone, let_go, step, tick
from streaming.results import GroupKey, ResultBlock

GroupMove = tuple[GroupKey, Move]
WHOLE: GroupKey = ()  # the one group of an alert that has no groups

_memory = msgspec.msgpack.Decoder(list[tuple[tuple[Any, ...], Instance]])


@dataclass
class Watch:
    """The groups of one alert. What was heard before `since`, when it was made or changed, is not its own."""

    alert: int
    rule: Rule
    query: str  # the single-window query's id
    per_group: bool
    since: int
    mark: str  # of the alert as it is defined: memory of another definition is of no use
    instances: dict[GroupKey, Instance] = field(default_factory=dict)
    newest_end: int = 0
    changed: bool = True  # since its memory was put away

    @classmethod
    def of(cls, alert: Alert, query_id: str, rule: Rule, now: int) -> "Watch":
        since = int(alert.changed_at.timestamp() * 1000)
        watch = cls(alert.pk, rule, query_id, alert.is_per_group, since, alert.changed_at.isoformat())
        if rule.condition == "no_data" and not watch.per_group:
            # That data of all groups together are missing can be said before any came.
            watch.instances[WHOLE] = Instance(heard=now)
        return watch

    def take(self, block: ResultBlock, heard: int) -> Iterator[GroupMove]:
        """Blocks of one shard come in order; what a replayed batch sends again changes nothing."""
        if heard < self.since or not (block.final or self.rule.provisional):
            return
        self.newest_end, self.changed = max(self.newest_end, block.end), True
        values = np.frombuffer(block.values, np.float64).tolist()
        if not self.per_group:
            told = next((value for value in values if isfinite(value)), None)
            yield from self._step(WHOLE, Result(block.end, told, heard))
            return
        for group, value in zip(block.groups, values, strict=True):
            yield from self._step(tuple(group), Result(block.end, value if isfinite(value) else None, heard))

    def _step(self, group: GroupKey, result: Result) -> Iterator[GroupMove]:
        known = self.instances.get(group) or Instance(heard=result.heard)
        self.instances[group], moves = step(self.rule, known, result)
        yield from ((group, move) for move in moves)

    def tick(self, now: int) -> Iterator[GroupMove]:
        if self.rule.condition != "no_data":
            return
        for group, known in self.instances.items():
            after, moves = tick(self.rule, known, now)
            if moves:
                self.instances[group], self.changed = after, True
                yield from ((group, move) for move in moves)

    def let_go(self, now: int) -> Iterator[GroupMove]:
        """Forget groups that are gone."""
        if not self.per_group:
            return
        for group, known in list(self.instances.items()):
            if not is_gone(self.rule, known, self.newest_end, now):
                continue
            yield from ((group, move) for move in let_go(self.rule, self.instances.pop(group)))

    def in_state(self, state: str) -> dict[GroupKey, Instance]:
        return {group: known for group, known in self.instances.items() if known.state == state}

    def put_away(self) -> bytes:
        return msgspec.msgpack.encode(list(self.instances.items()))

    def take_up(self, memory: bytes) -> None:
        self.instances |= dict(_memory.decode(memory))
        ends = (known.at for known in self.instances.values() if known.at is not None)
        self.newest_end = max(ends, default=0)
