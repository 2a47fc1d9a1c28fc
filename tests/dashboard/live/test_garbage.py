"""Garbage is looked for when nobody waits, every now and then, and not in between."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from dashboard.live.garbage import EVERY_SECONDS, THRESHOLDS, QuietCollection


class Ring:
    """Garbage that only a collection finds, once it is let go."""

    def __init__(self) -> None:
        self.self = self


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def test_all_is_looked_at_when_it_is_due_and_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    collection = QuietCollection()
    assert gc.get_threshold() == THRESHOLDS
    ring = weakref.ref(Ring())
    collection.nobody_waits()
    assert ring() is not None
    clock[0] = EVERY_SECONDS
    collection.nobody_waits()
    assert ring() is None
    ring = weakref.ref(Ring())
    collection.nobody_waits()
    assert ring() is not None
