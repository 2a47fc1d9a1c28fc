"""Fills an empty installation for the benchmarks: somebody signed in, queries, dashboards, a past.

Run as a program in the environment of that installation; prints what it made as JSON.
"""

import argparse
import json
import os
from collections.abc import Iterator

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
django.setup()

from importlib import import_module  # noqa: E402  (Django must be set up first)

import msgspec  # noqa: E402
import numpy as np  # noqa: E402
from django.conf import settings  # noqa: E402
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402

from dashboard.boards.actions import add_panel  # noqa: E402
from dashboard.boards.templates import panel_of  # noqa: E402
from dashboard.models import Board, Connection, SavedQuery, Source  # noqa: E402
from dashboard.past.known import known_windows  # noqa: E402
from dashboard.past.levels import DAY  # noqa: E402
from dashboard.past.writing import Writer  # noqa: E402
from optimizer.queries import Query  # noqa: E402
from streaming.results import ResultBlock  # noqa: E402

AT_ONCE = 2_000  # results of a window between two flushes


def main() -> None:
    arguments = _arguments()
    person = User.objects.create_superuser("bench", password=None, first_name="Bench")
    connection = Connection.objects.create(
        key="bench", name="bench", bootstrap_servers=settings.KAFKA_BOOTSTRAP
    )
    source = Source.objects.create(
        connection=connection,
        key="bench",
        name="bench",
        topic="events",
        schema=[["ts", "integer"], ["device", "text"], ["temp", "number"]],
        event_time="ts",
        created_by=person,
    )
    boards = [_board(number, arguments, source, person) for number in range(arguments.boards)]
    if arguments.past_hours:
        _write_past(arguments)
    print(json.dumps({"session": _session(person), "boards": boards}))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--boards", type=int, default=1)
    parser.add_argument("--panels", type=int, default=6)
    parser.add_argument("--windows", type=int, default=1)
    parser.add_argument("--slide", type=int, default=1, help="seconds")
    parser.add_argument("--groups", type=int, default=0, help="0: not grouped")
    parser.add_argument("--past-hours", type=int, default=0)
    parser.add_argument("--until", type=int, default=0, help="ms; where the past ends")
    return parser.parse_args()


def _board(number: int, arguments: argparse.Namespace, source: Source, person: User) -> dict[str, object]:
    board = Board.objects.create(slug=f"board-{number}", name=f"Board {number}", owner=person)
    windows = [
        {"range": f"{60 * (at + 1)}s", "slide": f"{arguments.slide}s"} for at in range(arguments.windows)
    ]
    keys = []
    for panel in range(arguments.panels):
        query = SavedQuery.objects.create(
            source=source,
            name=f"Query {number}.{panel}",
            computations=[{"aggregate": "max", "field": "temp"}],
            windows=windows,
            group_by=["device"] if arguments.groups else [],
            owner=person,
        )
        add_panel(board, panel_of(query, "line"))
        keys.append({"key": query.key, "windows": [one.id for one in query.queries()]})
    return {"slug": board.slug, "queries": keys}


def _session(person: User) -> str:
    store = import_module(settings.SESSION_ENGINE).SessionStore()
    store[SESSION_KEY] = str(person.pk)
    store[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    store[HASH_SESSION_KEY] = person.get_session_auth_hash()
    store.create()
    return str(store.session_key)


def _write_past(arguments: argparse.Namespace) -> None:
    writer = Writer("benchmark")
    assert writer.claim() is not None
    known = known_windows()
    slide = arguments.slide * 1000
    until = arguments.until // slide * slide
    ends = range(until - arguments.past_hours * 3_600_000, until, slide)
    for saved in SavedQuery.objects.all():
        for query in saved.queries():
            assert isinstance(query, Query)
            for low in range(0, len(ends), AT_ONCE):
                writer.take(_blocks(query, ends[low : low + AT_ONCE], arguments.groups))
                writer.flush(0, known)
    writer.roll_up(known, until + DAY)
    writer.release()


def _blocks(query: Query, ends: range, groups: int) -> Iterator[ResultBlock]:
    count = max(1, groups)
    names = [[f"d{at}"] for at in range(count)] if groups else [[]]
    keys = msgspec.Raw(msgspec.msgpack.encode(names))
    phase = np.arange(count) / 3 + query.window.range / 60_000
    for end in ends:
        values = 100 + 10 * np.sin(end / 600_000 + phase) + np.cos(end / 7_000 + 5 * phase)
        yield ResultBlock(
            source="bench",
            query=query.id,
            plan=1,
            start=end - query.window.range,
            end=end,
            shard=0,
            batch=1,
            final=True,
            keys=keys,
            values=values.tobytes(),
            counts=np.full(count, 9, np.int32).tobytes(),
        )


if __name__ == "__main__":
    main()
