from collections import Counter
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.cost import Statistics
from optimizer.phantoms.choosing import ALGORITHMS
from optimizer.strategies.phantoms import phantoms
from optimizer.weaving import joint_key
from optimizer.workload import Group, Workload
from tests.optimizer.cases import query

COUNTED = {
    ("A",): 552,
    ("B",): 560,
    ("C",): 664,
    ("D",): 693,
    ("A", "C"): 1429,
    ("D", "B"): 1619,
    ("A", "B", "C", "D"): 2837,
}
GROUP_BYS = [some for size in range(4) for some in permutations("abc", size)]


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    queries = [
        query(
            f"q{number}",
            draw(st.sampled_from([10, 12, 60])),
            draw(st.sampled_from([2, 3, 5])),
            draw(st.sampled_from(["sum", "mean", "max"])),
            draw(st.sampled_from(GROUP_BYS)),
        )
        for number in range(draw(st.integers(0, 8)))
    ]
    counts = draw(st.dictionaries(st.sampled_from(GROUP_BYS[1:]), st.integers(1, 3000), max_size=5))
    rate = draw(st.sampled_from([0.0, 20.0, 5000.0, 1e6]))
    return Workload(tuple(sorted(queries, key=lambda one: one.id)), Statistics(rate=rate, groups=counts))


def fed_attributes(groups: list[Group]) -> dict[tuple[str, ...], tuple[str, ...] | None]:
    return {
        group.key.group_by: None if group.feed is None else groups[group.feed].key.group_by
        for group in groups
    }


def by_single_attributes(rate: float) -> Workload:
    queries = tuple(query(name, 60, 10, group_by=(name,)) for name in "ABCD")
    return Workload(queries, Statistics(rate=rate, groups=COUNTED))


@given(workloads())
def test_every_query_is_in_one_tree_of_its_own_group_by(workload: Workload) -> None:
    groups = phantoms(workload)
    placed = Counter(one.id for group in groups for one in group.queries)
    assert placed == Counter(one.id for one in workload.queries)
    for group in groups:
        if group.queries:
            assert joint_key(group.queries) == group.key
    asked = [group.key for group in groups if group.queries]
    assert len(set(asked)) == len(asked)


@given(workloads())
def test_what_feeds_has_all_attributes_and_all_windows_of_what_it_feeds(workload: Workload) -> None:
    groups = phantoms(workload)
    for position, group in enumerate(groups):
        fed = [other for other in groups if other.feed == position]
        for other in fed:
            assert set(other.key.group_by) <= set(group.key.group_by)
            assert other.key._replace(group_by=()) == group.key._replace(group_by=())
            assert other.windows <= group.windows
        assert group.feed is None or group.feed < position
        assert group.queries or len(fed) >= 2
        asked = {one.window for one in group.queries}
        assert set(group.added_windows) == set().union(*(other.windows for other in fed)) - asked


@given(workloads())
def test_the_order_of_attributes_changes_neither_phantoms_nor_what_feeds_what(workload: Workload) -> None:
    counts: dict[tuple[str, ...], int] = {}
    for names, count in workload.statistics.groups.items():
        ordered = tuple(sorted(names))
        counts[ordered] = max(count, counts.get(ordered, 1))
    plain = replace(
        workload,
        queries=tuple(replace(one, group_by=tuple(sorted(one.group_by))) for one in workload.queries),
        statistics=replace(workload.statistics, groups=counts),
    )
    assert relations_fed(phantoms(workload)) == relations_fed(phantoms(plain))


def relations_fed(groups: list[Group]) -> set[tuple[str, frozenset[str], frozenset[str] | None]]:
    """What is fed by what, whatever the order of attributes; a relation is not fed by itself."""
    relations = [frozenset(group.key.group_by) for group in groups]
    return {
        (group.key.family, of, None if group.feed is None else relations[group.feed])
        for group, of in zip(groups, relations)
        if group.feed is None or relations[group.feed] != of
    }


def test_four_attributes_are_made_of_the_paper_s_phantoms() -> None:
    groups = phantoms(by_single_attributes(rate=50_000))
    assert fed_attributes(groups) == {
        ("A", "B", "C", "D"): None,
        ("A", "C"): ("A", "B", "C", "D"),
        ("D", "B"): ("A", "B", "C", "D"),
        ("A",): ("A", "C"),
        ("C",): ("A", "C"),
        ("B",): ("D", "B"),
        ("D",): ("D", "B"),
    }
    assert {group.key.group_by for group in groups if not group.queries} == {
        ("A", "B", "C", "D"),
        ("A", "C"),
        ("D", "B"),
    }


def test_a_stream_too_slow_to_fill_the_tables_is_read_by_each_group_by() -> None:
    for rate in (0.0, 10.0):
        groups = phantoms(by_single_attributes(rate))
        assert fed_attributes(groups) == {(name,): None for name in "ABCD"}


def test_less_space_keeps_fewer_phantoms() -> None:
    workload = by_single_attributes(rate=50_000)
    assert len(phantoms(workload, space=20_000)) == 6
    assert len(phantoms(workload, space=1000)) == 4


def test_a_single_group_by_is_one_tree_with_all_its_windows() -> None:
    queries = tuple(query(f"q{slide}", 60, slide, group_by=("device",)) for slide in (10, 20, 30))
    (group,) = phantoms(Workload(queries, Statistics()))
    assert (group.queries, group.feed, group.added_windows) == (queries, None, ())


def test_a_coarse_group_by_is_made_of_a_fine_one_that_is_asked_for() -> None:
    fine = query("fine", 60, 10, group_by=("device", "site"))
    coarse = query("coarse", 60, 15, group_by=("site",))
    total = query("total", 60, 10)
    counts = {("device", "site"): 200, ("site",): 5}
    groups = phantoms(Workload((coarse, fine, total), Statistics(rate=10_000, groups=counts)))
    assert fed_attributes(groups) == {("device", "site"): None, ("site",): ("device", "site"), (): ("site",)}
    assert groups[0].added_windows == (coarse.window,)
    assert groups[1].added_windows == (total.window,)


def test_the_same_attributes_in_another_order_are_read_off_the_first() -> None:
    one = query("one", 60, 10, group_by=("a", "b"))
    other = query("other", 60, 20, group_by=("b", "a"))
    groups = phantoms(Workload((one, other), Statistics(rate=10_000)))
    assert fed_attributes(groups) == {("a", "b"): None, ("b", "a"): ("a", "b")}
    assert groups[0].added_windows == (other.window,)


def test_what_cannot_share_partials_shares_no_phantom() -> None:
    sums = [query(f"sum{name}", 60, 10, "sum", (name,)) for name in "ab"]
    others = [query(f"max{name}", 60, 10, "max", (name,)) for name in "ab"]
    filtered = [query(f"ok{name}", 60, 10, "sum", (name,), where="status = 'ok'") for name in "ab"]
    counts = {("a",): 10, ("b",): 10, ("a", "b"): 30}
    workload = Workload(tuple(sums + others + filtered), Statistics(rate=10_000, groups=counts))
    kept = [group.key for group in phantoms(workload) if not group.queries]
    assert [(key.group_by, key.family, key.where) for key in kept] == [
        (("a", "b"), "additive", ""),
        (("a", "b"), "additive", "status = 'ok'"),
        (("a", "b"), "max", ""),
    ]


def test_no_queries_make_no_trees() -> None:
    assert phantoms(Workload((), Statistics())) == []


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_of_the_paper_can_be_asked_for(algorithm: str) -> None:
    workload = by_single_attributes(rate=50_000)
    groups = phantoms(replace(workload, queries=workload.queries[:3]), algorithm=algorithm)
    assert {one.name for group in groups for one in group.queries} == set("ABC")
    assert len(groups) > 3
    fed = {group.feed for group in groups}
    assert all(group.queries or position in fed for position, group in enumerate(groups))


def test_an_unknown_algorithm_is_refused() -> None:
    with pytest.raises(ValueError, match="use one of GCSL"):
        phantoms(by_single_attributes(rate=1), algorithm="XX")


def test_too_many_phantoms_to_try_them_all_are_refused() -> None:
    queries = tuple(query(name, 60, 10, group_by=(name,)) for name in "ABCDE")
    with pytest.raises(ValueError, match="use GCSL"):
        phantoms(Workload(queries, Statistics(rate=50_000)), algorithm="EPES")
