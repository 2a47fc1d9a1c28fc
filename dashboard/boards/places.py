"""Where panels lie on the grid of 12 columns."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dashboard.boards.kinds import COLUMNS


class Place(NamedTuple):
    x: int
    y: int
    w: int
    h: int

    def overlaps(self, other: "Place") -> bool:
        beside = self.x + self.w <= other.x or other.x + other.w <= self.x
        return not beside and self.y < other.y + other.h and other.y < self.y + self.h


def free_place(taken: Sequence[Place], width: int, height: int) -> Place:
    """The first place with room, from the top, then from the left.

    >>> free_place([Place(0, 0, 6, 19)], 6, 12), free_place([Place(0, 0, 8, 19)], 6, 12)
    (Place(x=6, y=0, w=6, h=12), Place(x=0, y=19, w=6, h=12))
    """
    # A panel that fits higher up would fit where another one ends.
    for y in sorted({0, *(place.y + place.h for place in taken)}):
        for x in range(COLUMNS - width + 1):
            place = Place(x, y, width, height)
            if not any(place.overlaps(other) for other in taken):
                return place
    raise AssertionError("below all panels there is room")


def laid_out(sizes: Iterable[tuple[int, int]]) -> list[Place]:
    """Places for panels of these sizes, one after the other."""
    taken: list[Place] = []
    for width, height in sizes:
        taken.append(free_place(taken, width, height))
    return taken
