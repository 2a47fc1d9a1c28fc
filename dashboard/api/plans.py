"""Plans over the API: history, what another strategy would do, adopting, the way back, verifying."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from dashboard.accounts.people import first_name, signed_in
from dashboard.accounts.rights import check_may_change
from dashboard.api.pages import FARTHEST, Page, PageAsked, page_of
from dashboard.api.refusals import REFUSALS, Refused
from dashboard.api.shapes import Given, Text
from dashboard.api.sources import found_source
from dashboard.planning import service
from dashboard.planning.calibration import TooLittleMeasured, calibrate
from dashboard.planning.changes import differences, effects
from dashboard.planning.figures import running_loads, saved_queries, together
from dashboard.planning.identity import tree_identity
from dashboard.planning.models import CalibrationRecord, PlanVersion, ThroughputSample
from dashboard.planning.news import note_if_unheard
from dashboard.planning.overview import SourcePlan
from dashboard.planning.samples import samples_of
from dashboard.planning.verifying import MINUTES, Verifying, check_may_see
from dashboard.planning.what_if import Comparison
from dashboard.platform.folder_tasks import ASKED, DONE, FAILED, TooMany
from dashboard.queries.models import SavedQuery
from dashboard.sources.models import Source
from optimizer.plan import Plan

router = Router(tags=["Plans"])


class VersionShown(Schema):
    version: int
    cause: str
    created_at: datetime
    published_at: datetime | None
    held: bool = Field(description="Somebody chose its trees: edits change no more than they must.")
    strategy: str
    nodes: int
    trees: int
    queries: int = Field(description="What people saved.")
    windows: int = Field(description="What trees answer: one measure over one window of a query.")
    estimated_throughput: float | None = Field(
        description="Capacity, in events a second: foreseen when it was made, at the rate of then."
    )
    note: str | None = Field(None, description="What to know about a change that was made.")

    @classmethod
    def of(cls, version: PlanVersion, note: str | None = None) -> "VersionShown":
        plan = version.value()
        return cls(
            version=version.version,
            cause=version.cause,
            created_at=version.created_at,
            published_at=version.published_at,
            held=version.held,
            strategy=plan.strategy,
            nodes=len(plan.nodes),
            trees=len(plan.all_trees),
            queries=saved_queries(plan),
            windows=len(plan.all_queries),
            estimated_throughput=version.estimated_throughput,
            note=note,
        )


class VersionInFull(Schema):
    version: VersionShown
    changes: list[str] = Field(description="What it changed of the one before, in words.")
    plan: dict[str, Any]


class Choice(Given):
    strategy: Text = Field("", description="Such as best_woven; GET …/strategies lists them.")
    nodes: int = 1


class EffectShown(Schema):
    query: str = Field(description="The id of a query's single window.")
    tree_before: str
    tree_after: str
    load_before: float = Field(description="Share of the cores' time, 0 to 1.")
    load_after: float
    words: str


class Previewed(Schema):
    """What would change; nothing is written."""

    cost_before: float = Field(description="Of this plan, in windows that run alone.")
    cost_after: float
    load_before: float = Field(description="Of all sources: share of the cores' time, 0 to 1.")
    load_after: float
    headroom_before: float = Field(description="Events a second, at least: larger batches cost less each.")
    headroom_after: float
    changes: list[str]
    effects: list[EffectShown]


class OutcomeShown(Schema):
    strategy: str
    label: str
    total_cost: float | None = Field(description="In windows that run alone; null: refused, or too slow.")
    max_node_cost: float
    trees: int
    seconds: float = Field(description="Time to plan.")
    refusal: str


class Compared(Schema):
    state: str = Field(description="asked, running, done, failed or cancelled.")
    outcomes: list[OutcomeShown]


class Calibrated(Schema):
    created_at: datetime
    by: str | None = Field(description="null: Millrace itself.")
    plan: int
    seconds_per_event: dict[str, float]


class Sample(Schema):
    at: datetime
    plan: int
    estimated: float = Field(description="Capacity, in events a second, that was foreseen.")
    actual: float = Field(description="Capacity that the job showed; not the rate at which events arrived.")

    @classmethod
    def of(cls, sample: ThroughputSample, tree: str | None) -> "Sample":
        estimated, actual = sample.of(tree)
        return cls(at=sample.at, plan=sample.plan, estimated=estimated, actual=actual)


class VerifyAsked(Given):
    query: Text = Field(description="The key of a query.")
    minutes: int = Field(MINUTES[0], description="5, 15 or 60.")


class Verified(Schema):
    key: str
    state: str = Field(description="running, done, failed or cancelled.")
    progress: str
    problem: str
    rows: int | None
    equal: int | None
    within: int | None = Field(description="Not equal, but as near as the aggregate’s error explains.")
    different: int | None
    windows: list[dict[str, Any]]


@router.get("/{slug:key}/plans", response={200: Page[VersionShown], **REFUSALS}, summary="List its plans")
def list_plans(request: HttpRequest, key: str, asked: PageAsked) -> Any:
    """The newest first."""
    return page_of(found_source(key).plans.order_by("-version"), asked, VersionShown.of)


@router.get(
    "/{slug:key}/plans/{version}", response={200: VersionInFull, **REFUSALS}, summary="Look at a plan"
)
def show_version(request: HttpRequest, key: str, version: int) -> Any:
    found = _version(found_source(key), version)
    earlier = found.source.plans.filter(version__lt=found.version).order_by("-version").first()
    before = earlier.value() if earlier else Plan(key, 0, "")
    return VersionInFull(
        version=VersionShown.of(found), changes=differences(before, found.value()), plan=found.plan
    )


@router.get("/{slug:key}/strategies", response={200: Compared, **REFUSALS}, summary="Compare all strategies")
def compare_strategies(request: HttpRequest, key: str, nodes: int | None = None) -> Any:
    """On its queries of now, and as many nodes as the plan has or are asked for.

    They are worked out in the background: ask again until it is done.
    """
    shown = _running(found_source(key))
    nodes = len(shown.plan.nodes) if nodes is None else nodes
    try:
        service.checked_nodes(nodes)
    except ValueError as refusal:
        raise Refused({"nodes": str(refusal)}) from refusal
    comparison = Comparison.of(shown.version, nodes)
    if comparison.state == ASKED:
        comparison.start(shown.version, nodes)
    return Compared(
        state=comparison.state,
        outcomes=[
            OutcomeShown(
                strategy=one.strategy,
                label=one.label,
                total_cost=one.total,
                max_node_cost=one.max_node,
                trees=one.trees,
                seconds=one.seconds,
                refusal=one.refusal,
            )
            for one in comparison.outcomes(shown.taken)
        ],
    )


@router.post(
    "/{slug:key}/plan/preview", response={200: Previewed, **REFUSALS}, summary="What a strategy would do"
)
def preview_strategy(request: HttpRequest, key: str, sent: Choice) -> Any:
    shown = _running(found_source(key))
    try:
        plan = service.planned_by(shown.source, sent.strategy, sent.nodes)
    except ValueError as refusal:
        raise Refused({"strategy": str(refusal)}) from refusal
    return _previewed(shown, plan)


@router.post("/{slug:key}/plan/adopt", response={200: VersionShown, **REFUSALS}, summary="Adopt a strategy")
def adopt_strategy(request: HttpRequest, key: str, sent: Choice) -> Any:
    """Its trees are held until they are released: edits change no more of them than they must."""
    source = _own(request, key)
    try:
        made = service.adopt(source, sent.strategy, sent.nodes, signed_in(request))
    except ValueError as refusal:
        raise Refused({"strategy": str(refusal)}) from refusal
    return VersionShown.of(made, note_if_unheard([made]))


@router.post(
    "/{slug:key}/plan/release", response={200: VersionShown, **REFUSALS}, summary="Let Millrace choose"
)
def release_plan(request: HttpRequest, key: str) -> Any:
    made = service.release(_own(request, key), signed_in(request))
    return VersionShown.of(made, note_if_unheard([made]))


@router.post(
    "/{slug:key}/plans/{version}/back", response={200: VersionShown, **REFUSALS}, summary="Go back to a plan"
)
def back_to_plan(request: HttpRequest, key: str, version: int) -> Any:
    """Today's queries in the trees that they had then; queries that are new since go where they add least."""
    source = _own(request, key)
    made = service.go_back(source, _version(source, version), signed_in(request))
    return VersionShown.of(made, note_if_unheard([made]))


@router.get(
    "/{slug:key}/throughput", response={200: Page[Sample], **REFUSALS}, summary="Estimated and actual"
)
def list_throughput(request: HttpRequest, key: str, asked: PageAsked, tree: str | None = None) -> Any:
    """Samples of five minutes, the newest first: of the plan, or of a tree of the plan that runs."""
    source = found_source(key)
    own = _identity(source, tree) if tree is not None else None
    return page_of(samples_of(source, own).reverse(), asked, lambda sample: Sample.of(sample, own))


@router.get(
    "/{slug:key}/calibrations", response={200: Page[Calibrated], **REFUSALS}, summary="List calibrations"
)
def list_calibrations(request: HttpRequest, key: str, asked: PageAsked) -> Any:
    records = CalibrationRecord.objects.filter(source=found_source(key)).select_related("made_by")
    return page_of(records, asked, _calibrated)


@router.post("/{slug:key}/calibrations", response={201: Calibrated, **REFUSALS}, summary="Calibrate anew")
def calibrate_source(request: HttpRequest, key: str) -> Any:
    try:
        return 201, _calibrated(calibrate(_own(request, key), signed_in(request)))
    except TooLittleMeasured as problem:
        raise Refused({"source": str(problem)}) from problem


@router.post("/{slug:key}/verify", response={202: Verified, **REFUSALS}, summary="Verify a query")
def verify_query(request: HttpRequest, key: str, sent: VerifyAsked) -> Any:
    """Its last minutes are computed anew by Spark's `window()`, in the background."""
    query = (
        SavedQuery.objects.select_related("source").filter(source=found_source(key), key=sent.query).first()
    )
    if query is None:
        raise Refused({"query": f"There is no query “{sent.query}”."})
    try:
        return 202, _verified(Verifying.start(query, sent.minutes, signed_in(request)))
    except (TooMany, ValueError) as refusal:
        raise Refused({"minutes": str(refusal)}) from refusal


@router.get(
    "/{slug:key}/verify/{task}", response={200: Verified, **REFUSALS}, summary="How a verification is"
)
def show_verification(request: HttpRequest, key: str, task: str) -> Any:
    return _verified(_verification(request, key, task))


@router.post(
    "/{slug:key}/verify/{task}/cancel", response={200: Verified, **REFUSALS}, summary="Cancel a verification"
)
def cancel_verification(request: HttpRequest, key: str, task: str) -> Any:
    """One that has ended stays as it is."""
    found = _verification(request, key, task)
    found.cancel()
    return _verified(found)


def _verification(request: HttpRequest, key: str, task: str) -> Verifying:
    found = Verifying.find(task)
    query = found.query() if found else None
    if found is None or (query and query.source.key != key):
        raise HttpError(404, "There is no such verification; they are kept for a day.")
    check_may_see(found, signed_in(request))
    return found


def _verified(task: Verifying) -> Verified:
    state, summary = task.state, task.read("summary") or {}
    return Verified(
        key=task.key,
        state=state,
        progress=task.progress()["words"],
        problem=task.problem if state == FAILED else "",
        rows=summary.get("rows"),
        equal=summary.get("equal"),
        within=summary.get("within"),
        different=summary.get("different"),
        windows=(task.read("compared") or {"members": []})["members"] if state == DONE else [],
    )


def _calibrated(record: CalibrationRecord) -> Calibrated:
    by = None if record.automatic else first_name(record.made_by)
    return Calibrated(
        created_at=record.created_at, by=by, plan=record.plan, seconds_per_event=record.measured
    )


def _previewed(shown: SourcePlan, plan: Plan) -> Previewed:
    others = [one for key, one in running_loads().items() if key != shown.source.key]
    now, then = together([shown.taken], others), together([shown.taken.under(plan)], others)
    return Previewed(
        cost_before=now.cost,
        cost_after=then.cost,
        load_before=now.load,
        load_after=then.load,
        headroom_before=now.headroom,
        headroom_after=then.headroom,
        changes=differences(shown.plan, plan),
        effects=[
            EffectShown(
                query=one.query.id,
                tree_before=one.before,
                tree_after=one.after,
                load_before=one.load_before,
                load_after=one.load_after,
                words=one.words,
            )
            for one in effects(shown.taken, shown.taken.under(plan))
        ],
    )


def _running(source: Source) -> SourcePlan:
    shown = SourcePlan.of(source)
    if shown is None:
        raise HttpError(404, f"There is no plan of “{source.key}” yet: it has no queries.")
    return shown


def _identity(source: Source, tree_id: str) -> str:
    tree = _running(source).tree(tree_id)
    if tree is None:
        raise HttpError(404, f"There is no tree {tree_id} in the plan of “{source.key}”.")
    return tree_identity(tree)


def _version(source: Source, number: int) -> PlanVersion:
    known = source.plans.filter(version=number).first() if 0 <= number <= FARTHEST else None
    if known is None:
        raise HttpError(404, f"There is no plan {number} of “{source.key}”.")
    return known


def _own(request: HttpRequest, key: str) -> Source:
    source = found_source(key)
    check_may_change(signed_in(request), source)
    return source
