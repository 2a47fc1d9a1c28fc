"""GCD table (SHEIN 5.2.4): common divisors looked up instead of computed, the paper's option for F1."""

from collections.abc import Callable
from functools import cache

import numpy as np

Gcd = Callable[[int, int], int]


@cache
def gcd_table(largest: int) -> Gcd:
    """A gcd that looks pairs up to `largest` up, and takes Euclid's steps until larger ones are that small.

    >>> gcd_table(100)(12, 18), gcd_table(100)(1200, 1800)
    (6, 600)
    """
    numbers = np.arange(largest + 1)
    table = [row.tolist() for row in np.gcd.outer(numbers, numbers)]

    def looked_up(one: int, other: int) -> int:
        while one > largest or other > largest:
            if not other:
                return one
            one, other = other, one % other
        return table[one][other]

    return looked_up
