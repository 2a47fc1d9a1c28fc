"""Result blocks on their way to Kafka and back."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming import results
from streaming.results import ResultBlock, as_counts, decode, messages


def block(query: str, end: int, keys: msgspec.Raw, counts: list[int]) -> ResultBlock:
    values = np.arange(len(counts)) / 4
    return ResultBlock(
        "s",
        query,
        7,
        end - 1_000,
        end,
        1,
        3,
        True,
        keys,
        values.tobytes(),
        as_counts(np.array(counts)).tobytes(),
    )


def raw(*names: str) -> msgspec.Raw:
    return msgspec.Raw(msgspec.msgpack.encode([(name,) for name in names]))


DEVICES, SITES = raw("d1", "d2", "d3"), raw("north", "south")


def told(blocks: list[ResultBlock]) -> list[tuple]:
    return sorted((*one.place, *one.rows()) for one in blocks)


@given(
    st.lists(
        st.tuples(st.sampled_from("abcde"), st.integers(0, 3), st.booleans(), st.integers(0, 2**40)),
        unique_by=lambda each: each[:2],
    )
)
def test_blocks_come_back_as_they_were_whoever_shares_their_message(drawn):
    sent = [
        block(query, end * 1_000, DEVICES, [count, 1, 2])
        if by_device
        else block(query, end * 1_000, SITES, [3, count])
        for query, end, by_device, count in drawn
    ]
    received = [one for _, value in messages(sent) for one in decode(value)]
    assert told(received) == told(sent)


def test_windows_that_end_together_say_their_groups_once():
    sent = [block(query, end, DEVICES, [1, 2, 3]) for end in (1_000, 2_000) for query in "abcd"]
    found = list(messages(sent))
    assert [key for key, _ in found] == [b"1000|1", b"2000|1"]
    assert all(value.count(b"d2") == 1 for _, value in found)


def test_a_message_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(results, "MESSAGE_GOAL_BYTES", 60)
    found = list(messages([block(query, 1_000, DEVICES, [1, 2, 3]) for query in "abcde"]))
    assert [len(decode(value)) for _, value in found] == [2, 2, 1]


def test_counts_take_four_bytes_while_they_fit():
    small, great = block("q", 1, SITES, [1, 2**31 - 1]), block("q", 1, SITES, [1, 2**31])
    assert (len(small.counts), len(great.counts)) == (8, 16)
    assert [count for _, _, count in great.rows()] == [1, 2**31]
