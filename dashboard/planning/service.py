"""Planning: all queries of a source go through the optimizer; the plan is stored, then told to the job."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from dashboard.accounts.people import first_name
from dashboard.audit.recording import record
from dashboard.live.meters import statistics
from dashboard.planning.figures import PlanLoad, running_loads, saving, together
from dashboard.planning.measured import with_measured_kernels
from dashboard.planning.models import PlanVersion
from dashboard.planning.wire import WireDown, send_plan
from dashboard.queries.models import SavedQuery
from dashboard.sources.models import Source
from optimizer.cost import Statistics
from optimizer.explain import Joining, joining
from optimizer.incremental import adapt, rearranged
from optimizer.plan import Plan
from optimizer.planning import optimize
from optimizer.queries import AnyQuery, Query, QuerySpec
from optimizer.strategies import DEFAULT_STRATEGY, STRATEGIES, strategy_named
from optimizer.throughput import catching_up_rate
from streaming.exact_queries import exactly

logger = logging.getLogger(__name__)
DRAFT_KEY = "draft"  # the key of a query that is not saved yet, in previews alone
BATCH_SECONDS = 1.0  # from an event's arrival to its result, about
MOST_NODES = 64

Planner = Callable[[Plan, list[AnyQuery], Statistics], Plan]  # of the running plan, its successor


@dataclass(frozen=True)
class Preview:
    """What saving a query would do."""

    joinings: list[Joining]  # per tree that its windows join
    load_before: float  # of all sources, as every page tells it
    load_after: float
    saving: float  # how much less load than running alone, 0 to 1, over all its windows
    first_result_seconds: float
    trees_now: frozenset[str] = frozenset()  # that the query runs in, where it does already


def replan(source: Source, cause: str) -> PlanVersion:
    """Make the next version of a source's plan from all its queries; the job is told after the commit."""
    with transaction.atomic():
        previous = _newest_locked(source)
        held = previous is not None and previous.held
        known = with_measured_kernels(statistics(source.key))
        follow = _kept_trees if held else _settled
        return _store(
            source, cause, follow(_running(source, previous), _all_queries(source), known), known, held
        )


def adopt(source: Source, strategy: str, nodes: int, person: User) -> PlanVersion:
    """Run what this strategy makes of today's queries; raises ValueError with the sentence of a refusal.

    Its trees are held: later edits change no more of them than they must.
    """
    checked_choice(strategy, nodes)
    label = strategy_named(strategy).label
    where = f" on {nodes} nodes" if nodes > 1 else ""
    return _next_version(
        source, f"{first_name(person)} adopted {label}{where}", _by_strategy(strategy, nodes), held=True
    )


def release(source: Source, person: User) -> PlanVersion:
    """Have Millrace choose again, as it does where nobody has chosen."""
    plan = _by_strategy(DEFAULT_STRATEGY, 1)
    return _next_version(source, f"{first_name(person)} let Millrace choose again", plan, held=False)


def go_back(source: Source, version: PlanVersion, person: User) -> PlanVersion:
    """Today's queries in the trees that they had in an older version, and held there."""
    cause = f"{first_name(person)} went back to plan {version.version}"
    return _next_version(source, cause, _as_in(version.value()), held=True)


def planned_by(source: Source, strategy: str, nodes: int) -> Plan:
    """What `adopt` would run; nothing is written."""
    checked_choice(strategy, nodes)
    return _planned(source, _by_strategy(strategy, nodes))


def planned_as_in(source: Source, version: PlanVersion) -> Plan:
    """What `go_back` would run; nothing is written."""
    return _planned(source, _as_in(version.value()))


def checked_choice(strategy: str, nodes: int) -> None:
    """Refuse, with a sentence, a strategy or a number of nodes that there is not."""
    strategy_named(strategy)
    checked_nodes(nodes)


def checked_nodes(nodes: int) -> None:
    if not 1 <= nodes <= MOST_NODES:
        raise ValueError(f"A plan runs on 1 to {MOST_NODES} nodes, not on {nodes:,}.")


def _by_strategy(strategy: str, nodes: int) -> Planner:
    def plan(running: Plan, queries: list[AnyQuery], known: Statistics) -> Plan:
        return optimize(
            queries,
            known,
            source=running.source,
            version=running.version + 1,
            strategy=strategy,
            nodes=nodes,
            previous=running,
        )

    return plan


def _as_in(old: Plan) -> Planner:
    return lambda running, queries, known: rearranged(old, running, queries, known)


def _settled(running: Plan, queries: list[AnyQuery], known: Statistics) -> Plan:
    return adapt(running, queries, known).settled()


def _kept_trees(running: Plan, queries: list[AnyQuery], known: Statistics) -> Plan:
    try:
        return adapt(running, queries, known).plan
    except ValueError:  # a strategy for few queries refuses so many
        return adapt(replace(running, strategy=DEFAULT_STRATEGY), queries, known).plan


def _planned(source: Source, plan: Planner) -> Plan:
    known = with_measured_kernels(statistics(source.key))
    return plan(_running(source, newest(source)), _all_queries(source), known)


def _next_version(source: Source, cause: str, plan: Planner, *, held: bool) -> PlanVersion:
    """Planned before the database is locked, as that can take seconds; again if it changed meanwhile."""
    known = with_measured_kernels(statistics(source.key))
    previous, queries = newest(source), _all_queries(source)
    made = plan(_running(source, previous), queries, known)
    with transaction.atomic():
        if (_newest_locked(source), _all_queries(source)) != (previous, queries):
            made = plan(_running(source, newest(source)), _all_queries(source), known)
        version = _store(source, cause, made, known, held)
        _record_choice(previous, version)
        return version


def _record_choice(previous: PlanVersion | None, made: PlanVersion) -> None:
    """In the audit log, as somebody chose it; the history of plans tells what became of it."""
    before = _choice_words(previous) if previous else None
    change = [["Plan", before, _choice_words(made)], ["Why", None, made.cause]]
    record("changed", "plan", made.source.name, change, key=made.source.key)


def _choice_words(version: PlanVersion) -> str:
    plan = version.value()
    strategy, nodes = STRATEGIES.get(plan.strategy), len(plan.nodes)
    label = strategy.label if strategy else plan.strategy
    return f"{version.version}: {label} on {nodes} node{'' if nodes == 1 else 's'}"


def _newest_locked(source: Source) -> PlanVersion | None:
    """One after another per source: versions count up, and no query is forgotten between two of them."""
    Source.with_deleted.select_for_update().get(pk=source.pk)
    return newest(source)


def _store(source: Source, cause: str, plan: Plan, known: Statistics, held: bool) -> PlanVersion:
    made = PlanVersion.objects.create(
        source=source,
        version=plan.version,
        plan=plan.to_json(),
        cause=cause,
        statistics=known.to_json(),
        estimated_throughput=catching_up_rate(plan, known) if plan.all_trees else None,
        held=held,
    )
    transaction.on_commit(lambda: _try_to_publish(source))
    return made


def newest(source: Source) -> PlanVersion | None:
    return PlanVersion.objects.filter(source=source).order_by("-version").first()


def publish_pending() -> int:
    """Tell the job of every newest plan that it has not heard of; the number that went out."""
    every = Source.with_deleted.select_related("connection")  # of one in the bin, that nothing reads it
    return sum(_try_to_publish(source) for source in every if _is_pending(newest(source)))


def _is_pending(version: PlanVersion | None) -> bool:
    return version is not None and version.published_at is None


def _try_to_publish(source: Source) -> bool:
    try:
        _publish_newest(source)
    except WireDown as error:
        logger.warning("The plan of %s is stored but not published: %s", source.key, error)
        return False
    return True


def _publish_newest(source: Source) -> None:
    """Send the newest version, and again if one came meanwhile: whoever sends last has sent the newest.

    Versions that were overtaken stay unpublished, and the topic never ends on an old one, without a lock
    held over the network.
    """
    sent: PlanVersion | None = None
    while (version := newest(source)) is not None and version != sent:
        send_plan(source.key, {"source": source.spec().to_json(), "plan": version.plan})
        PlanVersion.objects.filter(pk=version.pk).update(published_at=timezone.now())
        sent = version


def retire(source: Source) -> None:
    """Tell the job that a source is gone; raises WireDown if it cannot be told."""
    if newest(source) is not None:
        send_plan(source.key, None)


def preview(source: Source, spec: QuerySpec, *, replacing: SavedQuery | None = None) -> Preview:
    """What saving `spec` would do to the plan, in place of `replacing` if it is an edit. Writes nothing."""
    known = with_measured_kernels(statistics(source.key))
    key = replacing.key if replacing else DRAFT_KEY
    added = exactly(spec.queries(key=key), source.types)
    others = [query for query in _all_queries(source) if not _is_of(key, query)]
    running = _running(source, newest(source))
    before = adapt(running, others, known).plan
    after = adapt(running, others + added, known).plan  # of the running plan, as saving does it: trees stay
    every = running_loads()
    own = every.pop(source.key, None) or PlanLoad.of(source, before)
    beside = together(list(every.values())).load
    return Preview(
        joinings=joining(before, after, [query.id for query in added], known),
        load_before=beside + own.under(before).load,
        load_after=beside + own.under(after).load,
        saving=saving(before, after, added, own.statistics),
        first_result_seconds=_first_result_seconds(source, added),
        trees_now=frozenset(
            tree.id for tree in running.all_trees if any(_is_of(key, query) for query in tree.queries)
        ),
    )


def _is_of(key: str, query: AnyQuery) -> bool:
    return query.id.startswith(f"{key}@")


def _running(source: Source, version: PlanVersion | None) -> Plan:
    """The plan that the next one follows: its trees stay as they are where that costs little."""
    if version is None:
        return Plan(source.key, 0, DEFAULT_STRATEGY)
    return version.value() if version.held else replace(version.value(), strategy=DEFAULT_STRATEGY)


def _all_queries(source: Source) -> list[AnyQuery]:
    saved = SavedQuery.objects.select_related("source").filter(source=source, paused_at__isnull=True)
    saved = saved.order_by("pk")
    return [query for row in saved for query in row.queries()]


def _first_result_seconds(source: Source, queries: list[AnyQuery]) -> float:
    """Until the first window ends, its lateness has passed and the batch that holds both is done.

    When a count or session window ends is for the events to say: it may be the next one.
    """
    now = time.time_ns() // 1_000_000
    ends = (query.window.first_end_after(now) for query in queries if isinstance(query, Query))
    until_end = min(ends, default=now) - now
    return (until_end + source.allowed_lateness) / 1000 + BATCH_SECONDS
