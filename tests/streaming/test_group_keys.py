"""Group keys as columns of bytes, against msgspec's own encoding of tuples and plain dicts."""

import math

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming import key_bytes, partials
from streaming.group_index import GROUP_LIMIT, OTHER, GroupIndex
from streaming.group_keys import Encodings, GroupKeys, array_head
from streaming.results import GroupKey
from streaming.sources import FieldType
from streaming.warm_up import warm_up

LENGTHS = (0, 1, 7, 8, 15, 16, 31, 32, 255, 256, 65_535, 65_536)

# Lengths on both sides of where msgpack's headers, and words of eight bytes, change.
texts = st.text(max_size=12) | st.sampled_from(LENGTHS).map("x".__mul__) | st.just("ü" * 16)
whole = st.integers(-(1 << 63), (1 << 64) - 1)
numbers = st.floats(allow_nan=False)
fields = st.none() | st.booleans() | whole | numbers | texts
arrow_texts = st.sampled_from([pa.string(), pa.large_string()])
key_lists = st.integers(0, 3).flatmap(lambda width: st.lists(st.tuples(*[fields] * width), max_size=30))


def encoded(keys: list[GroupKey]) -> bytes:
    return msgspec.msgpack.encode(keys)


def all_of(keys: GroupKeys) -> bytes:
    return bytes(keys.raw(np.arange(len(keys))))


@given(key_lists, st.data())
@settings(deadline=None)
def test_keys_are_what_msgspec_writes_wherever_they_are_taken(keys: list[GroupKey], data: st.DataObject):
    column = GroupKeys.of_tuples(keys)
    assert len(column) == len(keys)
    assert all_of(column) == encoded(keys)
    chosen = data.draw(st.lists(st.integers(0, len(keys) - 1), max_size=40)) if keys else []
    taken = column.take(np.array(chosen, np.int32))
    assert all_of(taken) == encoded([keys[number] for number in chosen])
    assert bytes(column.raw(np.array(chosen, np.int64))) == all_of(taken)
    first = data.draw(st.integers(0, len(keys)))
    rest = column.since(first)
    for same in (rest, GroupKeys.unpacked(rest.packed())):
        assert same.tuples() == msgspec.msgpack.decode(encoded(keys[first:]), type=list[tuple])
    assert all_of(GroupKeys.together([rest, taken])) == encoded(
        [*keys[first:], *(keys[number] for number in chosen)]
    )


@settings(deadline=None)
@given(
    st.lists(st.none() | texts, max_size=30),
    st.integers(0, 3),
    st.sampled_from([pa.string(), pa.large_string()]),
)
def test_texts_are_encoded_as_msgspec_does(values: list[str | None], skipped: int, kind: pa.DataType):
    column = Encodings.of_texts(pa.array(values, kind).slice(skipped))
    assert array_head(len(column)) + column.content.tobytes() == encoded(values[skipped:])


@pytest.mark.parametrize("size", [0, 15, 16, 65_535, 65_536])
def test_lists_of_any_length_begin_as_msgpack_has_it(size: int):
    assert array_head(size) == encoded([None] * size)[: -size or None]
    assert all_of(GroupKeys.of_tuples([("a", 1)] * size)) == encoded([("a", 1)] * size)


rows = st.lists(
    st.tuples(
        st.none() | texts,
        st.none() | st.sampled_from([0.0, -0.0, 2.0, -7.0, 1e15, 2.5, 1e300]),
        st.none() | st.booleans(),
        st.none() | st.sampled_from([1.5, 2.0, -0.0, math.inf]),
    ),
    max_size=40,
)
KINDS: dict[str, FieldType] = {"text": "text", "whole": "integer", "flag": "boolean", "number": "number"}
ARROW = {"text": pa.string(), "whole": pa.float64(), "flag": pa.bool_(), "number": pa.float64()}


def plain_key(row: tuple, at: list[int]) -> GroupKey:
    """With whole numbers for floats where the field has such, as far as msgpack has them."""
    is_whole = row[1] is not None and row[1].is_integer() and row[1] < 1e300
    as_whole = int(row[1]) if is_whole else row[1]
    values = (row[0], as_whole, row[2], 0.0 if row[3] == 0 else row[3])
    return tuple(values[place] for place in at)


@settings(deadline=None)
@given(rows, st.permutations(range(4)), st.integers(0, 4), st.integers(1, 40), st.booleans())
def test_every_event_is_in_the_group_of_its_fields(
    rows: list[tuple], order: list[int], width: int, chunk: int, dictionaries: bool
):
    at = order[:width]
    names = list(KINDS)
    columns = []
    for name, values in zip(names, zip(*rows, strict=True) if rows else [()] * 4, strict=True):
        chunks = [pa.array(values[low : low + chunk], ARROW[name]) for low in range(0, len(values), chunk)]
        column = pa.chunked_array(chunks, ARROW[name])
        columns.append(column.dictionary_encode() if dictionaries and name == "text" else column)
    table = pa.table(columns, names=names)
    grouping = partials.group(table, tuple(names[place] for place in at), KINDS)
    keys = grouping.keys.tuples()
    found = [keys[code] for code in grouping.codes]
    assert encoded(found) == encoded([plain_key(row, at) for row in rows])
    assert len(set(map(repr, keys))) == len(keys)


@settings(deadline=None)
@given(key_lists, st.integers(0, 5), st.integers(1, 7))
def test_a_group_belongs_to_one_shard_wherever_its_key_lies(keys: list[GroupKey], first: int, shards: int):
    within = range(first, first + shards)
    owners = GroupKeys.of_tuples(keys).owners(within).tolist()
    assert set(owners) <= set(within)
    alone = [GroupKeys.of_tuples([key]).owners(within)[0] for key in keys]
    assert owners == alone


def test_the_place_of_a_group_is_for_ever():
    """State is kept by shard: another hash needs another LAYOUT."""
    keys = GroupKeys.of_tuples([(), ("device-0000001",), ("a", None, 2, 2.5, True), ("x" * 70_000,)])
    assert keys.owners(range(1_000_000)).tolist() == [486_938, 64_017, 152_918, 849_248]


def test_groups_are_spread_evenly_over_shards():
    for name in ("device-{:07d}", "d{}"):
        keys = GroupKeys.of_tuples([(name.format(number),) for number in range(100_000)])
        for shards in (2, 3, 16):
            share = np.bincount(keys.owners(range(shards)), minlength=shards) / len(keys)
            assert np.allclose(share, 1 / shards, rtol=0.05)


class Model:
    """What a group index is: a dict, and one group for all that is beyond the limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.known: dict[bytes, int] = {}

    def number(self, key: GroupKey) -> int:
        name = msgspec.msgpack.encode(key)
        if name not in self.known and len(self.known) >= self.limit:
            name = msgspec.msgpack.encode((OTHER,) * len(key))
        return self.known.setdefault(name, len(self.known))


few_keys = st.tuples(st.sampled_from(["", "a", "b", OTHER, "c" * 40, None, 1, 1.5, True]), st.integers(0, 3))


@given(st.lists(st.lists(few_keys, max_size=25), max_size=5), st.integers(0, 40))
@settings(max_examples=300, deadline=None)
def test_groups_have_the_numbers_that_a_dict_would_give_them(batches: list[list[GroupKey]], limit: int):
    index, model = GroupIndex(limit), Model(limit)
    for keys in batches:
        assert index.numbers(GroupKeys.of_tuples(keys)).tolist() == [model.number(key) for key in keys]
        assert len(index) == len(model.known)
        assert index.is_full == (len(model.known) > limit)
        assert all_of(index.keys) == array_head(len(index)) + b"".join(model.known)
    again = GroupIndex(limit)
    assert again.numbers(GroupKeys.unpacked(index.keys.packed())).tolist() == list(range(len(index)))


def test_many_groups_keep_their_numbers_as_the_index_grows():
    index = GroupIndex(1_000_000)
    for first in range(0, 50_000, 7_000):
        keys = GroupKeys.of_tuples([(f"d{number}", number % 5) for number in range(first, first + 9_000)])
        assert index.numbers(keys).tolist() == list(range(first, first + 9_000))
    everything = GroupKeys.of_tuples([(f"d{number}", number % 5) for number in range(len(index))])
    assert index.numbers(everything).tolist() == list(range(len(index)))


def test_a_million_groups_have_numbers_of_their_own_and_all_others_one_together():
    beyond = 50_000
    keys = GroupKeys.of_tuples([(f"d{number}",) for number in range(GROUP_LIMIT + beyond)])
    index = GroupIndex(GROUP_LIMIT)
    first = index.numbers(keys.take(np.arange(GROUP_LIMIT)))
    assert len(index) == GROUP_LIMIT and not index.is_full
    rest = index.numbers(keys.take(np.arange(GROUP_LIMIT - beyond, GROUP_LIMIT + beyond)))
    assert len(index) == GROUP_LIMIT + 1 and index.is_full
    restored = GroupIndex(GROUP_LIMIT)
    restored.restore(index.stored()[1])
    again = restored.numbers(keys)
    counts = np.bincount(np.concatenate([first, rest, again]))
    assert (counts[: GROUP_LIMIT - beyond] == 2).all()
    assert (counts[GROUP_LIMIT - beyond : GROUP_LIMIT] == 3).all()
    assert counts[GROUP_LIMIT:].tolist() == [2 * beyond]
    assert all_of(restored.keys) == encoded([*keys.tuples()[:GROUP_LIMIT], (OTHER,)])


def test_the_keys_told_are_those_asked_for_whoever_asked_before():
    index = GroupIndex(10)
    keys: list[GroupKey] = [("a",), ("b",), ("c",)]
    index.numbers(GroupKeys.of_tuples(keys))
    for asked in ([0, 1], [0, 1], [1, 2], [], [2]):
        assert bytes(index.raw(np.array(asked, np.int64))) == encoded([keys[number] for number in asked])
    assert index.raw(np.array([0, 2])) is index.raw(np.array([0, 2]))


def test_keys_are_compiled_once_and_before_the_first_batch():
    """A second signature would make some batch wait for the compiler."""
    compiled = [value for value in vars(key_bytes).values() if hasattr(value, "signatures")]
    assert len(compiled) == 8
    warm_up((("max", "flatfit"),))
    assert [len(function.signatures) for function in compiled] == [1] * 8
