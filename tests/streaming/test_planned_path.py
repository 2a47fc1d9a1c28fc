"""Trees run as planned: answers are right without it too, so here is counted who does what, and how often."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pytest

from optimizer import Statistics, optimize
from optimizer.kernels import BY_NAME
from optimizer.plan import Plan, Tree
from optimizer.queries import Query
from optimizer.windows import Window
from streaming import expressions, feeds, ladders, partials, shuffle, task
from streaming.kernels import BatchedDeques
from streaming.kernels.run.batched import Batched
from streaming.lane_kernels import ColumnKernels, Due
from streaming.lanes import Lane
from streaming.slices import LaneSlices
from tests.streaming.engine import SOURCE, Engine, Event, brute_force, plan_of

BASE = 1_700_000_000_000
BATCHES, PARTITIONS, EACH = 4, 2, 300  # messages of each partition in each batch
READINGS = replace(SOURCE, schema=(*SOURCE.schema, ("site", "text"), ("power", "number")))
HOT_OR = "temp > 70 OR CAST(device AS DOUBLE) > 1"  # what follows OR fails on every event
D1_OR = "device = 'd1' OR CAST(device AS DOUBLE) > 1"
HOLDS: dict[str | None, Callable[[Event], bool]] = {
    None: lambda event: True,
    HOT_OR: lambda event: event["temp"] > 70,
    D1_OR: lambda event: event["device"] == "d1",
    "temp > 20 -- or so": lambda event: event["temp"] > 20,
    "temp > 20": lambda event: event["temp"] > 20,
    "temp > 70": lambda event: event["temp"] > 70,
    "power > 50": lambda event: event["power"] > 50,
    "site = 's1'": lambda event: event["site"] == "s1",
}
Batch = dict[int, list[Any]]  # messages by partition


def readings() -> list[Batch]:
    """Out of order within the lateness that is allowed; sums are exact in binary.

    A partition brings six seconds with a batch: its events are many more than its slices and groups.
    """
    drawn = Random(7)
    log = [
        {
            "ts": BASE + at * 10 - drawn.randrange(900),
            "device": f"d{drawn.randrange(8)}",
            "site": f"s{drawn.randrange(4)}",
            "temp": drawn.randrange(400) / 4,
            "power": drawn.randrange(400) / 4,
        }
        for at in range(BATCHES * PARTITIONS * EACH)
    ]
    size = PARTITIONS * EACH
    parts = [log[low : low + size] for low in range(0, len(log), size)]
    return [{number: part[number::PARTITIONS] for number in range(PARTITIONS)} for part in parts]


def asked(
    name: str,
    aggregate: str,
    seconds: int,
    every: int,
    by: tuple[str, ...] = ("device",),
    where: str | None = None,
    value: str = "temp",
) -> Query:
    return Query(name, name, aggregate, value, Window(seconds * 1_000, every * 1_000), by, where)


FAST = Statistics(rate=1e6, groups={("device",): 8, ("site",): 4, ("device", "site"): 32})
BOTH = ("device", "site")
PLANS = {
    "a phantom": optimize(
        [asked("device", "sum", 4, 2), asked("site", "mean", 3, 1, ("site",))], FAST, strategy="phantoms"
    ),
    "a finer group-by": optimize(
        [asked("both", "max", 4, 2, BOTH), asked("site", "max", 6, 2, ("site",))], FAST, strategy="phantoms"
    ),
    "groups that pass a filter": optimize(
        [asked("both", "sum", 4, 2, BOTH), asked("one", "sum", 6, 2, where="site = 's1'")],
        FAST,
        strategy="best",
    ),
    "fragments of the weaker filter": optimize(
        [asked("warm", "sum", 4, 2, where="temp > 20"), asked("hot", "sum", 6, 2, where="temp > 70")],
        FAST,
        strategy="best",
    ),
    "fragments of either filter": optimize(
        [asked("warm", "sum", 4, 2, where="temp > 20"), asked("busy", "sum", 6, 2, where="power > 50")],
        FAST,
        strategy="best",
    ),
    "composite slices": optimize(
        [asked(f"{size}s", "sum", size, size) for size in (3, 4, 6, 12)],
        Statistics(rate=100, groups={("device",): 8}),
        strategy="triweave",
    ),
}
TUMBLING = [asked("4s", "max", 4, 4), asked("6s", "max", 6, 6)]
FACTOR_WINDOWS = optimize(TUMBLING, FAST, strategy="best")
every_feed = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)


@dataclass
class Work:
    """What a map task did with its events."""

    events: int
    folded: list[Lane] = field(default_factory=list)  # made of the events
    fed: list[tuple[Lane, Lane]] = field(default_factory=list)  # the second made of the first
    filters: Counter[tuple[str, int]] = field(
        default_factory=Counter
    )  # with how many rows each was asked about
    steps: Counter[str] = field(default_factory=Counter)  # that lanes have in common


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> list[Work]:
    """The work of all map tasks that there are from now on."""
    done: list[Work] = []

    def began(_made: None, _events: object, table: Any, *_: object) -> None:
        done.append(Work(len(table)))

    def folded(made: object, _events: object, lane: Lane, *_: object) -> None:
        done[-1].folded += [] if made is None else [lane]

    def fed(made: object, lane: Lane, feeding: Lane, *_: object) -> None:
        done[-1].fed += [] if made is None else [(feeding, lane)]

    def filtered(_made: object, where: str, table: Any) -> None:
        done[-1].filters[where, len(table)] += 1

    watch(monkeypatch, partials.Events, "__init__", began)
    watch(monkeypatch, partials.Events, "_folded", folded)
    watch(monkeypatch, feeds, "fed", fed)
    watch(monkeypatch, expressions, "decided", filtered)
    for step in ("group", "_cut_events", "_slots"):
        watch(monkeypatch, partials, step, lambda *_, step=step: done[-1].steps.update([step]))
    return done


def watch(monkeypatch: pytest.MonkeyPatch, holder: Any, name: str, note: Callable[..., None]) -> None:
    """Tell `note` of each call: what came of it, and what was given."""
    real = getattr(holder, name)

    def watched(*given: Any) -> Any:
        made = real(*given)
        note(made, *given)
        return made

    monkeypatch.setattr(holder, name, watched)


def run(plan: Plan, batches: Iterable[Batch], shards: int = 2) -> Engine:
    engine = Engine(plan, shards=shards, source=READINGS)
    for batch in batches:
        engine.batch(batch)
    return engine


def check_answers(engine: Engine, queries: Iterable[Query], batches: Iterable[Batch]) -> None:
    """All windows close, and every final answer is that of the definition."""
    engine.batch(end=True)
    events = [event for batch in batches for log in batch.values() for event in log]
    expected = {}
    for query in queries:
        expected |= brute_force([query], [event for event in events if HOLDS[query.where](event)])
    assert engine.finals() == expected


def feeding(plan: Plan, *queries: str) -> Tree:
    """The tree that feeds those of these queries, which are as many."""
    trees = {plan.tree_of(query).id: plan.tree_of(query) for query in queries}
    assert len(trees) == len(queries)
    (fed_by,) = {tree.fed_by for tree in trees.values()}
    assert fed_by is not None
    return plan.tree(fed_by)


def lanes_of(engine: Engine, tree: str) -> Iterator[LaneSlices]:
    """A tree's lane in every shard."""
    for shard in engine.workers:
        yield from (slices for slices in shard.lanes.values() if slices.lane.tree == tree)


# --- feeds --------------------------------------------------------------------------------------------


def test_plans_of_these_queries_have_feeds_of_every_kind() -> None:
    """So that no test below passes for want of one."""
    phantom = feeding(PLANS["a phantom"], "device", "site")
    assert (phantom.queries, phantom.key.group_by) == ((), BOTH)
    finer = feeding(PLANS["a finer group-by"], "site")
    assert [query.id for query in finer.queries] == ["both"]
    assert feeding(PLANS["groups that pass a filter"], "one").key.where == ""
    weaker = feeding(PLANS["fragments of the weaker filter"], "warm", "hot")
    assert (weaker.key.where, weaker.key.fragments) == ("temp > 20", ("temp > 70",))
    either = feeding(PLANS["fragments of either filter"], "warm", "busy")
    assert either.key.fragments == ("power > 50", "temp > 20")
    composite = feeding(PLANS["composite slices"], "3s", "4s", "6s")
    assert (composite.queries, len(composite.windows)) == ((), 4)
    factor = feeding(FACTOR_WINDOWS, "4s", "6s")
    assert (factor.queries, factor.windows) == ((), (Window(2_000, 2_000),))
    through = {tree.through for tree in FACTOR_WINDOWS.trees if tree is not factor}
    assert through == {Window(2_000, 2_000)}
    assert not any(tree.through for plan in PLANS.values() for tree in plan.trees)


@every_feed
def test_a_fed_tree_is_made_of_the_partials_of_the_one_that_feeds_it(plan: Plan, tasks: list[Work]) -> None:
    """Only a tree that nothing feeds looks at events, once in each task."""
    batches = readings()
    engine = run(plan, batches)
    assert [work.events for work in tasks] == [EACH] * PARTITIONS * BATCHES
    unfed = [tree.id for tree in plan.trees if tree.fed_by is None]
    planned = sorted((tree.fed_by, tree.id) for tree in plan.trees if tree.fed_by is not None)
    for work in tasks:
        assert [lane.tree for lane in work.folded] == unfed
        assert sorted((by.tree, lane.tree) for by, lane in work.fed) == planned
    check_answers(engine, plan.queries, batches)


@every_feed
def test_a_tree_that_only_feeds_others_never_reaches_a_shard(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = sent_to(monkeypatch)
    engine = run(plan, readings())
    answering = {tree.id for tree in plan.trees if tree.queries}
    assert {engine.timeline.lane(lane).tree for lane in sent} == answering
    for shard in engine.workers:
        assert {slices.lane.tree for slices in shard.lanes.values()} == answering


def test_windows_are_made_of_the_answers_to_their_factor_window(
    tasks: list[Work], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of their final windows once, and their trees have no slices of their own."""
    answered: Counter[tuple[Window, Window]] = Counter()

    def note(_made: object, rung: ladders.Rung, dues: list[Due]) -> None:
        answered.update({(rung.window, due.window): len(due.ends) for due in dues})

    watch(monkeypatch, ladders.Rung, "finals", note)
    batches = readings()
    engine = run(FACTOR_WINDOWS, batches)
    factor = feeding(FACTOR_WINDOWS, "4s", "6s")
    assert [[lane.tree for lane in work.folded] for work in tasks] == [[factor.id]] * PARTITIONS * BATCHES
    for shard in engine.workers:
        assert [slices.lane.tree for slices in shard.lanes.values()] == [factor.id]
    check_answers(engine, TUMBLING, batches)
    finals = Counter(block.query for block in engine.blocks if block.final)
    (made_of,) = factor.windows
    assert answered == {(made_of, query.window): finals[query.id] for query in TUMBLING}


def test_a_feed_that_comes_with_a_later_plan_is_used_from_then_on(tasks: list[Work]) -> None:
    queries = PLANS["a phantom"].queries
    apart = optimize(queries, FAST, strategy="no_share")
    phantom = optimize(queries, FAST, strategy="phantoms", version=2, previous=apart)
    batches = readings()
    later = [
        {number: [event | {"ts": event["ts"] + 1_000} for event in log] for number, log in batch.items()}
        for batch in batches[2:]
    ]  # after all that was seen before
    engine = run(apart, batches[:2])
    engine.batch(plan=phantom)
    assert all(len(work.folded) == 2 and not work.fed for work in tasks)
    tasks.clear()
    for batch in later:
        engine.batch(batch)
    feeder = feeding(phantom, "device", "site")
    assert len(tasks) == PARTITIONS * len(later)
    for work in tasks:
        assert [lane.tree for lane in work.folded] == [feeder.id]
        assert len(work.fed) == 2
    check_answers(engine, queries, batches[:2] + later)


# --- what trees have in common ------------------------------------------------------------------------


def test_trees_with_the_same_filter_and_group_by_fold_the_events_once(tasks: list[Work]) -> None:
    """Their slices differ, so the events are folded into common ones, which no plan knows."""
    where = "temp > 20"
    queries = [
        asked("sums", "sum", 4, 2, where=where),
        asked("means", "mean", 3, 3, where=where),
        asked("highest", "max", 5, 1, where=where),
    ]
    batches = readings()
    engine = run(plan_of([[query] for query in queries]), batches)
    assert len(tasks) == PARTITIONS * BATCHES
    for work in tasks:
        (common,) = work.folded
        assert common.tree == ""
        assert sorted((by.id, lane.tree) for by, lane in work.fed) == [
            (common.id, tree) for tree in ("1", "2", "3")
        ]
    check_answers(engine, queries, batches)


def test_trees_over_different_fields_look_for_the_slots_of_events_once(tasks: list[Work]) -> None:
    """Each field is gathered by itself, but in the same slices and groups."""
    queries = [
        asked("temps", "sum", 4, 2),
        asked("peaks", "max", 3, 3),
        asked("powers", "sum", 4, 2, value="power"),
    ]
    batches = readings()
    engine = run(plan_of([[query] for query in queries]), batches)
    assert len(tasks) == PARTITIONS * BATCHES
    for work in tasks:
        assert sorted(lane.signature.field or "" for lane in work.folded) == ["power", "temp"]
        assert len(work.fed) == 3
        assert work.steps == {"group": 1, "_cut_events": 1, "_slots": 1}
    check_answers(engine, queries, batches)


def failed(engine: Engine) -> dict[str, int]:
    """By tree, how many values it left out."""
    told: Counter[str] = Counter()
    for meter in engine.meters:
        told.update({tree: work["failed_values"] for tree, work in meter["trees"].items()})
    return dict(told)


def test_what_cannot_be_computed_is_left_out_of_all_trees_that_share_it(tasks: list[Work]) -> None:
    value = "CASE WHEN site = 's1' THEN CAST(device AS DOUBLE) ELSE temp END"
    queries = [asked("sums", "sum", 4, 2, value=value), asked("peaks", "max", 3, 3, value=value)]
    batches = readings()
    engine = run(plan_of([[query] for query in queries]), batches)
    assert [len(work.folded) for work in tasks] == [1] * PARTITIONS * BATCHES
    at_s1 = sum(event["site"] == "s1" for batch in batches for log in batch.values() for event in log)
    assert failed(engine) == {"1": at_s1, "2": at_s1}


SHARED = {
    "in common": [asked("one", "sum", 4, 2, where=HOT_OR), asked("other", "max", 3, 3, where=HOT_OR)],
    "fragments": [
        asked("one", "sum", 4, 2, BOTH, HOT_OR),
        asked("other", "sum", 6, 2, BOTH, "temp > 20 -- or so"),
    ],
    "groups": [asked("one", "sum", 6, 2, where=D1_OR), asked("other", "sum", 4, 2, BOTH)],
}


@pytest.mark.parametrize("queries", SHARED.values(), ids=SHARED)
def test_a_filter_that_fails_says_so_and_takes_nothing_from_others(queries: list[Query]) -> None:
    """However it is evaluated: joined with other filters, or on groups alone."""
    batches = readings()
    plan = optimize(queries, FAST, strategy="best")
    engine = run(plan, batches)
    told = failed(engine)
    check_answers(engine, queries, batches)
    events = [event for batch in batches for log in batch.values() for event in log]
    for query in queries:
        fails = query.where in (HOT_OR, D1_OR)
        undecided = sum(not HOLDS[query.where](event) for event in events) if fails else 0
        assert told[plan.tree_of(query.id).id] == undecided


DRAWN = Random(11)
MISTYPED = [  # the readings, a tenth of whose fields hold something else
    {
        number: [
            {
                name: [value] if name != "ts" and DRAWN.random() < 0.1 else value
                for name, value in event.items()
            }
            for event in log
        ]
        for number, log in batch.items()
    }
    for batch in readings()
]
HOWEVER_PLANNED = {**PLANS, "factor windows": FACTOR_WINDOWS} | {
    name: optimize(queries, FAST, strategy="best") for name, queries in SHARED.items()
}


@pytest.mark.parametrize("plan", HOWEVER_PLANNED.values(), ids=HOWEVER_PLANNED)
def test_wrong_values_are_null_and_told_of_who_reads_them_as_if_it_were_alone(plan: Plan) -> None:
    """Whichever lanes its partials are made of."""
    engine = run(plan, MISTYPED)
    told = failed(engine)
    engine.batch(end=True)
    for query in plan.queries:
        alone = run(plan_of([[query]]), MISTYPED)
        of_query = failed(alone)["1"]
        alone.batch(end=True)
        assert of_query > 0
        assert alone.finals() == {key: value for key, value in engine.finals().items() if key[0] == query.id}
        lane = next(
            member.segments[-1].lane for member in engine.timeline.members if member.query == query.id
        )
        assert told[engine.timeline.lane(lane).tree] == of_query


def test_what_a_sketch_cannot_take_is_left_out_of_its_tree_alone(tasks: list[Work]) -> None:
    """New queries cannot ask for it; what is refused must yet not be told of others."""
    queries = [
        asked("ranks", "percentile", 4, 2, ("site",), value="device"),
        asked("names", "text_max", 3, 3, ("site",), value="device"),
    ]
    engine = run(plan_of([[query] for query in queries], kernel="flatfit"), readings())
    assert not any(work.fed for work in tasks)
    assert failed(engine) == {"1": EACH * PARTITIONS * BATCHES, "2": 0}


def test_what_an_aggregate_cannot_take_is_left_out_of_its_tree_alone(tasks: list[Work]) -> None:
    queries = [asked("exact", "exact_sum(0)", 4, 2), asked("sums", "sum", 3, 3)]
    batches = readings()
    engine = run(plan_of([[query] for query in queries], kernel="flatfit"), batches)
    assert not any(work.fed for work in tasks)  # the common partials do not tell whose values they lack
    fractions = sum(event["temp"] % 1 > 0 for batch in batches for log in batch.values() for event in log)
    assert failed(engine) == {"1": fractions, "2": 0}


def test_trees_with_other_group_bys_cut_the_events_once_and_number_each_group_by_once(
    tasks: list[Work],
) -> None:
    queries = [
        asked("by device", "sum", 4, 2),
        asked("by site", "sum", 4, 2, ("site",)),
        asked("hot by site", "max", 4, 2, ("site",), "temp > 70"),
    ]
    batches = readings()
    engine = run(plan_of([[query] for query in queries]), batches)
    assert len(tasks) == PARTITIONS * BATCHES
    for work in tasks:
        assert len(work.folded) == 3
        assert work.steps == {"group": 2, "_cut_events": 2, "_slots": 3}  # without and with the filter
    check_answers(engine, queries, batches)


def test_a_filter_is_evaluated_once_in_a_task_however_many_trees_have_it(tasks: list[Work]) -> None:
    queries = [
        asked("sums", "sum", 4, 2, where="temp > 20"),
        asked("by site", "max", 3, 1, ("site",), "temp > 20"),
        asked("powers", "sum", 6, 2, BOTH, "temp > 20", "power"),
        asked("busy", "sum", 4, 2, where="power > 50"),
        asked("busy by site", "max", 4, 2, ("site",), "power > 50"),
        asked("all", "sum", 4, 2),
    ]
    batches = readings()
    engine = run(plan_of([[query] for query in queries]), batches)
    assert len(tasks) == PARTITIONS * BATCHES
    for work in tasks:
        assert work.filters == {("temp > 20", EACH): 1, ("power > 50", EACH): 1}
    check_answers(engine, queries, batches)


@pytest.mark.parametrize(
    ("kind", "filters"),
    [
        ("fragments of the weaker filter", ["temp > 20", "temp > 70"]),
        ("fragments of either filter", ["(power > 50) OR (temp > 20)", "power > 50", "temp > 20"]),
    ],
)
def test_trees_made_of_fragments_evaluate_no_filter_again(
    kind: str, filters: list[str], tasks: list[Work]
) -> None:
    run(PLANS[kind], readings())
    assert len(tasks) == PARTITIONS * BATCHES
    assert all(work.filters == {(where, EACH): 1 for where in filters} for work in tasks)


def test_a_filter_on_fields_that_the_feeding_tree_groups_by_is_asked_about_groups_alone(
    tasks: list[Work],
) -> None:
    run(PLANS["groups that pass a filter"], readings())
    assert len(tasks) == PARTITIONS * BATCHES
    assert all(work.filters == {("site = 's1'", 8 * 4): 1} for work in tasks)


# --- kernels ------------------------------------------------------------------------------------------

KERNELS = {
    "slickdeque_inv": "mean",
    "slickdeque_noninv": "max",
    "flatfit": "max",
    "panes": "max",
    "b_int": "max",
    "sparse_table": "max",
    "two_stacks_lite": "max",
    "van_herk": "max",
}


def name_of(kernel: Batched | BatchedDeques) -> str:
    return "slickdeque_noninv" if isinstance(kernel, BatchedDeques) else kernel._kind.traits.name


def operations(kernels: ColumnKernels) -> int:
    """Of all groups, by what answers finally and by what looks ahead."""
    answering = [*kernels._final.values(), *([kernels._ahead] if kernels._ahead else [])]
    return round(sum(kernel.operations for kernel in answering) * kernels._ring.groups)


def check_kernels(engine: Engine, tree: str, kernel: str) -> None:
    """That its kernel, and no other, answers finally from every part of a tree in every shard."""
    lanes = list(lanes_of(engine, tree))
    assert len(lanes) == len(engine.workers)
    for slices in lanes:
        assert len(slices._kernels) == 2 + len(slices.parts) > 2  # two count events and values
        for kernels in slices._kernels[2:]:
            answering = kernels._final.values()
            assert {name_of(each) for each in answering} == {kernel}
            assert all(each.operations > 0 for each in answering)


@pytest.mark.parametrize(("kernel", "aggregate"), KERNELS.items())
def test_a_tree_is_answered_by_its_kernel_and_steps_are_those_it_has_counted(
    kernel: str, aggregate: str
) -> None:
    queries = [asked("short", aggregate, 4, 2), asked("long", aggregate, 8, 2)]
    queries = queries if BY_NAME[kernel].many else queries[1:]
    plan = optimize(queries, replace(FAST, kernel=kernel), strategy="all_shared")
    (tree,) = plan.trees
    assert tree.kernel == kernel
    batches = readings()
    engine = run(plan, batches)
    check_kernels(engine, tree.id, kernel)
    told = sum(meter["trees"][tree.id]["kernel_steps"] for meter in engine.meters)
    # All groups come with the first batch: what a kernel did before there were some is not told again.
    assert told == sum(
        operations(kernels) for slices in lanes_of(engine, tree.id) for kernels in slices._kernels
    )
    check_answers(engine, queries, batches)


def test_a_plan_that_changes_a_kernel_has_it_answer_from_the_slices_at_hand() -> None:
    query = asked("long", "max", 8, 2)
    before, after = plan_of([[query]], kernel="flatfit"), plan_of([[query]], version=2, kernel="panes")
    batches = readings()
    engine = run(before, batches[:2])
    check_kernels(engine, "1", "flatfit")
    lane = engine.timeline.lanes
    engine.batch(batches[2], plan=after)
    assert [each.id for each in engine.timeline.lanes] == [each.id for each in lane]
    engine.batch(batches[3])
    check_kernels(engine, "1", "panes")
    check_answers(engine, [query], batches)


# --- nodes --------------------------------------------------------------------------------------------

SHARDS_OF = {0: {0}, 1: {1, 2, 3}}  # of four, where the second node can do three times as much
SPREAD = [
    asked("sums", "sum", 4, 2),
    asked("highest", "max", 3, 1),
    asked("by site", "sum", 6, 2, ("site",)),
    asked("hot", "sum", 4, 1, where="temp > 70"),
    asked("both", "sum", 2, 2, BOTH),
]


def sent_to(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[int]]:
    """By lane, the shards that map tasks send partials to from now on."""
    sent: dict[str, set[int]] = {}

    def note(reports: list[bytes], *_: object) -> None:
        for shard, report in enumerate(reports):
            for packed in shuffle.decode(report).partials:
                sent.setdefault(packed.lane, set()).add(shard)

    real = task.work

    def work(*given: Any, **named: Any) -> list[bytes]:
        reports = real(*given, **named)
        note(reports)
        return reports

    monkeypatch.setattr(task, "work", work)
    return sent


@pytest.mark.parametrize("strategy", ["g_round_robin", "wg_to_nodes", "best_balanced", "best"])
def test_a_tree_is_kept_and_answered_by_the_shards_of_its_node_alone(
    strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = sent_to(monkeypatch)
    plan = optimize(SPREAD, FAST, strategy=strategy, nodes=(1, 3))
    planned = {tree.id: SHARDS_OF[tree.node] for tree in plan.trees if tree.queries}
    assert {tree.node for tree in plan.trees if tree.queries} == {0, 1}
    batches = readings()
    engine = run(plan, batches, shards=4)
    assert {engine.timeline.lane(lane).tree: shards for lane, shards in sent.items()} == planned
    check_answers(engine, SPREAD, batches)
    answered: dict[str, set[int]] = {tree: set() for tree in planned}
    for block in engine.blocks:
        answered[plan.tree_of(block.query).id].add(block.shard)
    assert answered == planned


# --- meters -------------------------------------------------------------------------------------------

METERED = PLANS | {
    "trees that read the events": optimize(SPREAD, FAST, strategy="weave_share"),
    "a tree of several queries": optimize(SPREAD[:2] + TUMBLING, FAST, strategy="all_shared"),
}


def with_refused(batches: list[Batch]) -> list[Batch]:
    """The same with messages that no tree hears of."""
    refused = [b"{", {"ts": BASE - 60_000, "device": "d0", "site": "s0", "temp": 99.0, "power": 99.0}]
    return [batches[0], *({number: log + refused for number, log in batch.items()} for batch in batches[1:])]


def counted(tree: Tree, batches: list[Batch]) -> tuple[int, int]:
    """A tree's events, and its partials: the different slices and groups that each task sees of them."""
    events = held = 0
    for log in (log for batch in batches for log in batch.values()):
        own = [event for event in log if HOLDS[tree.key.where or None](event)]
        events += len(own)
        held += len({(slice_start(tree, event["ts"]), group(tree, event)) for event in own})
    return events, held


def slice_start(tree: Tree, time: int) -> int:
    return max(time - (time - residue) % period for period, residue in tree.edge_classes)


def group(tree: Tree, event: Event) -> tuple[Any, ...]:
    return tuple(event[name] for name in tree.key.group_by)


@pytest.mark.parametrize("plan", METERED.values(), ids=METERED)
def test_meters_tell_of_each_tree_what_it_took_and_gave(plan: Plan) -> None:
    batches = readings()
    engine = run(plan, with_refused(batches))
    assert len(engine.dead_letters) == 2 * PARTITIONS * (BATCHES - 1)
    trees = [tree for tree in plan.trees if tree.queries]
    told: dict[str, Counter[str]] = {tree.id: Counter() for tree in trees}
    for meter in engine.meters:
        assert meter["trees"].keys() == told.keys()
        for tree, work in meter["trees"].items():
            told[tree].update(
                {name: work[name] for name in ("events", "partials", "kernel_steps", "results")}
            )
    newest = [meter["trees"] for meter in engine.meters[-len(engine.workers) :]]
    for tree in trees:
        own = told[tree.id]
        assert (own["events"], own["partials"]) == counted(tree, batches)
        assert own["kernel_steps"] > 0
        queries = {query.id for query in tree.queries}
        assert own["results"] == sum(block.size for block in engine.blocks if block.query in queries) > 0
        groups = {group(tree, event) for batch in batches for log in batch.values() for event in log}
        assert sum(work[tree.id]["groups"] for work in newest) == len(groups)
        assert all(work[tree.id]["state_bytes"] > 0 for work in newest)


@pytest.mark.parametrize("plan", [*METERED.values(), FACTOR_WINDOWS], ids=[*METERED, "factor windows"])
def test_meters_tell_of_each_query_the_windows_and_results_of_its_blocks(plan: Plan) -> None:
    """Of every batch and shard; its tree is the one in whose slices it finds its partials."""
    engine = run(plan, readings())
    home = {query.id: plan.tree_of(query.id) for query in plan.queries}
    home = {query: plan.tree(tree.fed_by or "") if tree.through else tree for query, tree in home.items()}
    for meter in engine.meters:
        told = {
            query: (one["tree"], one["windows"], one["results"]) for query, one in meter["queries"].items()
        }
        sizes: dict[str, list[int]] = {}
        for block in engine.blocks:
            if (block.batch, block.shard) == (meter["batch"], meter["shard"]):
                sizes.setdefault(block.query, []).append(block.size)
        assert told == {query: (home[query].id, len(own), sum(own)) for query, own in sizes.items()}
    assert {query for meter in engine.meters for query in meter["queries"]} == home.keys()
