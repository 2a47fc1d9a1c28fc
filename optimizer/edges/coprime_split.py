"""Coprime split: distinct edges through the instants that no class touches; work follows residues.

Classes whose periods have no common factor meet independently of each other, so their free instants multiply.
Classes that do share a factor are told apart by the residue of time modulo that factor; for each residue that
matters the factor drops out of their periods, and the rest splits again. Work follows how entangled periods
are, where inclusion and exclusion follows how many there are: hundreds of coprime slides are one product.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import gcd, lcm

from optimizer.edges.classes import EdgeClass, composite_slide, without_contained
from optimizer.edges.signed_overlaps import signed_overlaps

FEW_CLASSES = 6  # up to here signed overlaps are the fastest
MARKED_SPAN = 1 << 12  # ticks; a composite slide this short is faster marked, as the bits of one number
SMALL_FACTORS = 1000  # shared factors are looked for up to here first

Free = tuple[int, int]  # how many instants of a span no class touches, and the span


def coprime_split(classes: Iterable[EdgeClass]) -> int:
    """Distinct edges in one composite slide, exact for any size of it.

    >>> coprime_split([(3, 0), (4, 0), (4, 3), (6, 0), (6, 2), (9, 0)])
    27
    """
    distinct = set(classes)
    free, span = _free(without_contained(distinct))
    return (span - free) * (composite_slide(distinct) // span)


def _free(pattern: Sequence[EdgeClass]) -> Free:
    """Of classes of which none is inside another."""
    free = span = 1
    for part in _coprime_parts(pattern):
        free_of_part, span_of_part = _free_of_part(part)
        free *= free_of_part
        span *= span_of_part
    return free, span


@lru_cache(maxsize=1 << 15)  # trees that grow by a window bring back most of the parts they had
def _free_of_part(part: tuple[EdgeClass, ...]) -> Free:
    span = composite_slide(part)
    if len(part) == 1:
        return span - 1, span
    if span <= MARKED_SPAN:
        return span - _marked(part, span), span
    if len(part) <= FEW_CLASSES:
        return span - signed_overlaps(part), span
    return _free_by_residue(part, span)


def _free_by_residue(part: Sequence[EdgeClass], span: int) -> Free:
    """The part split on a shared factor: residues modulo its powers are nested places in time."""
    factor = _most_shared_factor([period for period, _ in part])
    power = 1
    asked: dict[EdgeClass, list[EdgeClass]] = {(1, 0): []}  # by place: what classes ask of the rest of time
    for edge_class in part:
        place, rest = _split(edge_class, factor)
        asked.setdefault(place, []).append(rest)
        power = max(power, place[0])
    residues = {place: power // place[0] for place in asked}  # in the place, but in none nested inside it
    for place in sorted(asked):  # holders come before what they hold
        holder = _nearest_holder(place, factor, residues)
        if holder:
            residues[holder] -= power // place[0]
            asked[place] = asked[place] + asked[holder]
    free_in_span = 0
    for place, count in residues.items():
        if count:
            free, repeated_after = _free(without_contained(asked[place]))
            free_in_span += count * free * (span // power // repeated_after)
    return free_in_span, span


def _split(edge_class: EdgeClass, factor: int) -> tuple[EdgeClass, EdgeClass]:
    """A class as its residue modulo the highest power of the factor, and what it asks of the rest."""
    period, residue = edge_class
    power = 1
    while period % factor == 0:
        period //= factor
        power *= factor
    return (power, residue % power), (period, residue % period)


def _nearest_holder(place: EdgeClass, factor: int, places: dict[EdgeClass, int]) -> EdgeClass | None:
    power, residue = place
    while power > 1:
        power //= factor
        if (power, residue % power) in places:
            return power, residue % power
    return None


def _coprime_parts(classes: Sequence[EdgeClass]) -> list[tuple[EdgeClass, ...]]:
    """Classes gathered so that periods of different parts have no common factor."""
    parts: list[tuple[int, list[EdgeClass]]] = []
    for edge_class in classes:
        span, members = edge_class[0], [edge_class]
        apart = []
        for part in parts:
            if gcd(part[0], edge_class[0]) > 1:
                span, members = lcm(span, part[0]), part[1] + members
            else:
                apart.append(part)
        parts = [*apart, (span, members)]
    return [tuple(sorted(members)) for _, members in parts]


def _most_shared_factor(periods: Sequence[int]) -> int:
    shared = Counter(factor for period in periods for factor in _small_factors(period))
    factor, sharers = max(shared.items(), key=lambda item: item[1], default=(0, 0))
    if sharers > 1:
        return factor
    base = coprime_base(periods)
    return max(base, key=lambda candidate: sum(period % candidate == 0 for period in periods))


@lru_cache(maxsize=1 << 14)
def _small_factors(period: int) -> tuple[int, ...]:
    """The prime factors of a period below a bound."""
    factors = []
    candidate = 2
    while candidate < SMALL_FACTORS and candidate <= period:
        if period % candidate == 0:
            factors.append(candidate)
            while period % candidate == 0:
                period //= candidate
        candidate += 1
    return tuple(factors)


def coprime_base(numbers: Iterable[int]) -> tuple[int, ...]:
    """Pairwise coprime factors of whose powers all the numbers are products; needs gcds only, no primes.

    >>> coprime_base([12, 18, 35])
    (2, 3, 35)
    """
    base: set[int] = set()
    pending = [number for number in numbers if number > 1]
    while pending:
        number = pending.pop()
        rival = next((factor for factor in base if gcd(number, factor) > 1), None)
        if rival is None:
            base.add(number)
            continue
        shared = gcd(number, rival)
        base.discard(rival)
        pending += [part for part in (shared, number // shared, rival // shared) if part > 1]
    return tuple(sorted(base))


def _marked(part: Iterable[EdgeClass], span: int) -> int:
    marks = 0
    for period, residue in part:
        marks |= _every(period, span) << residue
    return marks.bit_count()


@lru_cache(maxsize=1 << 12)
def _every(period: int, span: int) -> int:
    """A number whose bits 0, period, 2·period, … are set, up to a span that is a multiple of the period."""
    return ((1 << span) - 1) // ((1 << period) - 1)
