"""Group costs: what a strategy's groups take as trees, by where each is fed from."""

from collections.abc import Sequence
from dataclasses import replace

from optimizer.cost import FamilyCosts, Statistics, TreeCost, answers_cost, edges_of, feeding_cost
from optimizer.windows import Window
from optimizer.workload import Group


def group_costs(groups: Sequence[Group], statistics: Statistics) -> list[TreeCost]:
    """What each group takes as a tree, by where it is fed from."""
    return [_cost(groups, position, statistics) for position in range(len(groups))]


def _cost(groups: Sequence[Group], position: int, statistics: Statistics) -> TreeCost:
    group = groups[position]
    if group.through is not None:
        return _answers_cost(group, group.through, statistics)
    input_rate = _input_rate(groups, group, statistics)
    answered = _answered_windows(groups, position)
    if not answered:
        return feeding_cost(group.windows, group.key, statistics, input_rate)
    consumers = [query for fed in _fed_from(groups, position) for query in fed.queries]
    costs = FamilyCosts(consumers, statistics, key=group.key, input_rate=input_rate)
    return costs.tree_at(answered, edges_of(group.windows))


def _answers_cost(group: Group, through: Window, statistics: Statistics) -> TreeCost:
    (window,) = group.windows
    cost = answers_cost(window, through, group.key, statistics)
    if not group.queries:
        return cost
    # It needs no kernel while it is fed, but a job that makes it of the events does.
    return replace(cost, kernel=FamilyCosts(group.queries, statistics).tree({window}).kernel)


def _input_rate(groups: Sequence[Group], group: Group, statistics: Statistics) -> float:
    if group.feed is None:
        return statistics.events_in(group.key)
    feeding = groups[group.feed]
    return edges_of(feeding.windows) * statistics.groups_in(feeding.key)


def _answered_windows(groups: Sequence[Group], position: int) -> set[Window]:
    """Those of its queries, and those whose answers feed others (a tumbling window's are its slices)."""
    asked = {query.window for query in groups[position].queries}
    passed_on = {group.through for group in groups if group.feed == position and group.through}
    return asked | {window for window in passed_on if window.range != window.slide}


def _fed_from(groups: Sequence[Group], position: int) -> list[Group]:
    """The group and all that is made of it, directly or through others."""
    below = [_fed_from(groups, fed) for fed, group in enumerate(groups) if group.feed == position]
    return [groups[position], *(group for fed in below for group in fed)]
