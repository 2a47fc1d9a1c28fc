"""One message in full: its value, headers and bytes, and how Millrace reads it."""

from dataclasses import dataclass
from datetime import datetime

from dashboard.models import SavedQuery
from dashboard.planning import service as planning
from dashboard.sources.kafka import Message
from dashboard.sources.legible import legible
from dashboard.sources.models import Source
from dashboard.sources.presentation import Printed, cut, dumped, instant, plain, printed, readable
from dashboard.sources.topic_readings import Reading, readings
from optimizer.plan import Tree

HEADER_LENGTH = 400
SLICES_SHOWN = 3


@dataclass(frozen=True)
class Field:
    name: str
    kind: str
    value: str | None  # None: the message does not have it
    wrong: str = ""  # why what it has cannot be taken


@dataclass(frozen=True)
class Slice:
    """The slice that the message falls into, in one or several trees."""

    start: datetime | None
    end: datetime | None
    trees: list[str]


@dataclass(frozen=True)
class Inspected:
    message: Message
    written: datetime | None
    key: str | None
    size: int
    value: Printed
    raw: Printed
    headers: list[tuple[str, str | None]]
    reading: Reading
    event_time: datetime | None
    fields: list[Field]
    slices: list[Slice]
    more_slices: int
    feeds: list[SavedQuery]
    filtered: int  # queries whose filter leaves it out


def inspect(source: Source, message: Message) -> Inspected:
    reading = readings(source, [message])[0]
    accepted = reading.time is not None and not reading.kind and not message.is_aborted
    slices = _slices(source, reading.time) if accepted and reading.time is not None else []
    queries = list(source.queries.all()) if accepted else []
    feeds = [query for query in queries if _takes(source, query, message)]
    return Inspected(
        message=message,
        written=instant(message.timestamp),
        key=None if message.key is None else cut(readable(message.key), HEADER_LENGTH),
        size=len(message.value or b""),
        value=Printed("", "unread", message.problem)
        if message.problem
        else printed(legible(source, [message])[0]),
        raw=dumped(message.value),
        headers=[
            (name, None if data is None else cut(readable(data), HEADER_LENGTH))
            for name, data in message.headers
        ],
        reading=reading,
        event_time=None if reading.time is None else instant(reading.time),
        fields=_fields(source, reading),
        slices=slices[:SLICES_SHOWN],
        more_slices=max(0, len(slices) - SLICES_SHOWN),
        feeds=feeds,
        filtered=len(queries) - len(feeds),
    )


def _fields(source: Source, reading: Reading) -> list[Field]:
    if not reading.values:
        return []
    return [
        Field(name, kind, _written(reading.values.get(name)), reading.wrong.get(name, ""))
        for name, kind in source.types.items()
    ]


def _written(value: object) -> str | None:
    if value is None:
        return None
    found = plain(value)
    return str(found).lower() if isinstance(found, bool) else cut(str(found), HEADER_LENGTH)


def _takes(source: Source, query: SavedQuery, message: Message) -> bool:
    where = query.spec().where
    return not where or readings(source, [message], where)[0].kept


def _slices(source: Source, time: int) -> list[Slice]:
    """By the newest plan: trees that are fed by others have no slices of events."""
    version = planning.newest(source)
    trees = version.value().all_trees if version else ()
    found: dict[tuple[int, int], list[str]] = {}
    for tree in trees:
        if isinstance(tree, Tree) and tree.fed_by is None and tree.edge_classes:
            starts = [(time - (time - residue) % period, period) for period, residue in tree.edge_classes]
            bounds = max(start for start, _ in starts), min(start + period for start, period in starts)
            found.setdefault(bounds, []).append(tree.id)
    return [Slice(instant(start), instant(end), ids) for (start, end), ids in sorted(found.items())]
