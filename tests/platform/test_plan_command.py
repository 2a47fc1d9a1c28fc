"""`plan` prints what a spec's queries would cost, why, and beside other strategies; mistakes are named."""

import json
import re
import shutil
import subprocess
import sys
from inspect import signature
from io import StringIO
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest
from django.core.management import call_command, load_command_class
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.models import Source
from dashboard.planning.printed import Outcome, comparison
from dashboard.planning.service import _running
from dashboard.platform.problems import Problem
from optimizer.kernels import ALIASES, BY_NAME
from optimizer.strategies import DEFAULT_STRATEGY, STRATEGIES, Strategy
from optimizer.workload import Group, Workload
from streaming.replay import Replay

ROOT = Path(__file__).resolve().parents[2]
TREE_KEYS = ["queries", "edges", "composite_slide", "edge_rate", "omega", "kernel", "cost"]


def asked(name: str, *windows: tuple[Any, Any], **rest: Any) -> dict[str, Any]:
    spans = [{"range": size, "slide": slide} for size, slide in windows]
    return {"name": name, "aggregate": "sum", "field": "temp", "windows": spans, **rest}


@pytest.fixture
def planned(tmp_path: Path) -> Any:
    """Runs the command over these queries and gives what it printed."""

    def run(*queries: dict[str, Any], **options: Any) -> str:
        path = tmp_path / "spec.json"
        path.write_text(json.dumps({"queries": list(queries)}))
        out = StringIO()
        call_command("plan", spec=str(path), stdout=out, **options)
        return out.getvalue()

    return run


@pytest.fixture
def planned_json(planned: Any) -> Any:
    return lambda *queries, **options: json.loads(planned(*queries, json=True, **options))


def test_json_has_exactly_the_promised_keys_and_numbers(planned_json: Any) -> None:
    found = planned_json(asked("a", (12, 9)), asked("b", (10, 6)), rate="100", strategy="weave_share")
    assert list(found) == ["strategy", "total_cost", "max_node_cost", "nodes"]
    assert found["strategy"] == "weave_share"
    [node] = found["nodes"]
    assert list(node) == ["cost", "trees"]
    [tree] = node["trees"]
    assert list(tree) == TREE_KEYS
    assert sorted(tree["queries"]) == ["a", "b"]
    assert (tree["edges"], tree["composite_slide"]) == (8, 18)
    assert isinstance(tree["composite_slide"], int)
    assert tree["edge_rate"] == pytest.approx(8 / 18)
    assert (tree["omega"], tree["kernel"]) == (4, "slickdeque_inv")
    cost = 100 + 8 / 18 * 4
    assert [tree["cost"], node["cost"], found["total_cost"], found["max_node_cost"]] == [
        pytest.approx(cost)
    ] * 4


def test_seconds_may_be_written_as_numbers_or_with_units(planned_json: Any) -> None:
    numbers = planned_json(asked("a", (90, 60.0)), asked("b", (10, 6)))
    units = planned_json(asked("a", ("90s", "1m")), asked("b", ("10s", "6000ms")))
    assert numbers == units


def test_a_query_with_several_windows_appears_once_for_each_as_it_is_written(planned_json: Any) -> None:
    found = planned_json(
        asked("a", (10, 5), ("1m", "10s")), asked("b", (20, 20)), rate=1000, strategy="weave_share"
    )
    [tree] = found["nodes"][0]["trees"]
    assert sorted(tree["queries"]) == ["a@10/5", "a@1m/10s", "b"]


def test_a_window_without_a_slide_tumbles(planned_json: Any) -> None:
    query = {"name": "a", "aggregate": "count", "windows": [{"range": 10}, {"range": "20s"}]}
    [tree] = planned_json(query, rate=1000, strategy="weave_share")["nodes"][0]["trees"]
    assert sorted(tree["queries"]) == ["a@10/10", "a@20s/20s"]


def test_composite_slides_past_64_bits_are_exact(planned_json: Any) -> None:
    primes = [9973, 9967, 9949, 9941, 9931]
    found = planned_json(*(asked(f"q{p}", (p, p)) for p in primes), rate=1e9, strategy="weave_share")
    [tree] = found["nodes"][0]["trees"]
    span, without = 1, 1
    for prime in primes:
        span, without = span * prime, without * (prime - 1)
    assert span > 2**63
    assert (tree["edges"], tree["composite_slide"]) == (span - without, span)


def test_a_composite_slide_that_is_no_whole_second_is_a_fraction(planned_json: Any) -> None:
    [tree] = planned_json(asked("a", ("3s", "1500ms")))["nodes"][0]["trees"]
    assert (tree["edges"], tree["composite_slide"]) == (1, 1.5)


@pytest.mark.parametrize(
    ("kernel", "name", "omega"),
    [
        ("panes", "panes", 60 / 10),
        ("flatfit", "flatfit", 3),
        ("slickdeque", "slickdeque_inv", 2),
        ("slickdeque_inv", "slickdeque_inv", 2),
    ],
)
def test_the_kernel_can_be_chosen(planned_json: Any, kernel: str, name: str, omega: float) -> None:
    [tree] = planned_json(asked("a", (60, 10)), kernel=kernel, rate=5)["nodes"][0]["trees"]
    assert (tree["kernel"], tree["omega"], tree["cost"]) == (name, omega, pytest.approx(5 + 0.1 * omega))


def test_the_calibrated_model_counts_busy_seconds(planned_json: Any) -> None:
    papers = planned_json(asked("a", (60, 10)), rate=1000)["total_cost"]
    calibrated = planned_json(asked("a", (60, 10)), rate=1000, model="calibrated")["total_cost"]
    assert papers == pytest.approx(1000.2)
    folding = 1000 * 0.3e-6
    assert folding < calibrated < folding + 1e-6  # the rest is the kernel, as measured


def test_more_nodes_than_queries_leave_nodes_empty(planned_json: Any) -> None:
    found = planned_json(asked("a", (10, 5)), nodes="3")
    assert sorted(len(node["trees"]) for node in found["nodes"]) == [0, 0, 1]
    assert sorted(node["cost"] for node in found["nodes"])[:2] == [0, 0]


def test_nodes_may_be_told_by_what_each_can_do(planned_json: Any) -> None:
    found = planned_json(asked("a", (10, 10)), nodes="4,1", strategy="weave_share", rate=3.8)
    assert found["total_cost"] == pytest.approx(4)
    assert found["max_node_cost"] == pytest.approx(1)


def test_without_queries_the_plan_has_no_trees(planned: Any, planned_json: Any) -> None:
    found = planned_json()
    assert (found["total_cost"], found["nodes"]) == (0, [{"cost": 0, "trees": []}])
    assert "0 windows in 0 trees" in planned()
    assert "0 windows in 0 trees" in planned(compare=True)


def test_a_replay_spec_can_be_planned_as_it_is(tmp_path: Path) -> None:
    source = {"format": "json", "event_time": "ts", "time_unit": "ms", "allowed_lateness": "10s"}
    path, out = tmp_path / "spec.json", StringIO()
    path.write_text(json.dumps({"source": source, "queries": [asked("a", ("1m", "10s"))]}))
    call_command("plan", "--spec", str(path), "--json", stdout=out)
    assert json.loads(out.getvalue())["nodes"][0]["trees"][0]["queries"] == ["a"]


def test_text_shows_the_trees_and_explains_every_query(planned: Any) -> None:
    text = planned(
        asked("a", (60, 10)),
        asked("b", (50, 10), (30, 10)),
        asked("hot", (60, 10), aggregate="max"),
        rate=100,
        strategy="weave_share",
    )
    assert text.startswith("WeaveShare: 4 windows in 2 trees, 201 operations/s at λ = 100/s\n")
    assert "Tree 1 · SlickDeque (Inv) · 0.1 edges/s · Ω 6 · 101 operations/s\n" in text
    assert "  b@30/10  30s every 10s\n" in text
    assert (
        "a: sum of temp over 1m every 10s\n  runs in tree 1 with b (30s every 10s) and b (50s every 10s)"
        in text
    )
    assert "hot: max of temp over 1m every 10s\n  runs in tree 2 alone" in text
    assert text.count("  not with tree 2: another aggregate") == 3


def test_text_tells_nodes_apart_where_there_are_several(planned: Any) -> None:
    text = planned(asked("a", (60, 10)), rate=100, nodes="2", strategy="weave_share")
    assert "Node 1 of 2 · 100 operations/s\n" in text
    assert "Node 2 of 2 · 0 operations/s\n" in text


def test_text_of_the_calibrated_model_says_load_and_capacity(planned: Any) -> None:
    text = planned(asked("a", (60, 10)), model="calibrated", rate=10_000).replace(
        "\N{NARROW NO-BREAK SPACE}", " "
    )
    # 2.3 µs for each event on two cores, and what its slices take, whatever the rate.
    assert "1.15 % load on 2 cores with reading the events, capacity 869,5" in text


def test_compare_lists_every_strategy_by_total_cost(planned: Any, planned_json: Any) -> None:
    queries = [asked("a", (60, 10)), asked("b", (50, 10)), asked("c", (7, 7))]
    found = planned_json(*queries, compare=True, rate=10)
    costs = [plan["total_cost"] for plan in found]
    assert costs == sorted(costs)
    assert {plan["strategy"] for plan in found} == set(STRATEGIES)
    table = planned(*queries, compare=True, rate=10).rpartition("\n\n")[2].splitlines()
    assert table[0].endswith("trees  total cost  max node cost  plan time  to best")
    assert len(table) == 1 + len(STRATEGIES)
    assert table[1].endswith("1.000")
    assert len({len(line) for line in table}) == 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_can_be_printed_and_explained(planned: Any, planned_json: Any, strategy: str) -> None:
    queries = [
        asked("a", (10, 10), (20, 20), (60, 10)),
        asked("b", (30, 10), group_by=["device"]),
        asked("c", (30, 10), group_by=["device", "site"], where="temp > 30"),
        asked("d", (40, 20), aggregate="max", where="temp > 20"),
    ]
    found = planned_json(*queries, rate=100, strategy=strategy, nodes="2")
    trees = [tree for node in found["nodes"] for tree in node["trees"]]
    names = sorted(name for tree in trees for name in tree["queries"])
    assert names == ["a@10/10", "a@20/20", "a@60/10", "b", "c", "d"]
    assert sum(tree["cost"] for tree in trees) == pytest.approx(found["total_cost"])
    assert all(tree["edge_rate"] == pytest.approx(tree["edges"] / tree["composite_slide"]) for tree in trees)
    fed_by = {tree["fed_by"] for tree in trees if "fed_by" in tree}
    assert fed_by <= {tree["id"] for tree in trees if "id" in tree}
    assert all(tree["kernel"] is None for tree in trees if not tree["queries"])
    text = planned(*queries, rate=100, strategy=strategy, nodes="2")
    assert text.count("  runs in tree ") == 6


def refuses(workload: Workload) -> list[Group]:
    raise ValueError("Nothing is small enough for this one.")


REFUSING = Strategy("refusing", "Refusing", "exact", refuses)


def test_a_strategy_that_refuses_is_in_the_table_with_its_sentence(
    planned: Any, planned_json: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(STRATEGIES, "refusing", REFUSING)
    table = planned(asked("a", (60, 10)), compare=True).splitlines()
    assert table[-1].startswith("Refusing ")
    assert table[-1].endswith("  Nothing is small enough for this one.")
    assert "refusing" not in {plan["strategy"] for plan in planned_json(asked("a", (60, 10)), compare=True)}
    assert "Refusing: Nothing is small enough for this one.\n" in capsys.readouterr().err
    with pytest.raises(Problem, match="Nothing is small enough"):
        planned_json(asked("a", (60, 10)), strategy="refusing")
    with pytest.raises(Problem, match="Nothing is small enough"):
        planned(asked("a", (60, 10)), strategy="refusing", compare=True)


def test_a_comparison_of_refusals_alone_is_still_a_table() -> None:
    lines = comparison([Outcome(REFUSING, None, 0.1, "No.")]).splitlines()
    assert lines[1].split() == ["Refusing", "exact", "No."]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (asked("a", (6, 0)), "Query “a”: The slide must be longer than zero, not 0."),
        (asked("a", (0, 0)), "Query “a”: The range must be longer than zero, not 0."),
        (asked("a", ("0s", "0s")), "Query “a”: “0s” is not a duration longer than zero."),
        (asked("a", (-6, 3)), "Query “a”: The range must be longer than zero, not -6."),
        (asked("a", ("-6s", "3s")), "Query “a”: “-6s” is not a duration: write it as 90s, 5m or 1h30m."),
        (
            asked("a", (6, 1.5)),
            "Query “a”: The slide 1.5 is not a whole number of seconds: write it with a unit, as 1500ms.",
        ),
        (asked("a", ("6s", "0.1ms")), "Query “a”: “0.1ms” is not a whole number of milliseconds."),
        (
            asked("a", (True, 3)),
            "Query “a”: A window is an object with a range and a slide, such as 1m and 10s.",
        ),
        (
            asked("a", (None, 3)),
            "Query “a”: A window is an object with a range and a slide, such as 1m and 10s.",
        ),
        (asked("a"), "Query “a”: Give at least one window, such as 1m every 10s."),
        (asked("a", (6, 3), ("6s", "3s")), "Query “a”: 6s every 3s is there twice."),
        (asked("a", (6, 3), fields=["temp"]), "Query “a”: A query has no “fields”."),
        (asked("a", (6, 3), field=None), "Query “a”: Choose the field to compute the sum of."),
        ({"name": "a", "windows": {"range": 6}}, "Query “a”: “windows” must be a list."),
        ("a", "Query “1”: A query is an object with a name, an aggregate and windows."),
    ],
)
def test_a_query_that_cannot_be_planned_is_refused_in_a_sentence(
    planned: Any, query: Any, sentence: str
) -> None:
    with pytest.raises(Problem) as refusal:
        planned(query)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"strategy": "magic"}, f"No strategy “magic”: use one of {', '.join(STRATEGIES)}."),
        ({"model": "guesses"}, "No cost model “guesses”: use one of papers, calibrated."),
        ({"rate": "fast"}, "The rate must be a number of events per second, not “fast”."),
        ({"rate": "-1"}, "The rate must be a number of events per second, not -1.0."),
        ({"rate": "nan"}, "The rate must be a number of events per second, not nan."),
        ({"nodes": "0"}, "A plan needs at least one node."),
        ({"nodes": "-2"}, "A plan needs at least one node."),
        ({"nodes": "2,0"}, "A node's capacity must be a number above zero, not 0."),
        ({"nodes": "2,x"}, "A node's capacity must be a number, not “x”."),
        (
            {"nodes": "many"},
            "The nodes must be a number of them, or what each can do, such as 2,1,1, not “many”.",
        ),
        ({"nodes": "1000000000"}, "A plan can have up to 10,000 nodes, not 1,000,000,000."),
        ({"seed": "x"}, "The seed must be a whole number, not “x”."),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_in_a_sentence(
    planned: Any, options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(Problem) as refusal:
        planned(asked("a", (6, 3)), **options)
    assert str(refusal.value) == sentence


def test_an_unknown_kernel_is_refused_even_without_queries(planned: Any) -> None:
    with pytest.raises(Problem, match=r"^No kernel “magic”: use one of slickdeque, slickdeque_inv, "):
        planned(kernel="magic")


def test_a_kernel_that_needs_more_than_an_aggregate_has_is_refused(planned: Any) -> None:
    with pytest.raises(
        Problem, match=r"^The kernel “slickdeque_inv” cannot compute max, which is not invertible"
    ):
        planned(asked("a", (60, 10), aggregate="max"), kernel="slickdeque_inv")


def test_two_queries_with_one_name_are_refused(planned: Any) -> None:
    with pytest.raises(Problem, match=r"^Two queries are named “a”: give each its own name.$"):
        planned(asked("a", (6, 3)), asked("a", (60, 10)))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{cut", "^The spec is not JSON: "),
        ("", "^The spec is not JSON: "),
        ("[]", "^A spec is an object with a list of “queries”, and perhaps a “source”.$"),
        ("{}", "^A spec is an object with a list of “queries”, and perhaps a “source”.$"),
        ('{"queries": {}}', "^A spec is an object with a list of “queries”, and perhaps a “source”.$"),
    ],
)
def test_a_file_that_is_no_spec_is_refused_in_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "spec.json"
    path.write_text(text)
    with pytest.raises(Problem, match=sentence):
        call_command("plan", spec=str(path))


def test_a_file_that_is_not_there_or_not_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Problem, match=f"^There is no file {tmp_path}/none.json.$"):
        call_command("plan", spec=str(tmp_path / "none.json"))
    with pytest.raises(Problem, match=f"^{tmp_path} cannot be read: "):
        call_command("plan", spec=str(tmp_path))


def test_commands_and_pages_plan_by_one_strategy_where_nobody_has_chosen() -> None:
    defaults = {
        name: load_command_class("dashboard", name).create_parser("manage.py", name).get_default("strategy")
        for name in ("plan", "replay")
    }
    assert defaults == {"plan": DEFAULT_STRATEGY, "replay": DEFAULT_STRATEGY}
    assert signature(Replay.planned).parameters["strategy"].default == DEFAULT_STRATEGY
    assert _running(Source(key="s"), None).strategy == DEFAULT_STRATEGY
    assert DEFAULT_STRATEGY in STRATEGIES
    for document in ("docs/replay.md", "docs/optimizer/command-line.md"):
        assert f"| `--strategy` | `{DEFAULT_STRATEGY}` |" in (ROOT / document).read_text()


WINDOWS = st.tuples(st.sampled_from([1, 2, 3, 4.5, 6, 10]), st.sampled_from([1, 2, 3, 5]))
ASKED = st.builds(
    lambda windows, **rest: asked("q", *windows, **rest),
    st.lists(WINDOWS, min_size=1, max_size=3, unique=True),
    aggregate=st.sampled_from(["max", "sum", "count", "mean", "p95", "stddev", "top_k"]),
    field=st.sampled_from(["temp", "humidity"]),
    group_by=st.sampled_from([[], ["device"], ["device", "site"]]),
    where=st.sampled_from([None, "ok"]),
)
SENTENCE = re.compile(r"[A-Z].*[.]", re.DOTALL)


@settings(max_examples=200)
@given(
    queries=st.lists(ASKED, min_size=1, max_size=3),
    strategy=st.sampled_from(sorted(STRATEGIES)),
    kernel=st.sampled_from([None, *ALIASES, *BY_NAME]),
    nodes=st.sampled_from(["1", "3", "2,1"]),
    model=st.sampled_from(["papers", "calibrated"]),
)
def test_every_strategy_and_kernel_gives_a_plan_or_a_sentence(
    queries: list[dict[str, Any]], strategy: str, kernel: str | None, nodes: str, model: str
) -> None:
    named = [{**query, "name": f"q{number}"} for number, query in enumerate(queries)]
    out = StringIO()
    with NamedTemporaryFile("w", suffix=".json") as spec:
        json.dump({"queries": named}, spec)
        spec.flush()
        asked_for = {"strategy": strategy, "kernel": kernel, "nodes": nodes, "model": model}
        try:
            call_command("plan", spec=spec.name, stdout=out, **asked_for)
        except Problem as problem:
            assert SENTENCE.fullmatch(str(problem))
        else:
            assert "q0" in out.getvalue()


@pytest.mark.parametrize("kernel", [name for name, kernel in BY_NAME.items() if not kernel.many])
def test_a_kernel_that_answers_one_window_has_each_in_a_tree_of_its_own(planned: Any, kernel: str) -> None:
    text = planned(asked("a", (60, 10), (300, 10)), strategy="weave_share", kernel=kernel)
    assert "not with tree 2: its kernel answers one window alone" in text


def test_from_the_shell_a_problem_is_one_line_and_exit_code_one(tmp_path: Path) -> None:
    project = tmp_path / "project"  # the launcher with an environment that needs no set-up
    python = project / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nshift\nexec "{sys.executable}" "{ROOT}/manage.py" "$@"\n')
    python.chmod(0o755)
    for name in ("millrace", "uv.lock"):
        shutil.copy(ROOT / name, project)
    lock = subprocess.run(
        ["cksum"], stdin=(project / "uv.lock").open(), capture_output=True, text=True, check=True
    )
    installer = next(
        line[3:] for line in (project / "millrace").read_text().splitlines() if line.startswith("uv=")
    )
    (project / ".venv" / "millrace-stamp").write_text(f"{lock.stdout.strip()} {installer} test\n")
    done = subprocess.run(
        [project / "millrace", "plan", "--spec", tmp_path / "none.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"Problem: There is no file {tmp_path}/none.json.\n"


def test_it_starts_neither_spark_nor_java_nor_a_database(tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    path.write_text(json.dumps({"queries": [asked("a", (60, 10))]}))
    check = (
        "import sys; from django.core.management import execute_from_command_line as run; "
        f"run(['manage.py', 'plan', '--spec', {str(path)!r}, '--json']); "
        "heavy = {'pyspark', 'py4j', 'pandas', 'duckdb', 'matplotlib'} & set(sys.modules); "
        "sys.exit(f'{heavy} imported' if heavy else 0)"
    )
    environment = {
        "DJANGO_SETTINGS_MODULE": "dashboard.settings",
        "PATH": "/nowhere",
        "MILLRACE_VAR": str(tmp_path / "var"),
    }
    done = subprocess.run(
        [sys.executable, "-c", check],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["nodes"][0]["trees"][0]["queries"] == ["a"]
    assert not list((tmp_path / "var").glob("*.sqlite3*"))


def test_count_and_session_windows_are_planned_beside_the_others(planned: Any, planned_json: Any) -> None:
    timed = asked("a", (60, 10))
    grouped = {**asked("g"), "windows": [{"count": 100, "every": 40}, {"gap": 30}], "group_by": ["device"]}
    [node] = planned_json(timed, grouped, rate=100, strategy="weave_share")["nodes"]
    assert [list(tree) for tree in node["trees"]] == [TREE_KEYS, *[["queries", "window", "cost"]] * 2]
    assert node["trees"][1:] == [
        {"queries": ["g@100 events/40"], "window": {"count": 100, "every": 40}, "cost": 212.5},
        {"queries": ["g@gap 30"], "window": {"gap": 30_000}, "cost": 200.0},
    ]
    text = planned(timed, grouped, rate=100, strategy="weave_share", compare=True)
    assert text.startswith("WeaveShare: 3 windows in 3 trees, ")
    lines = text.splitlines()
    at = lines.index("Tree 2 · windows of each group’s own events · 212 operations/s")
    assert lines[at + 1] == "  g@100 events/40  100 events every 40"
    assert "g: sum of temp over sessions with a gap of 30s by device" in lines
