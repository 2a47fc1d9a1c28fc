"""Plans carried out on a few events, tree by tree as planned, and the same questions answered naively."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from optimizer.plan import Plan, Tree
from optimizer.queries import Query
from optimizer.windows import Window

FILTERS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "": lambda event: True,
    "x > 1": lambda event: event["x"] > 1,
    "x > 5": lambda event: event["x"] > 5,
    "a = 1": lambda event: event["a"] == 1,
}
Event = Mapping[str, Any]  # t, v, and the fields that filters and group-bys read
Partial = tuple[int, ...]
Place = tuple[Any, ...]  # values of the fields grouped by, then which fragments hold

# What each carrier keeps of a value, and how two of them become one.
LIFT: dict[str, Callable[[int], Partial]] = {
    "additive": lambda v: (1, v),
    "moments": lambda v: (1, v, v * v),
    "min": lambda v: (v,),
    "max": lambda v: (v,),
    "extremes": lambda v: (v, v),
}
COMBINE: dict[str, list[Callable[[int, int], int]]] = {
    "additive": [int.__add__, int.__add__],
    "moments": [int.__add__, int.__add__, int.__add__],
    "min": [min],
    "max": [max],
    "extremes": [min, max],
}
# Where in a carrier's partial each component of another carrier is.
PARTS = {
    ("moments", "additive"): (0, 1),
    ("extremes", "min"): (0,),
    ("extremes", "max"): (1,),
}
LOWER: dict[str, dict[str, Callable[[Partial], Any]]] = {
    "additive": {"count": lambda p: p[0], "sum": lambda p: p[1], "mean": lambda p: (p[1], p[0])},
    "moments": {"count": lambda p: p[0], "sum": lambda p: p[1], "mean": lambda p: (p[1], p[0])}
    | dict.fromkeys(("variance", "stddev"), lambda p: p),
    "min": {"min": lambda p: p[0]},
    "max": {"max": lambda p: p[0]},
    "extremes": {"min": lambda p: p[0], "max": lambda p: p[1], "range": lambda p: p[1] - p[0]},
}


@dataclass
class _Made:
    """A tree's slices, or where it is made of answers only those, by the span and place they are of."""

    tree: Tree
    slices: dict[tuple[int, int], dict[Place, Partial]]
    answers: dict[Window, dict[tuple[int, int], dict[Place, Partial]]]


def answers_by_plan(plan: Plan, events: list[Event], until: int) -> dict[str, dict[tuple[int, Place], Any]]:
    """Each query's answers for all spans within `[0, until)`, computed the way the plan says."""
    made: dict[str, _Made] = {}
    while len(made) < len(plan.trees):
        for tree in plan.trees:
            if tree.id not in made and (tree.fed_by is None or tree.fed_by in made):
                made[tree.id] = _make(tree, made, events, until)
    return {query.id: _lowered(query, made[tree.id]) for tree in plan.trees for query in tree.queries}


def naive_answers(query: Query, events: list[Event], until: int) -> dict[tuple[int, Place], Any]:
    """The answers by definition: every span looks at every event."""
    carrier = {
        "variance": "moments",
        "stddev": "moments",
        "range": "extremes",
        "min": "min",
        "max": "max",
    }.get(query.aggregate, "additive")
    found = {}
    for start, end in _spans(query.window, until):
        groups: defaultdict[Place, list[Partial]] = defaultdict(list)
        for event in events:
            if start <= event["t"] < end and FILTERS[query.where or ""](event):
                groups[tuple(event[name] for name in query.group_by)].append(LIFT[carrier](event["v"]))
        for place, partials in groups.items():
            found[start, place] = LOWER[carrier][query.aggregate](_combined(carrier, partials))
    return found


def _make(tree: Tree, made: dict[str, _Made], events: list[Event], until: int) -> _Made:
    if tree.through is not None:
        assert tree.fed_by is not None
        return _made_of_answers(tree, tree.through, made[tree.fed_by], until)
    carrier = tree.key.family
    slices: defaultdict[tuple[int, int], defaultdict[Place, list[Partial]]]
    slices = defaultdict(lambda: defaultdict(list))
    edges = _edges(tree, until)
    for time_span, place, partial in _input(tree, made, events):
        low = max(edge for edge in edges if edge <= time_span[0])
        high = min(edge for edge in edges if edge > time_span[0])
        assert time_span[1] <= high, f"a slice of tree {tree.fed_by} crosses an edge of tree {tree.id}"
        slices[low, high][place].append(partial)
    folded = {
        span: {place: _combined(carrier, partials) for place, partials in groups.items()}
        for span, groups in slices.items()
    }
    return _Made(tree, folded, {window: _answered(window, folded, carrier, until) for window in tree.windows})


def _input(
    tree: Tree, made: dict[str, _Made], events: list[Event]
) -> Iterable[tuple[tuple[int, int], Place, Partial]]:
    key = tree.key
    if tree.fed_by is None:
        passes = (
            (lambda event: any(FILTERS[f](event) for f in key.fragments)) if " OR " in key.where else None
        )
        for event in events:
            if (passes or FILTERS[key.where])(event):
                bits = tuple(FILTERS[where](event) for where in key.fragments)
                place = tuple(event[name] for name in key.group_by) + bits
                yield (event["t"], event["t"] + 1), place, LIFT[key.family](event["v"])
        return
    feeding = made[tree.fed_by]
    of = feeding.tree.key
    assert feeding.slices or feeding.tree.through is None, "a tree made of answers has no slices"
    for span, groups in feeding.slices.items():
        for place, partial in groups.items():
            row: dict[str, Any] = dict(zip((*of.group_by, *of.fragments), place, strict=True))
            if key.where != of.where and not (
                row[key.where] if key.where in of.fragments else FILTERS[key.where](row)
            ):
                continue
            parts = PARTS.get((of.family, key.family))
            taken = tuple(partial[i] for i in parts) if parts else partial
            yield span, tuple(row[name] for name in (*key.group_by, *key.fragments)), taken


def _made_of_answers(tree: Tree, through: Window, feeding: _Made, until: int) -> _Made:
    (window,) = tree.windows
    carrier = tree.key.family
    found: dict[tuple[int, int], dict[Place, Partial]] = {}
    spans = _spans(through, until)
    for start, end in _spans(window, until):
        inside = [span for span in spans if start <= span[0] and span[1] <= end]
        assert set().union(*(range(*span) for span in inside)) == set(range(start, end)), "a gap"
        if carrier in ("additive", "moments"):
            assert sum(high - low for low, high in inside) == end - start, "counted twice"
        groups: defaultdict[Place, list[Partial]] = defaultdict(list)
        for span in inside:
            for place, partial in feeding.answers[through].get(span, {}).items():
                groups[place].append(partial)
        found[start, end] = {place: _combined(carrier, partials) for place, partials in groups.items()}
    return _Made(tree, {}, {window: found})


def _answered(
    window: Window, slices: dict[tuple[int, int], dict[Place, Partial]], carrier: str, until: int
) -> dict[tuple[int, int], dict[Place, Partial]]:
    found = {}
    for start, end in _spans(window, until):
        groups: defaultdict[Place, list[Partial]] = defaultdict(list)
        for (low, high), places in slices.items():
            if low < end and high > start:
                assert start <= low and high <= end, f"a slice crosses the end of a span of {window}"
                for place, partial in places.items():
                    groups[place].append(partial)
        found[start, end] = {place: _combined(carrier, partials) for place, partials in groups.items()}
    return found


def _lowered(query: Query, made: _Made) -> dict[tuple[int, Place], Any]:
    lower = LOWER[made.tree.key.family][query.aggregate]
    return {
        (start, place): lower(partial)
        for (start, _), places in made.answers[query.window].items()
        for place, partial in places.items()
    }


def _spans(window: Window, until: int) -> list[tuple[int, int]]:
    first = window.offset % window.slide
    return [(s, s + window.range) for s in range(first, until, window.slide) if s + window.range <= until]


def _edges(tree: Tree, until: int) -> list[int]:
    edges = {0, until}
    for window in tree.windows:
        for period, residue in window.edge_classes:
            edges.update(range(residue, until, period))
    return sorted(edges)


def _combined(carrier: str, partials: list[Partial]) -> Partial:
    total = partials[0]
    for partial in partials[1:]:
        total = tuple(
            combine(one, other) for combine, one, other in zip(COMBINE[carrier], total, partial, strict=True)
        )
    return total
