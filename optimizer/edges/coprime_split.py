"""Coprime split: distinct edges through the share of time that no class touches.

Classes whose periods have no common factor meet independently of each other, so their free shares multiply.
Classes that do share a factor are told apart by the residue of time modulo that factor; for each residue that
matters the factor drops out of their periods, and the rest splits again. Work follows how entangled periods
are, where inclusion and exclusion follows how many there are: hundreds of coprime slides are one product.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd, prod

from optimizer.edges.bit_set import bit_set
from optimizer.edges.classes import EdgeClass, composite_slide, contains, without_contained

MARKED_SPAN = 1 << 13  # a composite slide this short is faster marked than split


def coprime_split(classes: Iterable[EdgeClass]) -> int:
    """Distinct edges in one composite slide, exact for any size of it.

    >>> coprime_split([(3, 0), (4, 0), (4, 3), (6, 0), (6, 2), (9, 0)])
    27
    """
    distinct = set(classes)
    span = composite_slide(distinct)
    factors = coprime_base(period for period, _ in distinct)
    return int(span * (1 - _FreeShare(factors).of(distinct)))


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


class _FreeShare:
    """The share of all instants that are in none of some classes, remembered for every set met."""

    def __init__(self, factors: Sequence[int]) -> None:
        self._factors = factors
        self._known: dict[tuple[EdgeClass, ...], Fraction] = {}

    def of(self, classes: Iterable[EdgeClass]) -> Fraction:
        return prod(map(self._of_part, _coprime_parts(without_contained(classes))), start=Fraction(1))

    def _of_part(self, part: tuple[EdgeClass, ...]) -> Fraction:
        if len(part) == 1:
            return 1 - Fraction(1, part[0][0])
        if part not in self._known:
            span = composite_slide(part)
            marked = span <= MARKED_SPAN
            self._known[part] = 1 - Fraction(bit_set(part), span) if marked else self._by_residue(part)
        return self._known[part]

    def _by_residue(self, part: tuple[EdgeClass, ...]) -> Fraction:
        factor = max(self._factors, key=lambda candidate: sum(not p % candidate for p, _ in part))
        split = [_split(edge_class, factor) for edge_class in part]
        everywhere: EdgeClass = (1, 0)
        shares = _own_shares({everywhere, *(ball for ball, _ in split)})
        return sum(
            (
                share * self.of(rest for ball, rest in split if contains(ball, place))
                for place, share in shares.items()
                if share
            ),
            start=Fraction(0),
        )


def _coprime_parts(classes: Sequence[EdgeClass]) -> list[tuple[EdgeClass, ...]]:
    """Classes gathered so that periods of different parts have no common factor."""
    parts: list[tuple[int, list[EdgeClass]]] = []
    for edge_class in classes:
        product, members = edge_class[0], [edge_class]
        apart = []
        for part in parts:
            if gcd(part[0], edge_class[0]) > 1:
                product, members = product * part[0], part[1] + members
            else:
                apart.append(part)
        parts = [*apart, (product, members)]
    return [tuple(sorted(members)) for _, members in parts]


def _split(edge_class: EdgeClass, factor: int) -> tuple[EdgeClass, EdgeClass]:
    """A class as its residue modulo the highest power of the factor, and what it asks of the rest."""
    period, residue = edge_class
    power = 1
    while period % factor == 0:
        period //= factor
        power *= factor
    return (power, residue % power), (period, residue % period)


def _own_shares(places: set[EdgeClass]) -> dict[EdgeClass, Fraction]:
    """For nested classes: the share of instants in each that are in none of those nested inside it."""
    shares = {place: Fraction(1, place[0]) for place in places}
    for place in places:
        holders = [other for other in places if other != place and contains(other, place)]
        if holders:
            shares[max(holders)] -= Fraction(1, place[0])
    return shares
