from collections.abc import Callable, Iterator
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.optimizer.hash_tables import (
    FLOW_LENGTHS,
    clustered_traffic,
    group_counts,
    replayed_cost,
    uniform_traffic,
)
from optimizer.phantoms.allocation import ALLOCATIONS
from optimizer.phantoms.allocation.exhaustive import exhaustive
from optimizer.phantoms.allocation.two_level import two_level
from optimizer.phantoms.choosing import (
    configurations,
    every_choice,
    greedy_by_collision_rates,
    greedy_by_space,
    without_phantoms,
)
from optimizer.phantoms.collisions import SLOPE
from optimizer.phantoms.configurations import Configuration, Relation, relation
from optimizer.phantoms.costs import Setting, Space, bucket_size, cost, end_of_epoch_cost
from optimizer.phantoms.feeding_graph import candidate_phantoms
from optimizer.phantoms.peak_load import shifted, shrunk

PeakLoadMethod = Callable[[Configuration, Space, Setting, float], Space]
SPACES = [20_000, 40_000, 60_000, 80_000, 100_000]


def asked(text: str, space: float = 40_000, flow_lengths: tuple[float, ...] = (1.0,)) -> Setting:
    return Setting(frozenset(map(relation, text.split())), group_counts(), space, flow_lengths)


def synthetic(space: float = 40_000) -> Setting:
    return asked("A B C D", space)


def real(space: float = 40_000) -> Setting:
    return asked("AB BC BD CD", space, FLOW_LENGTHS)


@st.composite
def random_settings(draw: st.DrawFn) -> Setting:
    """Two to four queries over four attributes, with counts that grow as attributes are added."""
    subsets = [frozenset(some) for size in range(1, 5) for some in combinations("ABCD", size)]
    queries = draw(st.sets(st.sampled_from(subsets), min_size=2, max_size=4))
    groups: dict[Relation, float] = {}
    for subset in subsets:
        parts = [count for part, count in groups.items() if part < subset]
        groups[subset] = max(parts, default=1) + draw(st.integers(1, 900))
    flow_lengths = draw(st.sampled_from([(1.0,), FLOW_LENGTHS]))
    return Setting(frozenset(queries), groups, draw(st.sampled_from([3000, 20_000, 90_000])), flow_lengths)


def all_divisions(steps: int, tables: int) -> Iterator[tuple[int, ...]]:
    if tables == 1:
        yield (steps,)
        return
    for first in range(1, steps - tables + 2):
        for others in all_divisions(steps - first, tables - 1):
            yield first, *others


def test_the_best_configuration_of_four_single_attributes_is_the_paper_s() -> None:
    assert str(every_choice(synthetic()).configuration) == "ABCD(AC(A C) BD(B D))"
    assert str(greedy_by_collision_rates(synthetic()).configuration) == "ABCD(AC(A C) BD(B D))"


def test_the_best_configuration_of_four_pairs_is_the_paper_s() -> None:
    assert str(every_choice(real()).configuration) == "ABCD(AB BCD(BC BD CD))"
    assert str(greedy_by_collision_rates(real()).configuration) == "ABCD(AB BCD(BC BD CD))"


def test_greedy_by_space_finds_the_paper_s_other_configuration_of_four_pairs() -> None:
    assert str(greedy_by_space(real(), 0.8).configuration) == "ABCD(ABC(AB BC) BD CD)"


def test_greedy_by_space_falls_and_rises_with_phi() -> None:
    few, some, many = (greedy_by_space(synthetic(), phi).cost for phi in (0.4, 1.2, 3.0))
    best = every_choice(synthetic()).cost
    assert best <= some < 1.1 * best
    assert few > 2 * best
    assert many > 2 * best


@pytest.mark.parametrize("space", SPACES)
def test_gcsl_is_within_four_percent_of_the_estimated_optimum_and_a_fifth_of_the_real_one(space: int) -> None:
    for setting, traffic in (
        (synthetic(space), uniform_traffic(100_000)),
        (real(space), clustered_traffic(100_000)),
    ):
        best, chosen = every_choice(setting), greedy_by_collision_rates(setting)
        assert best.cost <= chosen.cost <= 1.04 * best.cost
        optimum = replayed_cost(best.configuration, best.space, setting, traffic)
        assert replayed_cost(chosen.configuration, chosen.space, setting, traffic) <= 1.2 * optimum


def test_greedy_by_space_costs_up_to_3_8_times_as_much_where_phi_is_chosen_badly() -> None:
    setting, traffic = real(100_000), clustered_traffic(100_000)
    chosen, other = greedy_by_collision_rates(setting), greedy_by_space(setting, 3.0)
    real_cost = replayed_cost(chosen.configuration, chosen.space, setting, traffic)
    assert replayed_cost(other.configuration, other.space, setting, traffic) > 3.8 * real_cost


@given(random_settings())
@settings(max_examples=25)
def test_choosing_never_costs_more_than_no_phantom_nor_less_than_the_optimum(setting: Setting) -> None:
    for allocation in (ALLOCATIONS[name] for name in ("SL", "SR", "PL", "PR")):
        chosen = greedy_by_collision_rates(setting, allocation)
        assert chosen.cost <= without_phantoms(setting, allocation).cost
        assert chosen.cost == pytest.approx(cost(chosen.configuration, chosen.space, setting))
        assert every_choice(setting, allocation).cost <= chosen.cost + 1e-9
    assert every_choice(setting).cost <= greedy_by_collision_rates(setting).cost * 1.01


@given(random_settings())
@settings(max_examples=25)
def test_every_configuration_is_tried_once_and_feeds_what_it_may(setting: Setting) -> None:
    tried = list(configurations(setting))
    assert len({str(configuration) for configuration in tried}) == len(tried)
    candidates = set(candidate_phantoms(setting.queries))
    for configuration in tried:
        assert setting.queries <= set(configuration.relations) <= setting.queries | candidates
        for position, fed in enumerate(configuration.fed):
            of = configuration.relations[position]
            assert all(configuration.relations[child] < of for child in fed)
            assert of in setting.queries or len(fed) >= 2
    assert str(greedy_by_collision_rates(setting).configuration) in set(map(str, tried))


@pytest.mark.parametrize("text", ["AB(A B)", "A B C", "ABC(A B C)", "ABC(AC(A C) B)", "AB(A B) C"])
@given(
    st.lists(st.integers(2, 900), min_size=5, max_size=5),
    st.sampled_from([200, 2000, 20_000]),
    st.sampled_from([(1.0,), FLOW_LENGTHS]),
)
@settings(max_examples=12)
def test_exhaustive_allocation_is_the_best_of_all_divisions(
    text: str, counts: list[int], space: int, flow_lengths: tuple[float, ...]
) -> None:
    configuration = Configuration.parse(text)
    setting = Setting(
        frozenset(of for of in configuration.relations if len(of) == 1),
        dict(zip(configuration.relations, counts)),
        space,
        flow_lengths,
    )
    steps = 10
    best = min(
        cost(configuration, tuple(space * taken / steps for taken in division), setting)
        for division in all_divisions(steps, len(configuration.relations))
    )
    found = exhaustive(configuration, setting, steps)
    assert sum(found) == pytest.approx(space)
    assert cost(configuration, found, setting) == pytest.approx(best)


@given(st.lists(st.integers(50, 900), min_size=4, max_size=4), st.sampled_from([2000, 20_000]))
@settings(max_examples=12)
def test_exhaustive_allocation_with_epochs_is_within_a_percent_of_the_best_of_all_divisions(
    counts: list[int], space: int
) -> None:
    configuration = Configuration.parse("ABC(A B C)")
    leaves = configuration.relations[1:]
    setting = Setting(
        frozenset(leaves),
        dict(zip(configuration.relations, counts)),
        space,
        rate=2000.0,
        edges={of: frozenset({(seconds * 1000, 0)}) for of, seconds in zip(leaves, (2, 3, 5))},
    )
    best = min(
        cost(configuration, tuple(space * taken / 20 for taken in division), setting)
        for division in all_divisions(20, 4)
    )
    assert cost(configuration, exhaustive(configuration, setting, 20), setting) <= 1.01 * best


def test_more_tables_than_steps_of_space_are_refused() -> None:
    with pytest.raises(ValueError, match="need as many steps"):
        exhaustive(Configuration.parse("A B C"), asked("A B C"), steps=2)


@pytest.mark.parametrize("name", ALLOCATIONS)
@given(random_settings())
@settings(max_examples=15)
def test_every_allocation_hands_out_all_space_and_leaves_no_table_without(
    name: str, setting: Setting
) -> None:
    for configuration in list(configurations(setting))[::7]:
        space = ALLOCATIONS[name](configuration, setting)
        assert sum(space) == pytest.approx(setting.space)
        assert min(space) > 0


def linear_cost(space: list[float], weights: list[float], setting: Setting) -> float:
    """Equation 17: one phantom that feeds all, with collision rates μ·g/b."""
    rates = [SLOPE * weight / units for weight, units in zip(weights, space)]
    return 1 + rates[0] * (len(rates) - 1) + rates[0] * sum(rates[1:]) * setting.eviction


@given(
    st.lists(st.floats(10, 5000), min_size=3, max_size=6),
    st.floats(1000, 100_000),
    st.data(),
)
def test_the_two_level_allocation_is_where_equation_17_is_least(
    weights: list[float], space: float, data: st.DataObject
) -> None:
    setting = asked("A B", space)
    feeder, fed = two_level(weights[1:], space, setting)
    assert feeder > space / 2
    best = linear_cost([feeder, *fed], weights, setting)
    giver, receiver = data.draw(
        st.lists(st.integers(0, len(fed)), min_size=2, max_size=2, unique=True), label="tables"
    )
    moved = [feeder, *fed]
    amount = moved[giver] * data.draw(st.floats(0.001, 0.9), label="share")
    moved[giver] -= amount
    moved[receiver] += amount
    assert linear_cost(moved, weights, setting) >= best * (1 - 1e-9)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("text", ["A B C D", "AB BC BD CD", "A B C", "A BC D"])
def test_without_phantoms_the_square_root_is_within_a_percent_of_the_optimum(text: str, space: int) -> None:
    setting = asked(text, space, FLOW_LENGTHS)
    configuration = Configuration.parse(text)
    found = ALLOCATIONS["PR"](configuration, setting)
    assert found == pytest.approx(ALLOCATIONS["SL"](configuration, setting))
    for of, units in zip(configuration.relations, found):
        ratio = units / found[0]
        first = configuration.relations[0]
        counts = group_counts()
        assert ratio**2 == pytest.approx(counts[of] * bucket_size(of) / (counts[first] * bucket_size(first)))
    assert cost(configuration, found, setting) <= 1.01 * best_cost(configuration, setting)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("text", ["ABCD(A B C D)", "ABCD(AB BC BD CD)", "ABC(A B C)", "AC(A C)"])
def test_under_one_phantom_supernodes_are_within_two_percent_of_the_optimum(text: str, space: int) -> None:
    configuration = Configuration.parse(text)
    leaves = " ".join(text[text.index("(") + 1 : -1].split())
    setting = asked(leaves, space, FLOW_LENGTHS)
    linear = ALLOCATIONS["SL"](configuration, setting)
    assert linear == pytest.approx(ALLOCATIONS["SR"](configuration, setting))
    assert cost(configuration, linear, setting) <= 1.02 * best_cost(configuration, setting)


def test_a_feeder_that_is_asked_for_too_is_given_more_space() -> None:
    configuration = Configuration.parse("ABC(A B C)")
    unasked, wanted = asked("A B C", 60_000), asked("ABC A B C", 60_000)
    as_phantom, as_query = (ALLOCATIONS["SL"](configuration, setting) for setting in (unasked, wanted))
    assert as_query[0] > as_phantom[0]
    assert cost(configuration, as_query, wanted) < cost(configuration, as_phantom, wanted)
    assert cost(configuration, as_query, wanted) <= 1.02 * best_cost(configuration, wanted)


def best_cost(configuration: Configuration, setting: Setting) -> float:
    return cost(configuration, exhaustive(configuration, setting), setting)


def test_a_supernode_of_sl_weighs_the_sum_and_of_sr_the_sum_of_roots() -> None:
    configuration = Configuration.parse("ABC(AB(A B) C)")
    counts = {
        relation(text): count for text, count in zip(("ABC", "AB", "A", "B", "C"), (900, 400, 100, 49, 64))
    }
    setting = Setting(frozenset(map(relation, "ABC")), counts, 10_000)
    sizes = {"AB": 3, "A": 2, "B": 2, "C": 2}
    weights = {name: counts[relation(name)] * size for name, size in sizes.items()}
    position = {text: configuration.relations.index(relation(text)) for text in ("AB", "A", "B", "C")}

    def supernode(space: Space) -> float:
        return space[position["AB"]] + space[position["A"]] + space[position["B"]]

    linear = ALLOCATIONS["SL"](configuration, setting)
    total = weights["AB"] + weights["A"] + weights["B"]
    assert (supernode(linear) / linear[position["C"]]) ** 2 == pytest.approx(total / weights["C"])
    rooted = ALLOCATIONS["SR"](configuration, setting)
    roots = sum(weights[name] ** 0.5 for name in ("AB", "A", "B"))
    assert supernode(rooted) / rooted[position["C"]] == pytest.approx(roots / weights["C"] ** 0.5)


def test_where_few_collide_supernodes_are_nearer_the_optimum_than_plain_proportions() -> None:
    for space in SPACES[1:]:
        setting = real(space)
        relative: dict[str, list[float]] = {name: [] for name in ("SL", "SR", "PL", "PR")}
        for configuration in configurations(setting):
            best = best_cost(configuration, setting)
            for name, costs in relative.items():
                found = ALLOCATIONS[name](configuration, setting)
                costs.append(cost(configuration, found, setting) / best)
        mean = {name: sum(costs) / len(costs) for name, costs in relative.items()}
        assert mean["SL"] <= mean["SR"] <= mean["PR"] <= mean["PL"]
        assert mean["SL"] < 1.01


@pytest.mark.parametrize(("method", "share"), [(shrunk, 0.9), (shrunk, 0.6), (shifted, 0.97)])
def test_peak_load_methods_keep_the_limit_and_change_no_more_than_they_must(
    method: PeakLoadMethod, share: float
) -> None:
    setting = real()
    chosen = greedy_by_collision_rates(setting)
    limit = share * end_of_epoch_cost(chosen.configuration, chosen.space, setting)
    space = method(chosen.configuration, chosen.space, setting, limit)
    assert end_of_epoch_cost(chosen.configuration, space, setting) == pytest.approx(limit, rel=1e-6)
    assert cost(chosen.configuration, space, setting) > chosen.cost
    assert sum(space) <= setting.space * (1 + 1e-9)
    assert method(chosen.configuration, chosen.space, setting, 2 * limit) == pytest.approx(chosen.space)


def test_shifting_keeps_all_space_and_shrinking_gives_some_up() -> None:
    setting = real()
    chosen = greedy_by_collision_rates(setting)
    limit = 0.97 * end_of_epoch_cost(chosen.configuration, chosen.space, setting)
    moved = shifted(chosen.configuration, chosen.space, setting, limit)
    assert sum(moved) == pytest.approx(setting.space)
    for of, units, before in zip(chosen.configuration.relations, moved, chosen.space):
        assert (units < before) == (of in setting.queries)
    assert sum(shrunk(chosen.configuration, chosen.space, setting, limit)) < setting.space


def test_a_peak_load_that_shifting_cannot_reach_is_refused() -> None:
    setting = real()
    chosen = greedy_by_collision_rates(setting)
    limit = 0.5 * end_of_epoch_cost(chosen.configuration, chosen.space, setting)
    with pytest.raises(ValueError, match="keep fewer tables"):
        shifted(chosen.configuration, chosen.space, setting, limit)


def test_space_cannot_be_shifted_to_phantoms_that_are_not_there() -> None:
    setting = real()
    alone = without_phantoms(setting)
    with pytest.raises(ValueError, match="shrink"):
        shifted(alone.configuration, alone.space, setting, 1.0)


def test_frequent_epochs_of_different_lengths_make_sharing_dearer() -> None:
    plain = synthetic()

    def with_epochs(rate: float) -> Setting:
        ends = dict(zip(sorted(plain.queries, key=sorted), (2, 3, 5, 6)))
        return Setting(
            plain.queries,
            plain.groups,
            plain.space,
            rate=rate,
            edges={of: frozenset({(seconds * 1000, 0)}) for of, seconds in ends.items()},
        )

    assert str(greedy_by_collision_rates(with_epochs(1e6)).configuration) == "ABCD(AC(A C) BD(B D))"
    assert str(greedy_by_collision_rates(with_epochs(100.0)).configuration) == "A B C D"


def test_the_cost_with_epochs_is_near_that_of_tables_that_are_emptied() -> None:
    groups = group_counts()
    of, rate = relation("ABCD"), 50_000.0
    setting = Setting(frozenset({of}), groups, 12_000, rate=rate, edges={of: frozenset({(1000, 0)})})
    configuration = Configuration((of,), (None,))
    traffic = uniform_traffic(400_000)
    run = replayed_cost(configuration, (12_000.0,), setting, traffic, [range(50_000, 400_001, 50_000)])
    assert cost(configuration, (12_000.0,), setting) == pytest.approx(run, rel=0.05)
