"""Differences between plans: in sentences, for each query, and as a picture that loses none."""

from dataclasses import replace

from dashboard.planning.changes import change_picture, differences, effects
from dashboard.planning.figures import PlanLoad
from optimizer import Statistics, optimize
from optimizer.group_windows import CountWindow, GroupQuery
from optimizer.plan import Plan
from optimizer.queries import AnyQuery, Query
from optimizer.windows import Window

KNOWN = Statistics()


def query(name: str, minutes: int, aggregate: str = "max") -> Query:
    return Query(f"{name}@{minutes}m", name, aggregate, "temp", Window(minutes * 60_000, 10_000))


def planned(queries: list[AnyQuery], strategy: str, previous: Plan | None = None, nodes: int = 1) -> Plan:
    version = previous.version + 1 if previous else 1
    return optimize(queries, KNOWN, strategy=strategy, previous=previous, version=version, nodes=nodes)


LATENCY = [query("Latency", 1), query("Latency", 5)]


def test_the_same_plan_has_no_differences() -> None:
    plan = planned([*LATENCY], "best_woven")
    assert differences(plan, replace(plan, version=2)) == []


def test_the_first_plan_names_its_queries_and_trees() -> None:
    told = differences(Plan("s", 0, ""), planned([*LATENCY], "all_shared"))
    assert told[0] == "“Latency” (1 m, 5 m) are new, in tree 1."
    assert "Tree 1 is new: 2 windows, SlickDeque (Non-Inv)." in told


def test_who_came_who_went_and_who_moved_is_said() -> None:
    before = planned([*LATENCY, query("Old", 3)], "all_shared")
    after = planned([*LATENCY, query("New", 7)], "no_share", before)
    told = " ".join(differences(before, after))
    assert "No share chooses the trees, before All shared." in told
    assert "“Old” (3 m) left tree 1." in told
    assert "“New” (7 m) is new, in tree" in told
    assert "moved from tree 1 to tree" in told


def test_nodes_and_kernels_are_said() -> None:
    before = planned([*LATENCY], "all_shared")
    (tree,) = before.trees
    after = replace(before, version=2, nodes=(1.0, 1.0), trees=(replace(tree, node=1, kernel="flatfit"),))
    told = differences(before, after)
    assert "The trees run on 2 nodes, before on 1." in told
    assert "Tree 1 runs on node 2, before on node 1." in told
    assert "Tree 1 answers by FlatFIT, before by SlickDeque (Non-Inv)." in told


def test_many_changes_are_counted() -> None:
    many: list[AnyQuery] = [query(f"q{n}", n + 1) for n in range(30)]
    before = planned(many, "all_shared")
    told = differences(before, planned(many, "no_share", before))
    assert len(told) == 12
    assert told[-1].startswith("And ")


def test_effects_say_of_every_query_whether_it_moves_and_what_it_costs() -> None:
    counted = GroupQuery("n@100", "Count", "count", None, CountWindow(100, 10))
    queries: list[AnyQuery] = [*LATENCY, counted]
    before = planned(queries, "all_shared")
    after = planned(queries, "no_share", before)
    found = effects(PlanLoad(before, KNOWN, None, before), PlanLoad(after, KNOWN, None, before))
    assert [one.moves for one in found] == [True, False, False]
    assert "none is missed" in found[0].words
    assert {one.query.name for one in found} == {"Latency", "Count"}
    assert sum(one.load_after for one in found) > sum(one.load_before for one in found) > 0


def test_the_picture_has_every_query_once() -> None:
    before = planned([*LATENCY, query("Old", 3)], "all_shared")
    after = planned([*LATENCY, query("New", 7)], "no_share", before)
    picture = change_picture(before, after)
    unit = picture.bands[0].height
    assert all(abs(band.height / unit - round(band.height / unit)) < 1e-6 for band in picture.bands)
    assert {post.label for post in picture.after} >= {"Gone"}
    assert {post.label for post in picture.before} == {"Tree 1", "New"}
    heights = sum(post.height for post in picture.before), sum(post.height for post in picture.after)
    assert abs(heights[0] - heights[1]) < 1e-6
    assert all(post.top + post.height <= picture.height for post in (*picture.before, *picture.after))
