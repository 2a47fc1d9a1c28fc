"""The min-cost window coverage graph: each window computed from what is cheapest (FACTOR algorithm 1)."""

from collections.abc import Callable, Collection, Container, Mapping
from dataclasses import dataclass
from fractions import Fraction

from optimizer.factor_windows.costs import WindowCosts
from optimizer.windows import Window

Relation = Callable[[Window, Window], bool]


@dataclass(frozen=True)
class CoverageGraph:
    """A forest: for each window the one that it is computed from (None: the events), and what that costs."""

    sources: Mapping[Window, Window | None]
    costs: Mapping[Window, Fraction]

    @property
    def total(self) -> Fraction:
        return sum(self.costs.values(), Fraction(0))


class Choices:
    """For each window all that it could be computed from, cheapest first."""

    def __init__(self, windows: Collection[Window], relation: Relation, costs: WindowCosts) -> None:
        ordered = sorted(windows)
        self._choices: dict[Window, list[tuple[Fraction, Window | None]]] = {}
        for window in ordered:
            sources = [None, *(one for one in ordered if one is not window and relation(window, one))]
            priced = [(costs.total(window, source), source) for source in sources]
            self._choices[window] = sorted(priced, key=lambda choice: choice[0])

    def cheapest(
        self, window: Window, among: Container[Window], without: Window | None = None
    ) -> tuple[Fraction, Window | None]:
        """The least cost of a window, and its source, where only these windows are computed."""
        for cost, source in self._choices[window]:
            if source is None or (source in among and source != without):
                return cost, source
        raise AssertionError("The events are always among the choices.")

    def graph(self, windows: Collection[Window]) -> CoverageGraph:
        """The min-cost graph of these windows: none of them can be computed from anything cheaper."""
        chosen = {window: self.cheapest(window, windows) for window in windows}
        return CoverageGraph(
            sources={window: source for window, (_, source) in chosen.items()},
            costs={window: cost for window, (cost, _) in chosen.items()},
        )


def min_cost_graph(windows: Collection[Window], relation: Relation, costs: WindowCosts) -> CoverageGraph:
    """The cheapest way to compute these windows from the events and from each other."""
    return Choices(windows, relation, costs).graph(frozenset(windows))
