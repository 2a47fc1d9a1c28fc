"""Benchmark documents: what a report holds is what the Markdown and the images show."""

import platform
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.figures import Figure
from benchmarks.optimizer import __main__ as runner
from benchmarks.report import Chart, Report, Table, cell_text, write

REPORT = Report(
    "Edges, counted",
    "F1 beats the bit set. It does so by far.",
    [Table("Sweeps", ["setting", "ratio"], [["slides", 350.0], ["a|b", None]], "Published: 350 to 14,000.")],
    [
        Chart(
            "Time by queries",
            "queries",
            "s",
            [10, 100],
            {"F1": [0.1, None], "ours": [0.01, 0.02]},
            log_y=True,
        )
    ],
    [Figure("F1 against bit set", 700.0, "×", target=350.0)],
)


def test_a_document_holds_the_tables_figures_and_charts(tmp_path: Path) -> None:
    text = write(REPORT, "edge_counting", tmp_path, benchmark="optimizer").read_text()
    assert text.startswith("# Edges, counted\n\nF1 beats the bit set. It does so by far.\n")
    assert "| setting | ratio |\n| --- | ---: |\n| slides | 350 |\n| a\\|b | – |\n\nPublished: 350" in text
    assert "| F1 against bit set | 700 | × | 350 | yes |" in text
    assert "![Time by queries](images/edge_counting-time-by-queries.png)" in text
    assert (tmp_path / "images" / "edge_counting-time-by-queries.png").exists()


def test_a_document_names_no_machine_and_no_path(tmp_path: Path) -> None:
    text = write(REPORT, "edge_counting", tmp_path, benchmark="optimizer").read_text()
    assert platform.node() not in text
    assert str(tmp_path) not in text
    assert text.splitlines()[-1].startswith("Written by `./millrace bench optimizer` on ")


def test_a_quick_document_says_so_at_the_top(tmp_path: Path) -> None:
    assert (
        write(REPORT, "e", tmp_path, benchmark="optimizer", quick=True)
        .read_text()
        .split("\n\n")[1]
        .startswith("> A quick run")
    )
    assert "quick run" not in write(REPORT, "e", tmp_path, benchmark="optimizer").read_text()


def test_the_index_has_a_line_for_each_document(tmp_path: Path) -> None:
    write(REPORT, "b", tmp_path, benchmark="optimizer", quick=True)
    write(Report("Another", "One sentence\nin two lines."), "a", tmp_path, benchmark="optimizer")
    index = (tmp_path / "README.md").read_text()
    assert index.splitlines()[-2:] == [
        "- [Another](a.md): One sentence in two lines.",
        "- [Edges, counted](b.md): F1 beats the bit set.",
    ]


def test_charts_that_are_no_more_go(tmp_path: Path) -> None:
    write(REPORT, "e", tmp_path, benchmark="optimizer")
    write(Report("Edges, counted", "None."), "e", tmp_path, benchmark="optimizer")
    assert list((tmp_path / "images").iterdir()) == []


@pytest.mark.parametrize("kind", ["line", "bar"])
def test_charts_of_many_series_are_small_files_on_white(tmp_path: Path, kind: Any) -> None:
    series = {f"strategy {n}": [float(n + place) for place in range(12)] for n in range(14)}
    chart = Chart(
        "Many",
        "x",
        "y",
        [f"setting {n}" for n in range(12)],
        series,
        kind=kind,
        errors={"strategy 1": [0.5] * 12},
    )
    write(Report("t", "s.", charts=[chart]), "many", tmp_path, benchmark="optimizer")
    image = (tmp_path / "images" / "many-many.png").read_bytes()
    width, height = struct.unpack(">II", image[16:24])
    assert (width, height) == (792, 440)
    assert len(image) < 60_000
    palette = image.index(b"PLTE") + 4
    assert b"\xff\xff\xff" in image[palette : palette + 192]


def test_rows_and_series_of_the_wrong_length_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="“F1” of the chart “t” has 1 values for 2 places"):
        Chart("t", "x", "y", [1, 2], {"F1": [1.0]})
    with pytest.raises(ValueError, match="A row has 1 cells for 2 headings"):
        write(Report("t", "s.", [Table("t", ["a", "b"], [["x"]])]), "e", tmp_path, benchmark="optimizer")


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, "–"),
        (True, "yes"),
        (12_345, "12,345"),
        (10**20, "1.0e+20"),
        (0.0, "0"),
        (0.96, "0.960"),
        (-1.5, "-1.50"),
        (31.25, "31.2"),
        (1234.5, "1,234"),
        (0.00012, "1.2e-04"),
        (float("inf"), "∞"),
        (float("nan"), "–"),
    ],
)
def test_numbers_are_written_to_be_read(cell: Any, text: str) -> None:
    assert cell_text(cell) == text


def fake_module(name: str, said: list[str]) -> SimpleNamespace:
    def run(quick: bool, progress: Callable[[str], None]) -> Report:
        progress("half way")
        said.append(f"{name} quick={quick}")
        return Report(name, "One.", figures=[Figure(name, 1.0, "s")])

    return SimpleNamespace(run=run)


@pytest.mark.parametrize(("quick", "place"), [(True, "var/benchmarks"), (False, "docs/benchmarks")])
def test_the_runner_writes_each_document_and_gives_all_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any, quick: bool, place: str
) -> None:
    settings.VAR_DIR, settings.BASE_DIR = tmp_path / "var", tmp_path
    ran: list[str] = []
    said: list[str] = []
    modules = {f"benchmarks.optimizer.{name}": fake_module(name, ran) for name in runner.DOCUMENTS}
    monkeypatch.setattr(runner.importlib, "import_module", modules.__getitem__)
    figures = runner.main(quick=quick, progress=said.append)
    assert [figure.name for figure in figures] == list(runner.DOCUMENTS)
    assert ran == [f"{name} quick={quick}" for name in runner.DOCUMENTS]
    assert said[0] == f"{runner.DOCUMENTS[0]}: half way"
    written = {path.stem for path in (tmp_path / place).glob("*.md")}
    assert written == {*runner.DOCUMENTS, "README"}


def test_every_document_of_the_runner_has_its_module() -> None:
    directory = Path(runner.__file__).parent
    assert [name for name in runner.DOCUMENTS if not (directory / f"{name}.py").exists()] == []
