"""The papers' examples: which aggregate over how many slices, and what comes in."""

from dataclasses import dataclass
from typing import Any

from streaming.aggregates import AGGREGATES
from streaming.kernels import check_pairing, element


@dataclass(frozen=True)
class Example:
    words: str
    aggregate: str
    ranges: tuple[int, ...]
    inputs: tuple[int, ...]

    @property
    def algebra(self) -> Any:
        return AGGREGATES[self.aggregate].parts[0]

    def partial(self, value: int) -> Any:
        return AGGREGATES[self.aggregate].lift(value)[0]

    def shown(self, state: Any) -> str:
        """A state as the number that it stands for; nothing where there is none."""
        number = AGGREGATES[self.aggregate].lower(1, state)
        return "" if number != number else f"{number:g}"


TEN = (2, 4, 0, 3, 7, 6, 1, 8, 9, 5)
EIGHT = (6, 5, 0, 1, 3, 4, 2, 7)

MAX_5 = Example("Max over 5 slices", "max", (5,), TEN)
MAX_5_2 = Example("Max over 5 and 2 slices", "max", (5, 2), TEN)
SUM_5 = Example("Sum over 5 slices", "sum", (5,), EIGHT)
SUM_3_5 = Example("Sum over 3 and 5 slices", "sum", (3, 5), EIGHT)
MAX_3_5 = Example("Max over 3 and 5 slices", "max", (3, 5), EIGHT)
EXACT_3_5 = Example("Exact sum over 3 and 5 slices", "exact_sum", (3, 5), EIGHT)
EXAMPLES = (MAX_5, MAX_5_2, SUM_5, SUM_3_5, MAX_3_5, EXACT_3_5)


def is_legal(name: str, example: Example) -> bool:
    try:
        check_pairing(name, example.algebra, len(example.ranges))
    except ValueError:
        return False
    return True


def operations_per_step(name: str, example: Example) -> list[int]:
    kernel = element(name, example.algebra, example.ranges)
    counts = []
    for value in example.inputs:
        before = kernel.operations
        kernel.push(example.partial(value))
        counts.append(kernel.operations - before)
    return counts
