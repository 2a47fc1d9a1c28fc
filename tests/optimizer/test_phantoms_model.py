from collections import Counter
from itertools import combinations, product
from math import comb, lcm

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.optimizer.hash_tables import (
    clustered_traffic,
    group_numbers,
    hash_values,
    replay,
)
from optimizer.phantoms.collisions import collision_rate, low_collision_rate, occupied_buckets
from optimizer.phantoms.configurations import Configuration, Relation, relation, written
from optimizer.phantoms.costs import Setting, cost, edges_below, end_of_epoch_cost
from optimizer.phantoms.feeding_graph import MOST_PHANTOMS, candidate_phantoms, feeding

SHAPES = [
    "A",
    "A B C",
    "ABC(A B C)",
    "ABC(AC(A C) B)",
    "ABC(AB BC) BD CD",
    "ABCD(AB BCD(BC BD CD))",
    "ABCD(AC(A C) BD(B D))",
]
shapes = st.sampled_from(SHAPES).map(Configuration.parse)


ONLY = relation("A")


def by_relation(**values: int) -> dict[Relation, int]:
    return {relation(text): value for text, value in values.items()}


def leaves(configuration: Configuration) -> frozenset[Relation]:
    feeders = set(configuration.feeders)
    return frozenset(r for position, r in enumerate(configuration.relations) if position not in feeders)


@st.composite
def placed(draw: st.DrawFn) -> tuple[Configuration, tuple[float, ...], Setting]:
    """A configuration with space for its tables, where the leaves are asked for."""
    configuration = draw(shapes)
    count = len(configuration.relations)
    groups = draw(st.lists(st.integers(2, 3000), min_size=count, max_size=count))
    space = draw(st.lists(st.integers(50, 20_000), min_size=count, max_size=count))
    flow_lengths = draw(st.sampled_from([(1.0,), (40.0, 4.0, 1.0)]))
    setting = Setting(
        leaves(configuration), dict(zip(configuration.relations, groups)), sum(space), flow_lengths
    )
    return configuration, tuple(map(float, space)), setting


def ancestors(configuration: Configuration, position: int) -> list[int]:
    feeder = configuration.feeders[position]
    return [] if feeder is None else [feeder, *ancestors(configuration, feeder)]


def rate_at(configuration: Configuration, space: tuple[float, ...], setting: Setting, position: int) -> float:
    of = configuration.relations[position]
    depth = len(ancestors(configuration, position))
    flow_length = setting.flow_lengths[min(depth, len(setting.flow_lengths) - 1)]
    return collision_rate(setting.groups[of], space[position] / (len(of) + 1), flow_length)


def test_the_paper_s_configurations_read_and_print_alike() -> None:
    for text in [*SHAPES, "ABCD(ABC(AC(A C) B) D)", "device+site(device site)", "A(∅) B"]:
        assert str(Configuration.parse(text)) == text


def test_feeders_and_depths_are_read_off_the_brackets() -> None:
    configuration = Configuration.parse("ABCD(AB BCD(BC BD CD))")
    fed_by = {
        written(of): None if feeder is None else written(configuration.relations[feeder])
        for of, feeder in zip(configuration.relations, configuration.feeders)
    }
    assert fed_by == {"ABCD": None, "AB": "ABCD", "BCD": "ABCD", "BC": "BCD", "BD": "BCD", "CD": "BCD"}
    assert dict(zip(map(written, configuration.relations), configuration.depths))["BD"] == 3


@given(st.sets(st.frozensets(st.sampled_from("ABCDE")), min_size=1, max_size=8))
def test_any_configuration_reads_back_as_it_was_printed(queries: set[Relation]) -> None:
    everything = [frozenset(some) for n in range(6) for some in combinations("ABCDE", n)]
    setting = Setting(frozenset(queries), {some: 2.0 ** len(some) for some in everything}, 1000)
    configuration = feeding(candidate_phantoms(queries), setting)
    again = Configuration.parse(str(configuration))
    assert str(again) == str(configuration)
    assert set(again.relations) == set(configuration.relations)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("AB(A B", "leaves a bracket open"),
        ("AB(A B))", "closes a bracket"),
        ("(A B)", "opens a bracket"),
        ("AB((A B))", "opens a bracket"),
        ("AB(A C)", "AB cannot feed C"),
        ("AB(A) A", "A is there twice"),
    ],
)
def test_what_is_no_configuration_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Configuration.parse(text)


def test_the_phantoms_of_the_paper_s_figure_4() -> None:
    queries = {relation(text) for text in ("AB", "BC", "BD", "CD")}
    assert [written(phantom) for phantom in candidate_phantoms(queries)] == ["ABC", "ABD", "BCD", "ABCD"]


@given(st.sets(st.frozensets(st.sampled_from("ABCD")), min_size=1, max_size=6))
def test_phantoms_are_all_unions_of_queries_and_nothing_else(queries: set[Relation]) -> None:
    unions = {
        frozenset().union(*some) for n in range(2, len(queries) + 1) for some in combinations(queries, n)
    }
    assert set(candidate_phantoms(queries)) == unions - queries


def test_many_group_bys_keep_to_small_phantoms_and_the_one_that_feeds_all() -> None:
    queries = {frozenset({f"attribute{number}"}) for number in range(40)}
    phantoms = candidate_phantoms(queries)
    assert len(phantoms) == MOST_PHANTOMS + 1
    assert phantoms[-1] == frozenset().union(*queries)
    assert {len(phantom) for phantom in phantoms[:-1]} == {2}


def test_a_relation_is_fed_by_the_one_with_fewest_groups() -> None:
    groups = by_relation(ABC=50, BCD=40, AB=20, BC=20, CD=20)
    asked = frozenset(map(relation, ("AB", "BC", "CD", "ABC")))
    assert str(feeding([relation("BCD")], Setting(asked, groups, 100))) == "ABC(AB) BCD(BC CD)"


def test_a_phantom_that_feeds_fewer_than_two_is_left_out() -> None:
    asked = frozenset(map(relation, ("A", "B", "C")))
    groups = {frozenset(some): 10.0 ** len(some) for n in (1, 2, 3) for some in combinations("ABC", n)}
    setting = Setting(asked, groups, 100)
    assert str(feeding([relation("AB"), relation("BC")], setting)) == "AB(A B) C"


@pytest.mark.parametrize(("groups", "buckets"), [(2, 2), (3, 2), (4, 3), (5, 3), (3, 5)])
def test_the_rate_is_the_mean_over_every_way_to_hash(groups: int, buckets: int) -> None:
    shares = []
    for assignment in product(range(buckets), repeat=groups):
        filled = Counter(assignment).values()
        shares.append(sum(count / groups * (1 - 1 / count) for count in filled))
    assert collision_rate(groups, buckets) == pytest.approx(np.mean(shares))


@given(st.integers(2, 200), st.integers(2, 300))
def test_the_closed_form_is_the_sum_over_buckets_of_equation_12(groups: int, buckets: int) -> None:
    share = 1 / buckets
    summed = sum(
        buckets * comb(groups, k) * share**k * (1 - share) ** (groups - k) * (k - 1)
        for k in range(2, groups + 1)
    )
    assert collision_rate(groups, buckets) == pytest.approx(summed / groups, abs=1e-9)


@pytest.mark.parametrize("text", ["A", "AB", "ABC", "ABCD"])
@pytest.mark.parametrize("groups_a_bucket", [0.5, 1.0, 2.0, 4.0])
def test_the_rate_is_within_5_percent_of_hash_tables_that_are_run(text: str, groups_a_bucket: float) -> None:
    of = relation(text)
    representatives = np.unique(group_numbers(of), return_index=True)[1]
    traffic = representatives[np.random.default_rng(5).integers(len(representatives), size=60_000)]
    buckets = round(len(representatives) / groups_a_bucket)
    # Hashing draws once how crowded a table's buckets are: a mean over tables is compared.
    observed = [
        replay(Configuration((of,), (None,)), [buckets], traffic, seed=seed)[0].collisions
        for seed in range(12)
    ]
    expected = collision_rate(len(representatives), buckets)
    assert np.mean(observed) / len(traffic) == pytest.approx(expected, rel=0.05)


def test_the_straight_line_is_within_5_percent_on_average_where_collisions_are_rare() -> None:
    buckets = 1000
    counts = [count for count in range(200, 2000, 10) if collision_rate(count, buckets) < 0.4]
    errors = [
        abs(low_collision_rate(count, buckets) / collision_rate(count, buckets) - 1) for count in counts
    ]
    assert collision_rate(counts[-1] + 10, buckets) >= 0.4
    assert np.mean(errors) < 0.05


def test_flows_divide_the_rate_by_their_length() -> None:
    assert collision_rate(2837, 4000, 40) == pytest.approx(collision_rate(2837, 4000) / 40)
    assert low_collision_rate(2837, 4000, 40) == pytest.approx((0.0267 + 0.354 * 2837 / 4000) / 40)


def test_flows_that_do_not_overlap_collide_as_often_as_the_model_says() -> None:
    flow_length, buckets = 5.0, 3000
    traffic = clustered_traffic(400_000, flow_length, overlap=1e-9)
    observed = [
        replay(Configuration.parse("ABCD"), [buckets], traffic, seed=seed)[0].collisions for seed in range(8)
    ]
    expected = collision_rate(2837, buckets, flow_length)
    assert np.mean(observed) / len(traffic) == pytest.approx(expected, rel=0.05)


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_more_buckets_collide_less_and_a_lone_group_never(groups: int, buckets: int) -> None:
    assert 0 <= collision_rate(groups, buckets + 1) <= collision_rate(groups, buckets) + 1e-12 <= 1 + 1e-12
    assert collision_rate(1, buckets) == pytest.approx(0)
    assert 0 < occupied_buckets(groups, buckets) <= min(groups, buckets) + 1e-9


@given(shapes, st.integers(0, 10**6))
def test_it_counts_what_tables_kept_one_tuple_at_a_time_do(configuration: Configuration, seed: int) -> None:
    draw = np.random.default_rng(seed)
    buckets = [int(count) for count in draw.integers(1, 60, size=len(configuration.relations))]
    traffic = draw.integers(300, size=400)
    leaf_ends = {of: set(range(int(draw.integers(20, 90)), 400, 60)) for of in configuration.relations}
    ends = [
        set().union(*(leaf_ends[of] for of in leaves(configuration) if of <= feeder))
        for feeder in configuration.relations
    ]
    expected = tables_one_tuple_at_a_time(configuration, buckets, traffic, ends, seed)
    assert [
        (table.fed, table.collisions, table.flushed)
        for table in replay(configuration, buckets, traffic, ends, seed)
    ] == expected


def tables_one_tuple_at_a_time(
    configuration: Configuration, buckets: list[int], traffic: np.ndarray, ends: list[set[int]], seed: int
) -> list[tuple[int, int, int]]:
    tables: list[dict[int, int]] = [{} for _ in buckets]
    numbers = [group_numbers(of) for of in configuration.relations]
    hashes = [hash_values(of, count, seed) for of, count in zip(configuration.relations, buckets)]
    counts = [[0, 0, 0] for _ in buckets]

    def arrive(position: int, connection: int) -> None:
        counts[position][0] += 1
        group = numbers[position][connection]
        bucket = int(hashes[position][group])
        held = tables[position].get(bucket)
        tables[position][bucket] = connection
        if held is not None and numbers[position][held] != group:
            counts[position][1] += 1
            for child in configuration.fed[position]:
                arrive(child, held)

    for instant, connection in enumerate(traffic):
        for position in range(len(buckets)):
            if instant in ends[position]:
                for bucket in sorted(tables[position]):
                    counts[position][2] += 1
                    for child in configuration.fed[position]:
                        arrive(child, tables[position][bucket])
                tables[position].clear()
        for position in configuration.raw:
            arrive(position, int(connection))
    return [(fed, collisions, flushed) for fed, collisions, flushed in counts]


def test_the_example_of_equations_1_and_2() -> None:
    queries = frozenset(map(relation, "ABC"))
    groups = by_relation(A=500, B=500, C=500, ABC=2000)
    setting = Setting(queries, groups, 30_000)
    apart = cost(Configuration.parse("A B C"), (10_000.0,) * 3, setting)
    x1 = collision_rate(500, 5000)
    assert apart == pytest.approx(3 + 3 * x1 * 15)
    shared = cost(Configuration.parse("ABC(A B C)"), (24_000.0, 2000.0, 2000.0, 2000.0), setting)
    x2, x1 = collision_rate(2000, 6000), collision_rate(500, 1000)
    assert shared == pytest.approx(1 + 3 * x2 + 3 * x1 * x2 * 15)


@given(placed())
def test_the_intra_epoch_cost_is_equation_7(case: tuple[Configuration, tuple[float, ...], Setting]) -> None:
    configuration, space, setting = case
    expected = 0.0
    for position, of in enumerate(configuration.relations):
        above = 1.0
        for ancestor in ancestors(configuration, position):
            above *= rate_at(configuration, space, setting, ancestor)
        expected += above
        if of in setting.queries:
            expected += above * rate_at(configuration, space, setting, position) * 15
    assert cost(configuration, space, setting) == pytest.approx(expected)


@given(placed())
def test_the_end_of_epoch_cost_is_equation_8_with_the_entries_that_tables_hold(
    case: tuple[Configuration, tuple[float, ...], Setting],
) -> None:
    configuration, space, setting = case
    held = [
        occupied_buckets(setting.groups[of], units / (len(of) + 1))
        for of, units in zip(configuration.relations, space)
    ]
    expected = 0.0
    for position, of in enumerate(configuration.relations):
        chain = ancestors(configuration, position)
        reaching = 0.0
        for step, ancestor in enumerate(chain):
            passed = held[ancestor]
            for between in chain[:step]:
                passed *= rate_at(configuration, space, setting, between)
            reaching += passed
        expected += reaching
        if of in setting.queries:
            collisions = reaching * rate_at(configuration, space, setting, position)
            expected += 15 * (held[position] + collisions)
    assert end_of_epoch_cost(configuration, space, setting) == pytest.approx(expected)


def test_a_table_that_is_crowded_is_emptied_of_all_its_buckets_as_printed() -> None:
    setting = Setting(frozenset({relation("A")}), {relation("A"): 10_000.0}, 200)
    assert end_of_epoch_cost(Configuration.parse("A"), (200.0,), setting) == pytest.approx(100 * 15)


def test_tables_are_emptied_at_all_multiples_of_the_epochs_below() -> None:
    configuration = Configuration.parse("ABC(AB(A B) C)")
    ends = by_relation(A=2, B=3, C=5)
    setting = Setting(
        frozenset(ends),
        dict.fromkeys(configuration.relations, 100.0),
        9000,
        rate=1.0,
        edges={of: frozenset({(minutes, 0)}) for of, minutes in ends.items()},
    )
    emptied = [
        {instant for instant in range(1, 31) for period, rest in classes if instant % period == rest}
        for classes in edges_below(configuration, setting)
    ]
    counts = dict(zip(configuration.relations, map(len, emptied)))
    assert counts == by_relation(ABC=22, AB=20, A=15, B=10, C=6)


@given(placed(), st.lists(st.integers(1, 7), min_size=4, max_size=4))
def test_the_cost_of_a_cycle_is_that_of_its_tuples_and_of_every_emptying(
    case: tuple[Configuration, tuple[float, ...], Setting], seconds: list[int]
) -> None:
    configuration, space, plain = case
    rate = 5000.0
    epochs = dict(zip(sorted(plain.queries, key=sorted), seconds))
    setting = Setting(
        plain.queries,
        plain.groups,
        plain.space,
        plain.flow_lengths,
        rate=rate,
        edges={of: frozenset({(1000 * length, 0)}) for of, length in epochs.items()},
    )
    cycle = lcm(*epochs.values())
    expected = cost(configuration, space, plain) * cycle * rate
    for position, of in enumerate(configuration.relations):
        below = [length for query, length in epochs.items() if position in lineage(configuration, query)]
        times = sum(any(instant % length == 0 for length in below) for instant in range(1, cycle + 1))
        expected += times * emptying_cost(configuration, space, setting, position, of)
    assert cost(configuration, space, setting) * cycle * rate == pytest.approx(expected)


def test_epochs_without_a_rate_are_refused() -> None:
    with pytest.raises(ValueError, match="give a rate above 0"):
        Setting(frozenset({ONLY}), {ONLY: 5.0}, 10, edges={ONLY: frozenset({(1, 0)})})


def lineage(configuration: Configuration, of: Relation) -> list[int]:
    position = configuration.relations.index(of)
    return [position, *ancestors(configuration, position)]


def emptying_cost(
    configuration: Configuration, space: tuple[float, ...], setting: Setting, emptied: int, of: Relation
) -> float:
    """E_R of equation 27: what follows from emptying one table."""
    held = occupied_buckets(setting.groups[of], space[emptied] / (len(of) + 1))
    total = held * 15 if of in setting.queries else 0.0
    for position, below in enumerate(configuration.relations):
        chain = ancestors(configuration, position)
        if emptied in chain:
            reaching = held
            for between in chain[: chain.index(emptied)]:
                reaching *= rate_at(configuration, space, setting, between)
            total += reaching
            if below in setting.queries:
                total += reaching * rate_at(configuration, space, setting, position) * 15
    return total
