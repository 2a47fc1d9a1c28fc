"""Collisions: how often a tuple meets another group in its bucket and drives it out (PHANTOM ch. 5).

A hash table holds one group a bucket. A rate is a share of the tuples that reach the table; tuples that come
in flows of one group collide once a flow at most, which divides the rate by the flow's mean length.
"""

from math import expm1, log1p

# Eq. 16, the straight line through rates up to 0.4; allocations are derived from its slope.
INTERCEPT = 0.0267
SLOPE = 0.354


def collision_rate(groups: float, buckets: float, flow_length: float = 1.0) -> float:
    """Eq. 13 and 15: exact for groups that are hashed independently and arrive in random order.

    >>> round(collision_rate(2, 2), 3), round(collision_rate(2837, 4000), 3)
    (0.25, 0.284)
    """
    return max(0.0, 1 - occupied_buckets(groups, buckets) / groups) / flow_length


def occupied_buckets(groups: float, buckets: float) -> float:
    """How many buckets hold something once every group has come by; a table has one bucket at least."""
    if buckets <= 1:
        return 1.0
    return -buckets * expm1(groups * log1p(-1 / buckets))


def low_collision_rate(groups: float, buckets: float, flow_length: float = 1.0) -> float:
    """Eq. 16: the linear approximation where collisions are rare."""
    return (INTERCEPT + SLOPE * groups / buckets) / flow_length
