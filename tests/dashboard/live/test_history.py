"""The history depends on which blocks came, never on their order or how often they came."""

from hypothesis import given
from hypothesis import strategies as st

from dashboard.live.history import HORIZON_MS, MAX_POINTS, History, Point, WindowHistory
from streaming.results import GroupKey, ResultBlock
from tests.dashboard.live.messages import block

NOW = 1_800_000_000_000
A, B, C = ("a",), ("b",), ("c",)


def history_of(blocks: list[ResultBlock]) -> History:
    history = History()
    for one in blocks:
        history.add(one)
    return history


def everything(history: History) -> dict[str, dict[GroupKey, list[Point]]]:
    return {
        query: {group: window.points(group) for group in window.groups()}
        for query, window in history.windows.items()
        if window.ends
    }


@st.composite
def some_blocks(draw: st.DrawFn) -> list[ResultBlock]:
    """Blocks of one run of a job: content follows from the key, so a repeated block is the same block."""
    keys = st.tuples(
        st.sampled_from(["hot@1m/10s", "cold@5m/1m"]),
        st.integers(0, 3 * HORIZON_MS // 10_000),  # window end
        st.integers(0, 1),  # shard
        st.integers(1, 4),  # batch
        st.booleans(),  # final
    )
    return [
        block(
            NOW + at * 10_000,
            {(f"{shard}-{n}",): at + batch / 10 + n for n in range(1 + (at + batch) % 3)},
            query=query,
            shard=shard,
            batch=batch,
            final=final,
        )
        for query, at, shard, batch, final in draw(st.lists(keys, min_size=1, max_size=40))
    ]


@given(some_blocks(), st.randoms(use_true_random=False))
def test_any_order_and_duplication_of_blocks_gives_the_same_history(blocks, random) -> None:
    again = blocks + random.sample(blocks, k=random.randint(0, len(blocks)))
    random.shuffle(again)
    assert everything(history_of(again)) == everything(history_of(blocks))


@given(some_blocks())
def test_changes_since_a_revision_are_exactly_what_was_added_after_it(blocks) -> None:
    half = len(blocks) // 2
    history = history_of(blocks[:half])
    revision = history.revision
    before = everything(history)
    for one in blocks[half:]:
        history.add(one)
    for query, groups in everything(history).items():
        for group, points in groups.items():
            known = {point.end: point for point in before.get(query, {}).get(group, [])}
            known.update({p.end: p for p in history.windows[query].points(group, since=revision)})
            assert [known[point.end] for point in points] == points


def test_a_final_block_replaces_a_provisional_one_and_never_the_other_way_round() -> None:
    provisional = block(NOW, {A: 1.0}, final=False, batch=9)
    final = block(NOW, {A: 2.0}, final=True, batch=3)
    for order in ([provisional, final], [final, provisional]):
        assert history_of(order).windows["hot@1m/10s"].points(A) == [Point(NOW, 2.0, True)]


def test_a_later_batch_replaces_an_earlier_one() -> None:
    earlier, later = block(NOW, {A: 1.0}, batch=1), block(NOW, {A: 2.0}, batch=2)
    for order in ([earlier, later], [later, earlier]):
        assert history_of(order).windows["hot@1m/10s"].points(A)[0].value == 2.0


def test_shards_of_one_window_end_merge_by_group() -> None:
    window = history_of([block(NOW, {A: 1.0}, shard=0), block(NOW, {B: 2.0}, shard=1)]).windows["hot@1m/10s"]
    assert window.groups() == {A, B}
    assert (window.points(A)[0].value, window.points(B)[0].value) == (1.0, 2.0)


def test_a_group_that_a_replacing_block_no_longer_has_is_gone() -> None:
    window = history_of([block(NOW, {A: 1.0, B: 2.0}, batch=1), block(NOW, {A: 1.0}, batch=2)]).windows[
        "hot@1m/10s"
    ]
    assert window.groups() == {A}


def test_values_that_are_no_numbers_are_none() -> None:
    window = history_of([block(NOW, {A: float("nan"), B: float("inf")})]).windows["hot@1m/10s"]
    assert window.points(A)[0].value is None
    assert window.points(B)[0].value is None


def test_fifteen_minutes_before_the_newest_final_result_are_kept() -> None:
    blocks = [block(NOW + at * 60_000, {A: float(at)}) for at in range(40)]
    points = history_of(blocks).windows["hot@1m/10s"].points(A)
    assert [point.value for point in points] == [float(at) for at in range(25, 40)]


def test_a_series_is_bounded_even_before_anything_is_final() -> None:
    blocks = [block(NOW + at, {A: 1.0}, final=False) for at in range(MAX_POINTS + 10)]
    window = history_of(blocks).windows["hot@1m/10s"]
    assert len(window.points(A)) == MAX_POINTS
    assert window.ends[0] == NOW + 10


def test_a_provisional_window_far_ahead_does_not_push_the_past_out() -> None:
    history = history_of([block(NOW, {A: 1.0}), block(NOW + 10 * HORIZON_MS, {A: 2.0}, final=False)])
    assert len(history.windows["hot@1m/10s"].points(A)) == 2


def test_top_groups_are_those_with_the_greatest_newest_final_values() -> None:
    history = history_of(
        [
            block(NOW, {A: 9.0, B: 1.0, C: 5.0}),
            block(NOW + 10_000, {A: 2.0, B: 8.0, C: float("nan")}),
            block(NOW + 20_000, {A: 99.0}, final=False),
        ]
    )
    assert history.windows["hot@1m/10s"].top(2) == [B, A]
    assert history.windows["hot@1m/10s"].top(3) == [B, A, C]


def test_a_shard_that_is_still_to_come_does_not_lose_its_place_at_the_top() -> None:
    history = history_of([block(NOW, {A: 1.0}, shard=0), block(NOW, {B: 2.0}, shard=1)])
    history.add(block(NOW + 10_000, {A: 1.5}, shard=0))
    assert history.windows["hot@1m/10s"].top(8) == [B, A]


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(1, 3)), min_size=1, max_size=400))
def test_windows_with_the_same_groups_share_one_page_however_many_come_and_go(places) -> None:
    """Against what is kept without pages: by window the value of the greatest batch, of 15 minutes."""
    window = WindowHistory()
    kept: dict[int, tuple[int, float]] = {}
    for revision, (at, batch) in enumerate(places, 1):
        end, value = NOW + at * 10_000, at + batch / 10
        window.add(block(end, {A: value, B: -value}, batch=batch), revision)
        kept[end] = max(kept.get(end, (0, 0.0)), (batch, value))
    since = max(kept) - HORIZON_MS
    expected = [Point(end, value, True) for end, (_, value) in sorted(kept.items()) if end > since]
    assert window.points(A) == expected
    assert window.lines([B, C]) == {B: [(end, -value, True) for end, value, _ in expected], C: []}
    assert len(window._in_use) == 1


def test_of_a_group_in_two_shards_the_point_of_the_best_block_stays() -> None:
    for order in ((0, 1), (1, 0)):
        blocks = [block(NOW, {A: 1.0 + shard}, shard=shard, batch=5 - shard) for shard in order]
        assert history_of(blocks).windows["hot@1m/10s"].points(A) == [Point(NOW, 1.0, True)]


def test_deleted_queries_are_forgotten() -> None:
    history = history_of([block(NOW, {A: 1.0}), block(NOW, {A: 1.0}, query="cold@1m/10s")])
    history.keep_only({"cold"})
    assert set(history.windows) == {"cold@1m/10s"}
