from math import gcd, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.edges import (
    METHODS,
    EdgeCounter,
    bit_set,
    coprime_split,
    count_edges,
    edge_rate,
    f1,
    general_f1,
)
from optimizer.edges.classes import EdgeClass, composite_slide, intersection, without_contained
from optimizer.edges.coprime_split import coprime_base
from optimizer.edges.f1 import alternating_terms
from optimizer.edges.gcd_table import gcd_table
from optimizer.edges.signed_overlaps import signed_overlaps
from optimizer.windows import Window

all_methods = pytest.mark.parametrize("method", METHODS)
WITH_SHIFTS: list[EdgeCounter] = [bit_set, general_f1, signed_overlaps, coprime_split]
FIVE_SLIDES = [(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)]  # SHEIN examples 8 and 9
FRAGMENTED = [(3, 0), (4, 0), (4, 3), (6, 0), (6, 2), (9, 0)]  # SHEIN examples 10 and 12
edge_classes = st.integers(1, 24).flatmap(
    lambda period: st.tuples(st.just(period), st.integers(0, period - 1))
)
class_sets = st.frozensets(edge_classes, min_size=1, max_size=7)
# Periods full of common factors, and composite slides too long to be marked: 2^5·3^3·5^2·7.
entangled_periods = st.builds(
    lambda two, three, five, seven: 2**two * 3**three * 5**five * 7**seven,
    st.integers(0, 5),
    st.integers(0, 3),
    st.integers(0, 2),
    st.integers(0, 1),
)
entangled_sets = st.frozensets(
    entangled_periods.flatmap(lambda period: st.tuples(st.just(period), st.integers(0, period - 1))),
    min_size=2,
    max_size=8,
)


def marked(classes: frozenset[EdgeClass] | list[EdgeClass], ticks: range) -> list[int]:
    return [tick for tick in ticks if any(tick % period == residue for period, residue in classes)]


@all_methods
def test_five_slides_without_fragments_have_44_edges(method: str) -> None:
    assert count_edges(FIVE_SLIDES, method) == (METHODS[method](FIVE_SLIDES), 60) == (44, 60)


def test_the_terms_of_f1_without_fragments_come_out_as_printed() -> None:
    assert alternating_terms(FIVE_SLIDES) == [87, 70, 36, 10, 1]


@pytest.mark.parametrize("method", WITH_SHIFTS)
def test_four_slides_with_fragments_have_27_edges(method: EdgeCounter) -> None:
    assert (method(FRAGMENTED), composite_slide(FRAGMENTED)) == (27, 36)


def test_f1_without_fragments_refuses_shifts() -> None:
    with pytest.raises(ValueError, match="knows no shifts: count these edges by the general F1"):
        f1(FRAGMENTED)


def test_a_way_to_count_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="called “magic”: use one of bit_set, f1, general_f1, coprime_split"):
        count_edges(FIVE_SLIDES, "magic")


def test_the_terms_of_the_general_f1_come_out_as_printed() -> None:
    assert alternating_terms(FRAGMENTED) == [46, 26, 8, 1]


def test_slide_3_meets_slide_6_shifted_by_3_and_never_the_one_shifted_by_2() -> None:
    assert intersection((3, 0), (6, 3)) == (6, 3)
    assert intersection((3, 0), (6, 2)) is None


def test_two_windows_share_8_edges_in_18_seconds() -> None:
    one, other = Window(12_000, 9_000), Window(10_000, 6_000)
    assert edge_rate(one.edge_classes) == pytest.approx(2 / 9)
    assert edge_rate(other.edge_classes) == pytest.approx(2 / 6)
    together = one.edge_classes | other.edge_classes
    assert count_edges(together) == (8, 18_000)
    assert marked(together, range(1, 18_001)) == [1000 * edge for edge in (3, 4, 6, 9, 10, 12, 16, 18)]
    assert edge_rate(together) == pytest.approx(8 / 18)


@given(edge_classes, edge_classes)
def test_the_intersection_of_two_classes_is_where_both_have_instants(
    one: EdgeClass, other: EdgeClass
) -> None:
    span = range(composite_slide([one, other]))
    both = [tick for tick in marked([one], span) if tick in marked([other], span)]
    met = intersection(one, other)
    assert both == (marked([met], span) if met else [])


@given(class_sets)
def test_all_methods_agree_with_marking_by_hand(classes: frozenset[EdgeClass]) -> None:
    if composite_slide(classes) < 50_000:
        expected = len(marked(classes, range(composite_slide(classes))))
        assert [method(classes) for method in WITH_SHIFTS] == [expected] * len(WITH_SHIFTS)
    else:
        assert general_f1(classes) == signed_overlaps(classes) == coprime_split(classes)


@given(st.frozensets(st.integers(1, 40), min_size=1, max_size=9))
def test_all_methods_agree_on_slides_without_fragments(slides: frozenset[int]) -> None:
    classes = [(slide, 0) for slide in slides]
    counts = {name: count_edges(classes, name) for name in METHODS if name != "bit_set"}
    assert set(counts.values()) == {(f1(classes), composite_slide(classes))}
    if composite_slide(classes) < 50_000:
        assert f1(classes) == len(marked(classes, range(composite_slide(classes))))


@given(entangled_sets)
def test_the_methods_agree_on_entangled_periods(classes: frozenset[EdgeClass]) -> None:
    assert general_f1(classes) == signed_overlaps(classes) == coprime_split(classes) == bit_set(classes)


@given(
    st.frozensets(
        st.integers(40, 400).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p - 1))),
        min_size=7,
        max_size=10,
    )
)
def test_the_split_is_exact_on_spans_that_cannot_be_marked(classes: frozenset[EdgeClass]) -> None:
    assert coprime_split(classes) == signed_overlaps(classes)


@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 8), st.integers(0, 10**9))
def test_factors_too_large_to_be_looked_for_are_still_told_apart(a: int, b: int, c: int, shift: int) -> None:
    large, larger = 1_000_003, 1_000_033  # primes
    periods = [a * large, b * larger, c * large * larger, 7 * large, 11 * larger, 13 * large, 17 * larger]
    classes = {(period, shift * number % period) for number, period in enumerate(periods)}
    assert coprime_split(classes) == signed_overlaps(classes)


@given(st.integers(0, 5000), st.integers(0, 5000))
def test_the_gcd_table_gives_common_divisors(one: int, other: int) -> None:
    assert gcd_table(60)(one, other) == gcd(one, other)


def test_the_gcd_table_changes_no_count() -> None:
    assert f1(FIVE_SLIDES, gcd_table(60)) == 44
    assert general_f1(FRAGMENTED, gcd_table(60)) == 27


@given(class_sets, st.integers(1, 5000), st.integers(0, 10**6))
def test_finer_ticks_and_later_origins_change_the_span_and_not_the_edges(
    classes: frozenset[EdgeClass], tick: int, origin: int
) -> None:
    finer = {(period * tick, (residue * tick + origin) % (period * tick)) for period, residue in classes}
    assert count_edges(finer) == (general_f1(classes), composite_slide(classes) * tick)


@given(class_sets)
def test_dropping_contained_classes_drops_no_instant(classes: frozenset[EdgeClass]) -> None:
    ticks = range(600)
    kept = without_contained(classes)
    assert marked(list(kept), ticks) == marked(classes, ticks)
    for left_out in kept:
        rest = [edge_class for edge_class in kept if edge_class != left_out]
        assert all(intersection(left_out, other) != left_out for other in rest)


def test_alternating_terms_add_up_to_the_count() -> None:
    classes = [(6, 1), (10, 3), (15, 4), (8, 5), (12, 7), (9, 0)]
    signed = sum(term * (-1) ** size for size, term in enumerate(alternating_terms(classes)))
    assert signed == bit_set(classes)


def primes(count: int) -> list[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < count:
        if all(candidate % prime for prime in found):
            found.append(candidate)
        candidate += 1
    return found


def test_hundreds_of_coprime_slides_are_counted_exactly() -> None:
    slides = primes(300)
    edges, span = count_edges([(slide, 0) for slide in slides])
    assert span == prod(slides) > 2**63
    assert edges == span - prod(slide - 1 for slide in slides)  # all but the totatives


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=12))
def test_a_coprime_base_divides_all_numbers_out(numbers: list[int]) -> None:
    base = coprime_base(numbers)
    assert all(composite_slide([(a, 0), (b, 0)]) == a * b for a in base for b in base if a != b)
    for number in numbers:
        for factor in base:
            while number % factor == 0:
                number //= factor
        assert number == 1


def test_a_bit_set_refuses_a_span_that_does_not_fit_into_memory() -> None:
    with pytest.raises(ValueError, match="ticks is too long for a bit set: count by F1"):
        bit_set([(prime, 0) for prime in primes(12)])


def test_nothing_has_no_edges() -> None:
    assert count_edges([]) == (0, 1)
    assert edge_rate([]) == 0
