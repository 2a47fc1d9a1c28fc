"""What is written down is what was sent, once, whoever writes it and however often that one dies."""

from datetime import timedelta

import numpy as np
import pytest
from django.utils import timezone

from dashboard.models import HistoryPlace, HistoryPolicy, PastWindow, SavedQuery, Segment, Source
from dashboard.past import reading, writing
from dashboard.past.known import known_windows
from dashboard.past.levels import DAY, FULL, HOUR, MINUTE
from dashboard.past.writing import Displaced, Writer
from optimizer.queries import AnyQuery
from streaming.results import GroupKey, ResultBlock
from tests.dashboard.live.messages import block

NOON = 1_800_000_000_000 // DAY * DAY
SLIDE = 10_000
TOPIC = "results"
pytestmark = pytest.mark.django_db
Values = dict[GroupKey, float]


@pytest.fixture
def plain(sensors: Source) -> SavedQuery:
    return SavedQuery.objects.create(
        source=sensors,
        name="Events",
        computations=[{"aggregate": "count"}],
        windows=[{"range": "1m", "slide": "10s"}],
    )


@pytest.fixture
def window(plain: SavedQuery) -> AnyQuery:
    return plain.queries()[0]


@pytest.fixture
def writer(db: None) -> Writer:
    writer = Writer(TOPIC)
    assert writer.claim() == 0
    return writer


def of(window: AnyQuery, end: int, values: Values, **more: int | bool) -> ResultBlock:
    return block(end, values, query=window.id, **more)  # type: ignore[arg-type]


def count_up(window: AnyQuery, first: int, count: int) -> list[ResultBlock]:
    """Results 0.0, 1.0, … every ten seconds."""
    return [of(window, first + at * SLIDE, {(): float(at)}) for at in range(count)]


def read(window: AnyQuery, start: int, until: int, **more: object) -> dict[GroupKey, dict[int, float]]:
    past = reading.read(window, start, until, **more)  # type: ignore[arg-type]
    return {group: dict(zip(*map(np.ndarray.tolist, line))) for group, line in past.lines.items()}


def test_what_was_flushed_is_read_back_in_full(writer: Writer, window: AnyQuery) -> None:
    for part in (count_up(window, NOON, 500), [of(window, NOON + 500 * SLIDE, {(): 500.0})]):
        writer.take(part)
        writer.flush(7, known_windows())
    found = read(window, NOON, NOON + 2 * HOUR, in_full=True)
    assert found == {(): {NOON + at * SLIDE: float(at) for at in range(501)}}
    assert HistoryPlace.objects.get(topic=TOPIC).offset == 7


def test_the_same_blocks_again_change_nothing(writer: Writer, window: AnyQuery) -> None:
    for offset in (10, 10):
        writer.take(count_up(window, NOON, 50))
        writer.flush(offset, known_windows())
    assert len(read(window, NOON, NOON + HOUR)[()]) == 50


def test_provisional_results_are_not_history(writer: Writer, window: AnyQuery) -> None:
    writer.take([of(window, NOON, {(): 3.0}, final=False)])
    writer.flush(1, known_windows())
    assert read(window, NOON, NOON + HOUR) == {}


def test_a_late_revision_replaces_the_kept_result_and_what_was_thinned_of_it(
    writer: Writer, window: AnyQuery
) -> None:
    writer.take(count_up(window, NOON, 1_000))
    writer.flush(1, known_windows())
    writer.roll_up(known_windows(), NOON + DAY)
    spike = NOON + 30 * SLIDE
    writer.take([of(window, spike, {(): 9_999.0}, batch=2)])
    writer.flush(2, known_windows())
    day = (NOON, NOON + DAY)
    assert read(window, *day)[()][spike] == 9_999.0
    writer.roll_up(known_windows(), NOON + 3 * DAY)
    assert read(window, *day)[()][spike] == 9_999.0


def test_of_two_shards_each_has_its_groups(writer: Writer, window: AnyQuery) -> None:
    writer.take([of(window, NOON, {("a",): 1.0}, shard=0), of(window, NOON, {("b",): 2.0}, shard=1)])
    writer.take([of(window, NOON, {("a",): 3.0, ("c",): 4.0}, shard=0, batch=2)])
    writer.flush(1, known_windows())
    assert read(window, NOON, NOON + 1) == {("a",): {NOON: 3.0}, ("b",): {NOON: 2.0}, ("c",): {NOON: 4.0}}


@pytest.mark.parametrize("span", [HOUR, 12 * HOUR, 5 * DAY, 30 * DAY])
def test_every_range_has_the_peaks_and_the_newest_results_and_few_points(
    span: int, writer: Writer, window: AnyQuery
) -> None:
    random = np.random.default_rng(3)
    count = 6 * DAY // SLIDE
    values = random.normal(100, 10, count)
    values[count // 2] = 5_000
    now = NOON + 6 * DAY
    first = NOON
    for low in range(0, count, 2_000):
        writer.take(
            of(window, first + at * SLIDE, {(): float(values[at])})
            for at in range(low, min(count, low + 2_000))
        )
        writer.flush(low, known_windows())
        writer.roll_up(known_windows(), first + low * SLIDE)
    start = now - span
    (line,) = read(window, start, now).values()
    true = {first + at * SLIDE: float(values[at]) for at in range(count) if first + at * SLIDE >= start}
    assert len(line) <= 2 * reading.MOST_SPANS + 2
    assert line.items() <= true.items()
    assert (min(line.values()), max(line.values())) == (min(true.values()), max(true.values()))
    assert max(true) - max(line) < max(reading.chosen_step(span, SLIDE), SLIDE)


def test_detail_goes_with_its_policy_and_the_thinned_past_stays(
    plain: SavedQuery, writer: Writer, window: AnyQuery
) -> None:
    HistoryPolicy.objects.create(query=plain, detail_days=1, kept_days=20)
    now = NOON + 12 * DAY
    for day in (0, 11):
        writer.take(count_up(window, NOON + day * DAY, 1_000))
    writer.flush(1, known_windows())
    writer.roll_up(known_windows(), now + DAY)
    before = read(window, NOON, now)
    writer.tidy(known_windows(), now + DAY // 2)
    assert read(window, NOON, now) == before
    assert not Segment.objects.filter(level=FULL, until__lt=now - DAY).exists()
    assert not Segment.objects.filter(level=MINUTE, until__lt=now - 8 * DAY).exists()
    assert max(read(window, NOON, NOON + DAY)[()].values()) == 999.0
    short = reading.read(window, NOON, NOON + HOUR)
    assert short.step == 10 * MINUTE, "else a chart would show gaps between results that were thinned"
    assert len(short.lines[()][0]) > 2
    assert np.diff(short.lines[()][0]).max() <= 2 * short.step
    writer.tidy(known_windows(), now + 40 * DAY)
    assert not Segment.objects.exists()


def test_the_past_of_a_query_that_is_gone_for_good_goes_too(
    plain: SavedQuery, writer: Writer, window: AnyQuery
) -> None:
    writer.take(count_up(window, NOON, 10))
    writer.flush(1, known_windows())
    plain.delete()
    writer.tidy(known_windows(), NOON)
    assert not PastWindow.objects.exists()


def test_results_of_an_unknown_query_are_left_out(writer: Writer) -> None:
    writer.take([block(NOON, {(): 1.0}, query="gone@1m/10s")])
    writer.flush(4, known_windows())
    assert not Segment.objects.exists()
    assert HistoryPlace.objects.get().offset == 4


def test_while_one_writes_no_other_may(writer: Writer, window: AnyQuery) -> None:
    other = Writer(TOPIC)
    assert other.claim() is None
    writer.take(count_up(window, NOON, 5))
    writer.flush(11, known_windows())
    writer.release()
    assert other.claim() == 11


def test_a_writer_that_was_taken_for_dead_writes_nothing(writer: Writer, window: AnyQuery) -> None:
    HistoryPlace.objects.update(alive_at=timezone.now() - 2 * writing.SILENT_AFTER)
    heir = Writer(TOPIC)
    assert heir.claim() == 0
    writer.take(count_up(window, NOON, 5))
    with pytest.raises(Displaced):
        writer.flush(5, known_windows())
    assert not Segment.objects.exists()
    assert HistoryPlace.objects.get().offset == 0


def test_a_segment_keeps_the_groups_with_the_greatest_results(
    writer: Writer, window: AnyQuery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MOST_GROUPS", 3)
    writer.take([of(window, NOON, {(f"g{at}",): float(at) for at in range(10)})])
    writer.flush(1, known_windows())
    assert set(read(window, NOON, NOON + 1)) == {("g9",), ("g8",), ("g7",)}


def test_the_groups_of_a_range_are_those_with_the_greatest_results_in_it(
    writer: Writer, window: AnyQuery
) -> None:
    writer.take([of(window, NOON, {("a",): 9.0, ("b",): 1.0, ("c",): 2.0})])
    writer.take([of(window, NOON + HOUR, {("a",): 1.0, ("b",): 7.0, ("c",): 5.0})])
    writer.flush(1, known_windows())
    assert list(read(window, NOON, NOON + 1, most_groups=2)) == [("a",), ("c",)]
    past = reading.read(window, NOON + HOUR, NOON + 2 * HOUR, most_groups=2)
    assert (list(past.lines), past.groups) == ([("b",), ("c",)], 3)
    assert list(read(window, NOON, NOON + 2 * HOUR, groups=[("c",), ("x",)])) == [("c",)]


def test_the_place_of_a_dead_writer_is_free_after_a_while(writer: Writer) -> None:
    assert timedelta(seconds=10) < writing.SILENT_AFTER < timedelta(minutes=2)
    HistoryPlace.objects.update(alive_at=timezone.now() - 2 * writing.SILENT_AFTER)
    assert Writer(TOPIC).claim() == 0
