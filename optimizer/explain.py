"""Explain: what a plan does for a query, in words and numbers that people can act on."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import floor

from optimizer.cost import Statistics, load, tree_cost
from optimizer.durations import format_duration
from optimizer.kernels import BY_NAME
from optimizer.plan import Plan
from optimizer.queries import Query

NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Joining:
    """What it means for new queries to join one tree; loads are the whole plan's."""

    tree: str
    is_new: bool  # the tree was not in the plan before
    shares_with: int  # other queries in the tree
    load_before: float
    load_after: float
    cost_alone: float  # of the new queries as a tree of their own
    cost_added: float  # of the tree, by the new queries
    saving: float  # 0 to 1, against alone


def joining(before: Plan, after: Plan, query_ids: Collection[str], statistics: Statistics) -> list[Joining]:
    """For each tree that the new queries join, what they share, add and save."""
    known = {tree.id for tree in before.trees}
    loads = load(before, statistics), load(after, statistics)
    found = []
    for tree in after.trees:
        new = [query for query in tree.queries if query.id in query_ids]
        others = [query for query in tree.queries if query.id not in query_ids]
        if not new:
            continue
        alone = tree_cost(new, statistics).total
        added = tree.cost - tree_cost(others, statistics).total if others else alone
        saving = max(0.0, 1 - added / alone) if alone else 0.0
        found.append(Joining(tree.id, tree.id not in known, len(others), *loads, alone, added, saving))
    return found


def cost_line(joinings: Sequence[Joining]) -> str:
    """One line for lists and confirmations: `joins tree 3 · +2 % load · 71 % cheaper than alone`."""
    parts = [_places(joinings), _load_change(joinings[0])]
    if any(joining.shares_with for joining in joinings):
        alone = sum(joining.cost_alone for joining in joinings)
        saved = sum(joining.cost_alone * joining.saving for joining in joinings)
        parts.append(f"{_whole_percent(saved / alone if alone else 0.0)} cheaper than alone")
    else:
        parts.append("shares with nothing yet")
    return " · ".join(parts)


def describe(plan: Plan, query_id: str) -> str:
    """One sentence that says where a query runs, with whom and how."""
    tree = plan.tree_of(query_id)
    query = next(query for query in tree.queries if query.id == query_id)
    others = len(tree.queries) - 1
    company = "alone" if not others else f"with {others} other {_plural('query', 'queries', others)}"
    slices = f"{tree.edge_rate:.3g} {_plural('slice', 'slices', tree.edge_rate)} a second"
    operations = f"{tree.omega:.3g} {_plural('operation', 'operations', tree.omega)} each"
    return (
        f"“{query.name}” ({_question(query)}) runs in tree {tree.id} {company}, "
        f"on {slices} with {operations} in {BY_NAME[tree.kernel].label}."
    )


def _question(query: Query) -> str:
    window = f"over {format_duration(query.window.range)} every {format_duration(query.window.slide)}"
    subject = f"{query.aggregate} of {query.field}" if query.field else query.aggregate
    grouped = f" by {', '.join(query.group_by)}" if query.group_by else ""
    filtered = f" where {query.where}" if query.where else ""
    return f"{subject} {window}{grouped}{filtered}"


def _places(joinings: Sequence[Joining]) -> str:
    started = [joining.tree for joining in joinings if joining.is_new]
    joined = [joining.tree for joining in joinings if not joining.is_new]
    phrases = [("joins", joined), ("starts", started)]
    return " and ".join(f"{verb} {_trees(ids)}" for verb, ids in phrases if ids)


def _trees(ids: Sequence[str]) -> str:
    if len(ids) == 1:
        return f"tree {ids[0]}"
    return f"trees {', '.join(ids[:-1])} and {ids[-1]}"


def _load_change(joining: Joining) -> str:
    percent = 100 * (joining.load_after - joining.load_before)
    size = f"{abs(percent):.0f}" if abs(percent) >= 0.95 else f"{abs(percent):.1f}"
    if float(size) == 0:
        return f"+0{NARROW_SPACE}% load"
    return f"{MINUS if percent < 0 else '+'}{size}{NARROW_SPACE}% load"


def _whole_percent(share: float) -> str:
    """Rounded down, so that 100 % is said of everything alone; a hair is added against binary fractions."""
    return f"{floor(share * 100 + 1e-9)}{NARROW_SPACE}%"


def _plural(one: str, several: str, count: float) -> str:
    return one if count == 1 else several
