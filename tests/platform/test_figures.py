"""A benchmark's figures say whether they met their target."""

from benchmarks.figures import Figure, table


def test_a_figure_with_a_baseline_is_judged_by_its_ratio() -> None:
    assert Figure("read", 90.0, "events/s", baseline=100.0, target=0.8).met is True
    assert Figure("read", 70.0, "events/s", baseline=100.0, target=0.8).met is False


def test_a_figure_without_a_baseline_is_judged_by_its_value() -> None:
    assert Figure("start", 28.0, "s", target=30.0, lower_is_better=True).met is True
    assert Figure("start", 31.0, "s", target=30.0, lower_is_better=True).met is False


def test_a_figure_without_a_target_is_not_judged() -> None:
    assert Figure("read", 90.0, "events/s").met is None


def test_json_has_exactly_the_promised_keys() -> None:
    keys = ["name", "value", "unit", "baseline", "ratio", "target", "met"]
    assert list(Figure("read", 90.0, "events/s").to_json()) == keys


def test_the_table_has_a_line_for_each_figure() -> None:
    lines = table(
        [Figure("read", 90.0, "events/s"), Figure("whole path", 1234567.0, "events/s")]
    ).splitlines()
    assert len(lines) == 3
    assert "1,234,567" in lines[2]
