"""Count and session windows in plans: trees of their own beside those of a strategy, whichever it is."""

from dataclasses import replace
from typing import Any

import pytest

from optimizer import Statistics, optimize
from optimizer.cost import Calibration
from optimizer.estimates import one_more, plan_estimate, query_estimates, tree_estimates
from optimizer.explain import Explainer, cost_line, describe, joining
from optimizer.group_trees import GroupTree, group_family
from optimizer.group_windows import CountWindow, GroupQuery, SessionWindow
from optimizer.incremental import adapt
from optimizer.plan import Plan
from optimizer.queries import AnyQuery, CountSpec, InvalidQuery, QuerySpec, SessionSpec
from optimizer.strategies import STRATEGIES
from optimizer.throughput import load
from streaming.aggregates import AGGREGATES
from tests.optimizer.cases import query

TIMED = query("timed", 60, 10)
LAST = GroupQuery("last", "Last hundred", "sum", "temp", CountWindow(100, 40), ("device",))
VISIT = GroupQuery("visit", "Visits", "count", None, SessionWindow(30_000), ("user",), "ok")
FAST = Statistics(rate=1_000.0, passing={"ok": 0.5})


def spec_of(*windows: Any) -> QuerySpec:
    return QuerySpec.from_json({"name": "n", "aggregate": "count", "windows": list(windows)})


def test_specs_read_and_write_the_same_json() -> None:
    windows = [{"count": 100, "every": 10}, {"gap": "30s"}, {"range": "1m", "slide": "10s"}]
    spec = spec_of(*windows)
    assert spec.to_json()["windows"] == windows
    assert [one.id for one in spec.queries()] == ["n@100 events/10", "n@gap 30s", "n@1m/10s"]
    assert [one.window for one in spec.queries()[:2]] == [CountWindow(100, 10), SessionWindow(30_000)]


def test_a_count_window_without_a_step_tumbles() -> None:
    assert spec_of({"count": 7}).windows == (CountSpec(7, 7),)


@pytest.mark.parametrize(
    ("windows", "sentence"),
    [
        ([{"count": 0}], "0 events every 0: The size of a count window must be at least one event."),
        (
            [{"count": 5, "every": -1}],
            "5 events every -1: The step of a count window must be at least one event.",
        ),
        (
            [{"count": 5, "every": 10**10}],
            "5 events every 10000000000: The step of a count window can be 1,000,000,000 events at most.",
        ),
        (
            [{"count": 20_001, "every": 2}],
            "20001 events every 2: It would keep 20,001 partials of each group, more than 10,000: choose a "
            "size and a step with a greater common divisor.",
        ),
        ([{"count": 2.5}], "“count” must be a whole number of events, not 2.5."),
        ([{"count": 5, "every": "1s"}], "“every” must be a whole number of events, not 1s."),
        ([{"count": 5, "slide": "1s"}], "A window with a “count” has no “slide”."),
        ([{"gap": 30}], "“gap” must be a duration, such as 30s, not 30."),
        ([{"gap": "soon"}], "“soon” is not a duration: write it as 90s, 5m or 1h30m."),
        ([{"gap": "1s", "range": "1m"}], "A window with a “gap” has no “range”."),
        ([{"gap": "60s"}, {"gap": "1m"}], "gap 1m is there twice."),
        ([{"count": 5}, {"count": 5, "every": 5}], "5 events every 5 is there twice."),
    ],
)
def test_bad_windows_are_refused_in_a_sentence(windows: list[Any], sentence: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        spec_of(*windows)
    assert (refused.value.field, refused.value.sentence) == ("windows", sentence)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_plans_them_beside_its_own_trees(strategy: str) -> None:
    alone = optimize([TIMED], FAST, source="s", strategy=strategy)
    plan = optimize([LAST, TIMED, VISIT], FAST, source="s", strategy=strategy)
    assert plan.trees == alone.trees
    assert [tree.queries for tree in plan.group_trees] == [(LAST,), (VISIT,)]
    assert len({tree.id for tree in plan.all_trees}) == len(plan.all_trees)
    assert plan.total_cost == pytest.approx(alone.total_cost + sum(t.cost for t in plan.group_trees))
    assert sum(plan.node_costs) == pytest.approx(plan.total_cost)
    assert optimize([LAST], FAST, source="s", strategy=strategy).trees == ()


def test_queries_that_keep_the_same_share_a_tree_and_others_do_not() -> None:
    same = [replace(LAST, id="mine"), replace(LAST, id="mean", aggregate="mean")]
    others: list[AnyQuery] = [
        replace(LAST, id="window", window=CountWindow(100, 20)),
        replace(LAST, id="field", field="other"),
        replace(LAST, id="filter", where="ok"),
        replace(LAST, id="groups", group_by=()),
        replace(LAST, id="count", aggregate="count"),
        replace(LAST, id="max", aggregate="max"),
    ]
    plan = optimize([LAST, *same, *others], FAST, source="s")
    shared = [{one.id for one in tree.queries} for tree in plan.group_trees]
    assert {"last", "mine", "mean"} in shared
    assert sorted(map(len, shared)) == [1] * 6 + [3]


def test_queries_of_one_tree_keep_the_same_states() -> None:
    states: dict[str, set[tuple[str, ...]]] = {}
    for name, aggregate in AGGREGATES.items():
        family = group_family(replace(LAST, aggregate=name)).family
        states.setdefault(family, set()).add(tuple(part.name for part in aggregate.states))
    assert all(len(kept) == 1 for kept in states.values())
    assert len(states) > 20


def test_a_tree_of_different_windows_is_refused() -> None:
    with pytest.raises(ValueError, match="tree 3 do not have one window"):
        GroupTree("3", (LAST, replace(LAST, id="x", window=CountWindow(1, 1))), 1.0)


def test_plans_survive_json() -> None:
    plan = optimize([LAST, TIMED, VISIT], FAST, source="s", nodes=3)
    assert Plan.from_json(plan.to_json()) == plan
    old = {key: value for key, value in plan.to_json().items() if key != "group_trees"} | {"format": 2}
    assert Plan.from_json(old).trees == plan.trees


def test_an_edit_leaves_other_trees_as_they_are_and_gives_no_id_twice() -> None:
    plan = optimize([LAST, TIMED], FAST, source="s")
    [last_tree] = plan.group_trees
    more = adapt(plan, [LAST, TIMED, VISIT], replace(FAST, rate=5.0))
    assert more.plan.trees == plan.trees
    assert more.plan.group_trees[0] == last_tree
    assert more.changed_trees == (more.plan.group_trees[1].id,)
    less = adapt(more.plan, [TIMED, VISIT], FAST)
    assert less.changed_trees == (last_tree.id,)
    again = adapt(less.plan, [TIMED, VISIT, LAST], FAST).plan
    used = {tree.id for tree in (*plan.all_trees, *more.plan.all_trees)}
    assert {tree.id for tree in again.all_trees} - used == {again.group_trees[-1].id}
    joined = adapt(again, [TIMED, VISIT, LAST, replace(LAST, id="twin")], FAST).plan
    assert [len(tree.queries) for tree in joined.group_trees] == [1, 2]
    assert joined.group_trees[-1].id == again.group_trees[-1].id


def test_optimizing_all_anew_keeps_their_trees() -> None:
    timed = [query(f"q{at}", 60 + 7 * at, 10 + at) for at in range(6)]
    plan = optimize([*timed, LAST], FAST, source="s", strategy="no_share")
    adapted = adapt(replace(plan, strategy="weave_share"), [*timed, LAST], FAST)
    assert adapted.full_plan.group_trees == plan.group_trees
    assert {one.id for one in adapted.settled().all_queries} == {one.id for one in (*timed, LAST)}
    only = optimize([LAST], FAST, source="s")
    assert adapt(only, [LAST], FAST).gain_of_full == 0.0


def test_costs_written_out() -> None:
    plan = optimize([LAST, VISIT], FAST, source="s")
    # One fold and one step an event; every 40th event takes 5 slices of 20.
    assert plan.group_trees[0].cost == pytest.approx(1_000 * (1 + 1 + 5 / 40))
    assert plan.group_trees[1].cost == pytest.approx(500 * (1 + 1))
    measured = Calibration(1e-6, 2e-6, 3e-6, 4e-6, 5e-6, cores=2)
    statistics = replace(FAST, calibration=measured, model="calibrated")
    loads = tree_estimates(plan, statistics)
    last, visit = 2e-6 + 3e-6 + 4e-6 + (5 * 4e-6 + 5e-6) / 40, 0.5 * (2e-6 + 3e-6 + 4e-6)
    assert loads["1"].load == pytest.approx(1_000 * last / 2)
    assert loads["2"].load == pytest.approx(1_000 * visit / 2)
    assert plan_estimate(plan, statistics).highest_rate == pytest.approx(2 / (1e-6 + last + visit))


def test_loads_of_queries_add_up_to_the_plans() -> None:
    queries = [TIMED, LAST, replace(LAST, id="twin"), VISIT]
    plan = optimize(queries, FAST, source="s")
    shares = query_estimates(plan, FAST)
    assert sum(share.load for share in shares.values()) == pytest.approx(load(plan, FAST))
    assert shares["last"].load == shares["twin"].load


def test_one_more_is_a_new_tree_or_joins_its_like() -> None:
    plan = optimize([TIMED, LAST], FAST, source="s")
    joined = one_more(plan, replace(LAST, id="twin"), FAST)
    assert (joined.tree, joined.is_new, joined.cost) == ("2", False, 0.0)
    started = one_more(plan, VISIT, FAST)
    assert (started.tree, started.is_new) == ("3", True)
    assert started.load > 0


def test_they_are_explained_in_words() -> None:
    twin = replace(LAST, id="twin", name="Twin")
    plan = optimize([TIMED, LAST, twin, VISIT], FAST, source="s")
    assert describe(plan, "visit") == (
        "“Visits” (count over sessions with a gap of 30s by user where ok) runs in tree 3 alone, "
        "which keeps its windows for each group apart."
    )
    explainer = Explainer(plan, FAST)
    assert explainer.explanation("visit").lines()[1:] == [
        "  runs in tree 3 alone",
        "  costs 1,000 operations/s",
    ]
    lines = [line.replace("\N{NARROW NO-BREAK SPACE}", " ") for line in explainer.explanation("last").lines()]
    assert lines == [
        "Last hundred: sum of temp over 100 events every 40 by device",
        "  runs in tree 2 with Twin (100 events every 40)",
        "  adds 0 operations/s, 100 % cheaper than 2,125 operations/s alone",
    ]
    assert explainer.explanation(TIMED.id).differences == ()


def test_joining_says_what_is_shared() -> None:
    before = optimize([TIMED, LAST], FAST, source="s")
    twin = replace(LAST, id="twin")
    after = adapt(before, [TIMED, LAST, twin, VISIT], FAST).plan
    line = cost_line(joining(before, after, ["twin", "visit"], FAST)).replace(
        "\N{NARROW NO-BREAK SPACE}", " "
    )
    assert line.startswith("joins tree 2 and starts tree 3 · ")
    assert line.endswith(" · 68 % cheaper than alone")


def test_new_trees_go_to_the_node_with_most_to_spare() -> None:
    plan = optimize([LAST, VISIT, replace(VISIT, id="x", field="y")], FAST, source="s", nodes=(1.0, 4.0))
    assert [tree.node for tree in plan.group_trees] == [0, 1, 1]


def test_session_specs_speak_the_words_they_were_written_in() -> None:
    assert SessionSpec("90s").words == "gap 90s"
    assert SessionSpec("90s").window().words == "sessions with a gap of 1m30s"
