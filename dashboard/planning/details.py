"""One tree in full: what it costs and keeps, why it has its kernel, and its queries with their owners."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor

from dashboard.accounts.people import first_name
from dashboard.live.history import query_key
from dashboard.live.meters import process_meters
from dashboard.live.relay import wall_clock
from dashboard.live.warnings import left_out, warning_of
from dashboard.planning.changes import window_words
from dashboard.planning.overview import SourcePlan, TreeRow, computes, costed
from dashboard.planning.work import TreeEstimate, TreeMeasure
from dashboard.queries.models import SavedQuery
from optimizer.explain import Explainer
from optimizer.kernel_choice import why_this_kernel
from optimizer.kernels import partials_per_window
from optimizer.plan import Tree
from optimizer.queries import AnyQuery, Query


@dataclass(frozen=True)
class QueryRow:
    """One single-window query of a tree."""

    name: str
    address: str  # empty: it was deleted meanwhile
    owner: str
    computes: str
    window: str
    partials: float | None  # that a window is made of
    saving: int  # per cent cheaper than alone
    why: str  # the optimizer's words


@dataclass(frozen=True)
class Details:
    row: TreeRow
    why_kernel: str
    groups: int
    estimate: TreeEstimate
    measure: TreeMeasure | None
    queries: list[QueryRow]
    fed_by: str | None
    feeds: tuple[str, ...]
    warning: str  # what it leaves out; empty: nothing

    @property
    def partials(self) -> tuple[float, float] | None:
        """The fewest and the most that a window is made of."""
        told = [query.partials for query in self.queries if query.partials is not None]
        return (min(told), max(told)) if told else None

    @property
    def deviation(self) -> float | None:
        """Of the measured cost from the estimated one."""
        if self.measure is None or not self.estimate.total:
            return None
        return self.measure.cost / self.estimate.total - 1


def details(plan: SourcePlan, row: TreeRow) -> Details:
    tree = row.tree
    measure = plan.measures.get(tree.id)
    saved = _saved(plan)
    explainer = Explainer(costed(plan.plan, plan.statistics), plan.statistics)
    return Details(
        row=row,
        why_kernel=why_this_kernel(tree, plan.statistics) if isinstance(tree, Tree) and tree.queries else "",
        groups=measure.groups if measure else plan.statistics.groups_in(tree.key),
        estimate=plan.estimates[tree.id],
        measure=measure,
        queries=[_query_row(query, row, explainer, saved) for query in tree.queries],
        fed_by=tree.fed_by if isinstance(tree, Tree) else None,
        feeds=tuple(other.id for other in plan.plan.trees if other.fed_by == tree.id),
        warning=_warning(plan, tree.id),
    )


def _warning(plan: SourcePlan, tree: str) -> str:
    """Of this plan's tree: in another plan its number is another tree's."""
    found = left_out(process_meters.recent(plan.source.key)[1], wall_clock())
    return warning_of(found, frozenset({(plan.version.version, tree)}))


def _saved(plan: SourcePlan) -> dict[str, SavedQuery]:
    rows = SavedQuery.objects.filter(source=plan.source).select_related("owner")
    return {query.key: query for query in rows}


def _query_row(
    query: AnyQuery, row: TreeRow, explainer: Explainer, saved: Mapping[str, SavedQuery]
) -> QueryRow:
    known = saved.get(query_key(query.id))
    explanation = explainer.explanation(query.id)
    timed = isinstance(query, Query) and row.edge_rate
    return QueryRow(
        name=query.name,
        address=known.get_absolute_url() if known else "",
        owner=first_name(known.owner) if known else "",
        computes=computes(query),
        window=window_words(query),
        partials=partials_per_window(query.window, row.edge_rate) if timed else None,  # type: ignore[arg-type]
        saving=floor(100 * explanation.saving + 1e-9),
        why="\n".join(line.strip() for line in explanation.lines()[1:]),
    )
