"""The way back: today's queries in an older plan's trees, with ids that the running plan can go on with."""

from dataclasses import replace

from optimizer import Statistics, optimize
from optimizer.group_windows import CountWindow, GroupQuery
from optimizer.incremental import rearranged
from optimizer.plan import Plan
from optimizer.queries import Query
from optimizer.windows import Window

KNOWN = Statistics()


def query(name: str, seconds: int, slide: int = 10, aggregate: str = "max") -> Query:
    return Query(f"{name}@{seconds}s", name, aggregate, "temp", Window(seconds * 1000, slide * 1000))


def together(plan: Plan) -> set[frozenset[str]]:
    return {frozenset(member.name for member in tree.queries) for tree in plan.trees}


THREE = [query("a", 60), query("b", 90), query("c", 300)]


def test_queries_are_together_again_as_they_were() -> None:
    old = optimize(THREE, KNOWN, strategy="all_shared", version=3)
    running = optimize(THREE, KNOWN, strategy="no_share", version=7, previous=old)
    assert together(running) == {frozenset("a"), frozenset("b"), frozenset("c")}
    back = rearranged(old, running, THREE, KNOWN)
    assert together(back) == {frozenset("abc")}
    assert (back.version, back.strategy) == (8, "all_shared")


def test_ids_of_trees_that_have_gone_are_not_given_out_again() -> None:
    old = optimize(THREE, KNOWN, strategy="no_share", version=1)
    running = replace(optimize(THREE, KNOWN, strategy="all_shared", version=2, previous=old))
    back = rearranged(old, running, THREE, KNOWN)
    kept = {tree.id for tree in back.trees} & {tree.id for tree in old.trees}
    assert kept <= {tree.id for tree in running.trees}
    assert len({tree.id for tree in back.trees}) == 3


def test_queries_that_are_new_since_run_too_and_those_that_went_do_not() -> None:
    old = optimize(THREE, KNOWN, strategy="no_share", version=1)
    today = [*THREE[1:], query("d", 120, aggregate="min")]
    running = optimize(today, KNOWN, strategy="best_woven", version=2, previous=old)
    back = rearranged(old, running, today, KNOWN)
    assert {member.name for member in back.queries} == {"b", "c", "d"}
    assert back.tree_of("b@90s") != back.tree_of("c@300s")


def test_nodes_come_back_and_trees_of_group_windows_keep_to_those_that_there_are() -> None:
    counted = GroupQuery("n@100", "n", "count", None, CountWindow(100, 10), ("device",))
    old = optimize([*THREE, counted], KNOWN, strategy="no_share", version=1, nodes=1)
    running = optimize([*THREE, counted], KNOWN, strategy="no_share", version=2, nodes=4, previous=old)
    moved = tuple(replace(tree, node=3) for tree in running.group_trees)
    back = rearranged(old, replace(running, group_trees=moved), [*THREE, counted], KNOWN)
    assert back.nodes == (1.0,)
    assert {tree.node for tree in back.all_trees} == {0}
    assert back.total_cost == sum(back.node_costs)
