"""The state of a shard on disk, against a dictionary, through crashes at any byte and rivals."""

import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from streaming import state_log
from streaming.state_log import Change, Key, State, StateLog, StateLost

KEYS = st.tuples(st.sampled_from(["slice", "groups"]), st.sampled_from("ab"), st.integers(0, 5))
VALUES = st.binary(max_size=60)


def change(batch: int, put: dict[Key, bytes], removed: set[Key] = frozenset()) -> Change:
    return Change(batch, f"note {batch}".encode(), list(put.items()), sorted(removed))


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_log, "SEGMENT_BYTES", 200)


class LogAndDictionary(RuleBasedStateMachine):
    """Batches, batches that are run again, new owners, torn ends: always the state after the last batch."""

    directory: Path

    @initialize(number=st.integers(0, 10**9))
    def begin(self, number: int) -> None:
        self.directory = Path(type(self).root) / str(number)  # type: ignore[attr-defined]
        shutil.rmtree(self.directory, ignore_errors=True)
        self.history: list[dict[Key, bytes]] = [{}]  # after each batch
        self.begun = -1  # the newest batch that was ever begun: those before it will not be run again
        self.log, _ = StateLog.open(self.directory, -1)

    @property
    def batch(self) -> int:
        return len(self.history) - 2

    @rule(put=st.dictionaries(KEYS, VALUES, max_size=6), removed=st.sets(KEYS, max_size=4))
    def run_batch(self, put: dict[Key, bytes], removed: set[Key]) -> None:
        removed -= put.keys()
        self.begun = self.batch + 1
        self.log.append(change(self.batch + 1, put, removed))
        after = {key: value for key, value in (self.history[-1] | put).items() if key not in removed}
        self.history.append(after)

    @rule()
    def open_anew(self) -> None:
        old = self.log
        self.log, state = StateLog.open(self.directory, self.batch)
        assert state.values == self.history[-1]
        assert state.note == (f"note {self.batch}".encode() if self.batch >= 0 else b"")
        assert self.log.is_owned() and not old.is_owned()
        with suppress(StateLost):
            old.append(change(self.batch + 1, {("slice", "rival", 0): b"too late"}))
        old.close()

    def teardown(self) -> None:
        self.log.close()

    @rule()
    def run_last_batch_again(self) -> None:
        if self.batch >= 0 and self.batch == self.begun:
            self.history.pop()
            self.open_anew()

    @rule(bytes_lost=st.integers(1, 40))
    def tear_the_last_batch(self, bytes_lost: int) -> None:
        """Killed while it wrote: the batch will be run again."""
        head = self.directory / (self.directory / "head").read_text()
        self.begun = self.batch + 1
        self.log.append(change(self.batch + 1, {("slice", "torn", 1): b"x" * 40}))
        newest = self.directory / (self.directory / "head").read_text()
        if newest == head:
            newest.write_bytes(newest.read_bytes()[:-bytes_lost])
        self.open_anew()


def test_log_holds_what_a_dictionary_would(tmp_path: Path, small_segments: None) -> None:
    LogAndDictionary.root = tmp_path  # type: ignore[attr-defined]
    run_state_machine_as_test(
        LogAndDictionary, settings=settings(max_examples=60, stateful_step_count=30, deadline=None)
    )


def test_old_segments_are_let_go(tmp_path: Path, small_segments: None) -> None:
    log, _ = StateLog.open(tmp_path, -1)
    log.append(change(0, {("groups", "all", 0): b"kept for good"}))
    for batch in range(1, 400):
        log.append(change(batch, {("slice", "a", batch): b"y" * 30}, {("slice", "a", batch - 5)}))
    on_disk = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert on_disk < 4_000  # 400 batches wrote more than 20,000
    _, state = StateLog.open(tmp_path, 399)
    kept = {("slice", "a", batch): b"y" * 30 for batch in range(395, 400)}
    assert state.values == {("groups", "all", 0): b"kept for good"} | kept


def test_missing_state_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StateLost, match="after batch -1, not after 3"):
        StateLog.open(tmp_path, 3)


@given(place=st.integers(0, 10_000), flip=st.integers(1, 255))
@settings(max_examples=30, deadline=None)
def test_damage_is_noticed(place: int, flip: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = tmp_path_factory.mktemp("log")
    log, _ = StateLog.open(directory, -1)
    for batch in range(5):
        log.append(change(batch, {("slice", "a", batch): bytes(50)}))
    log.close()
    log, _ = StateLog.open(directory, 4)  # from now on all of the first segment counts
    log.close()
    first = min(directory.glob("*.log"))
    data = bytearray(first.read_bytes())
    data[place % len(data)] ^= flip
    first.write_bytes(data)
    with pytest.raises(StateLost):
        StateLog.open(directory, 4)


def test_state_of_nothing(tmp_path: Path) -> None:
    _, state = StateLog.open(tmp_path / "new", -1)
    assert state == State()
