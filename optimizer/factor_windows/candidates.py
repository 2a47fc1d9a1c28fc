"""What the searches for a factor window have in common."""

from collections.abc import Sequence
from math import gcd

from optimizer.windows import Window


def common_slide(windows: Sequence[Window]) -> int:
    """The longest slide on which all of these windows start and end their spans."""
    first = windows[0]
    return gcd(*(part for one in windows for part in (one.slide, one.range, one.offset - first.offset)))


def divisors(number: int) -> list[int]:
    """All divisors, in no particular order.

    >>> sorted(divisors(12))
    [1, 2, 3, 4, 6, 12]
    """
    found, prime = [1], 2
    while number > 1:
        if prime * prime > number:
            prime = number
        powers = [1]
        while number % prime == 0:
            number //= prime
            powers.append(powers[-1] * prime)
        found = [divisor * power for divisor in found for power in powers]
        prime += 1
    return found
