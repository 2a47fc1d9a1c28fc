"""How many different values the fields of a source have, as its newest messages tell."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from dashboard.sources.kafka import KafkaProblem, consumer_of
from dashboard.sources.models import Source
from dashboard.sources.topic_overview import newest_messages_of
from dashboard.sources.topic_readings import readings

KEPT_SECONDS = 60.0
ENOUGH = 20  # messages: fewer tell little about what repeats


@dataclass(frozen=True)
class FieldValues:
    """Of so many messages, by field, how many different values; nothing where messages cannot be read."""

    messages: int = 0
    different: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_known(self) -> bool:
        return self.messages >= ENOUGH

    def repeats(self, name: str) -> bool:
        """Whether it is worth grouping by: several values that come again; so, too, if nothing tells."""
        return not self.is_known or 2 <= self.different.get(name, 0) <= self.messages / 2

    def is_category(self, name: str) -> bool:
        """Whether a condition on its values can tell messages apart: no name or text of its own in each."""
        return not self.is_known or self.different.get(name, 0) <= self.messages / 2

    def varies(self, name: str) -> bool:
        """Whether it has as many values as what is measured: a code or a flag has few."""
        return not self.is_known or self.different.get(name, 0) > self.messages / 20

    def most(self, names: list[str]) -> str | None:
        """The one with most values; the first of those that have as many, or where nothing tells."""
        known = self.different if self.is_known else {}
        return max(names, key=lambda name: known.get(name, 0), default=None)


UNKNOWN = FieldValues()
_kept: dict[str, tuple[float, FieldValues]] = {}


def field_values(source: Source) -> FieldValues:
    """Looked up once a minute; a topic that cannot be read tells nothing."""
    now = time.monotonic()
    for key in [key for key, (at, _) in _kept.items() if now - at > KEPT_SECONDS]:
        del _kept[key]
    if source.key not in _kept:
        _kept[source.key] = now, _looked_up(source)
    return _kept[source.key][1]


def _looked_up(source: Source) -> FieldValues:
    try:
        with consumer_of(source) as consumer:
            messages = newest_messages_of(consumer, source)
        found = [one.values for one in readings(source, messages) if one.values]
    except KafkaProblem:
        return UNKNOWN
    different: dict[str, set[str]] = {name: set() for name, _ in source.schema}
    for values in found:
        for name, value in values.items():
            if value is not None and name in different:
                different[name].add(str(value))
    return FieldValues(len(found), {name: len(values) for name, values in different.items()})
