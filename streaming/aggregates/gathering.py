"""Gathering: how the events of one slice become its partial, in whatever order they come.

Events of a slice arrive over several tasks and batches, each in its own order. So a slice that is still open
keeps gathered states, whose combination commutes: for most algebras these are the states themselves, sums
carry along what rounding loses, and aggregates that depend on the order of events keep with a value when and
where it was. When the slice closes its gathered state becomes the state that kernels work with.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from streaming.aggregates.algebra import Algebra, State
from streaming.aggregates.exact_arithmetic import two_sum

PARTITION = 2.0**40  # messages of a Kafka partition before the place of the next begins
Columns = tuple[np.ndarray, ...]


class Order(NamedTuple):
    """When events were, and where: their order where times are equal. The same in every run over a log."""

    times: np.ndarray  # int64, ms
    places: np.ndarray  # float64: Kafka partition and offset in one

    def of(self, rows: np.ndarray) -> "Order":
        return Order(self.times[rows], self.places[rows])


def places(partition: int, offsets: np.ndarray) -> np.ndarray:
    return partition * PARTITION + offsets


class Numbers:
    """Gathers states of numbers as they are."""

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra

    def lifted(self, columns: Columns, order: Order, rows: np.ndarray) -> np.ndarray:
        """Gathered states of some events, of which `rows` says where `order` has them: (columns, events)."""
        return np.stack(columns)

    def closed(self, gathered: np.ndarray) -> np.ndarray:
        """States of gathered ones: (columns, groups)."""
        return gathered


class GatheredSum(NamedTuple):
    """(total, what rounding lost of it)."""

    name = "gathered_sum"
    dtype = np.float64
    identity = (0.0, 0.0)
    commutative = True
    inverse = "none"
    selective = False
    idempotent = False
    running_identity = ()

    def combine(self, older, newer):
        total, lost = two_sum(older[0], newer[0])
        return (total, older[1] + newer[1] + lost)


class Sums(Numbers):
    """Sums whose result does not depend on the order of events."""

    def __init__(self) -> None:
        super().__init__(GatheredSum())

    def lifted(self, columns: Columns, order: Order, rows: np.ndarray) -> np.ndarray:
        return np.stack([columns[0], np.zeros_like(columns[0])])

    def closed(self, gathered: np.ndarray) -> np.ndarray:
        total, lost = gathered
        # A total that is infinite or no number says so; what rounding lost is no number beside it.
        return np.where(np.isfinite(total), total + lost, total)[None]


class Ordered(Numbers):
    """States with the time and place of the event that was chosen, as their last two columns."""

    def lifted(self, columns: Columns, order: Order, rows: np.ndarray) -> np.ndarray:
        times, places = order.of(rows)
        return np.stack([*columns, times.astype(np.float64), places])

    def closed(self, gathered: np.ndarray) -> np.ndarray:
        return gathered[:-2]


class Objects:
    """Gathers states that are Python values, and whose combination commutes."""

    def __init__(self, algebra: Algebra, lift: Callable[[Any], State]) -> None:
        self.algebra = algebra
        self._lift = lift

    @property
    def nothing(self) -> Any:
        return self.algebra.identity

    def lifted(self, values: Sequence[Any], order: Order) -> Any:
        """The gathered state of some events of a group."""
        return reduce(self.algebra.combine, map(self._lift, values))

    def combine(self, one: Any, other: Any) -> Any:
        return self.algebra.combine(one, other)

    def closed(self, gathered: Any) -> State:
        return gathered


class Bulk(Objects):
    """States that many values at once make far faster than one after the other."""

    def __init__(self, algebra: Algebra, sketch: Callable[[Sequence[Any]], State]) -> None:
        super().__init__(algebra, lambda value: sketch([value]))
        self._sketch = sketch

    def lifted(self, values: Sequence[Any], order: Order) -> Any:
        return self._sketch(values)


class Items(Objects):
    """Values with their time and place, in that order: the oldest or the newest that an answer can hold."""

    nothing = ()

    def __init__(
        self, algebra: Algebra, lift: Callable[[Any], State], most: int, newest: bool = False
    ) -> None:
        super().__init__(algebra, lift)
        self._most = most
        self._newest = newest

    def lifted(self, values: Sequence[Any], order: Order) -> Any:
        items = zip(order.times.tolist(), order.places.tolist(), values, strict=True)
        return self._kept(sorted(items, key=_when))

    def combine(self, one: Any, other: Any) -> Any:
        return self._kept(sorted([*one, *other], key=_when))

    def closed(self, gathered: Any) -> State:
        return reduce(
            self.algebra.combine, (self._lift(value) for _, _, value in gathered), self.algebra.identity
        )

    def _kept(self, items: list[tuple[float, float, Any]]) -> tuple[Any, ...]:
        return tuple(items[-self._most :] if self._newest else items[: self._most])


class DistinctItems(Items):
    """Of equal values the oldest."""

    def _kept(self, items: list[tuple[float, float, Any]]) -> tuple[Any, ...]:
        seen: dict[Any, tuple[float, float, Any]] = {}
        for item in items:
            seen.setdefault(self._lift(item[2]).items, item)
        return super()._kept(list(seen.values()))


def _when(item: tuple[float, float, Any]) -> tuple[float, float]:
    return item[0], item[1]


Gathering = Numbers | Objects
