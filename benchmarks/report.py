"""Benchmark documents: what a benchmark found, as Markdown with tables, charts and figures."""

import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import cycle
from math import isfinite, isnan, nan
from pathlib import Path
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from PIL import Image

from benchmarks.figures import Figure

Cell = str | int | float | None
Values = Sequence[float | None]

# Okabe and Ito's colours, which people of any colour vision tell apart; markers and dashes help in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vPX*"
DASHES = ("-", "--", ":", "-.")
SIZE_INCHES = (7.2, 4.0)
DOTS_PER_INCH = 110
PALETTE_SIZE = 64  # a third of the bytes of a full-colour file, and looks the same
MOST_LETTERS_BELOW = 60  # names of bars, before they are turned
LEGEND_INSIDE = 6  # series; more of them are named beside the axes


@dataclass(frozen=True)
class Table:
    """Rows of texts and numbers; None is shown as a dash."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""

    def markdown(self) -> str:
        parts = [f"## {self.title}", _markdown_rows(self.headings, self.rows), self.note]
        return "\n\n".join(part for part in parts if part)


@dataclass(frozen=True)
class Chart:
    """Series over one x axis; None leaves a gap. `errors` are half-lengths of error bars, by series."""

    title: str
    x_label: str
    y_label: str
    x: Sequence[float | str]
    series: Mapping[str, Values]
    log_x: bool = False
    log_y: bool = False
    kind: Literal["line", "bar"] = "line"
    errors: Mapping[str, Values] | None = None

    def __post_init__(self) -> None:
        for name, values in (*self.series.items(), *(self.errors or {}).items()):
            if len(values) != len(self.x):
                raise ValueError(
                    f"“{name}” of the chart “{self.title}” has {len(values)} values for {len(self.x)} places."
                )

    @property
    def slug(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


@dataclass(frozen=True)
class Report:
    """What one benchmark found; the first sentence of the summary stands in the index."""

    title: str
    summary: str
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    figures: Sequence[Figure] = field(default_factory=list)


def write(report: Report, name: str, directory: Path, *, benchmark: str, quick: bool = False) -> Path:
    """Write `NAME.md`, its charts under `images/`, and the index of all documents in the directory."""
    images = directory / "images"
    images.mkdir(parents=True, exist_ok=True)
    for outdated in images.glob(f"{name}-*.png"):
        outdated.unlink()
    for chart in report.charts:
        draw(chart, images / f"{name}-{chart.slug}.png")
    document = directory / f"{name}.md"
    document.write_text(_document(report, name, benchmark, quick))
    write_index(directory)
    return document


def write_index(directory: Path) -> None:
    """`README.md`: a line for each document, read off the documents themselves."""
    lines = []
    for path in sorted(directory.glob("*.md")):
        if path.name == "README.md":
            continue
        title, _, body = path.read_text().partition("\n\n")
        summary = next(part for part in body.split("\n\n") if not part.startswith(">"))
        first_sentence = re.split(r"(?<=[.!?])\s", summary.strip(), maxsplit=1)[0].replace("\n", " ")
        lines.append(f"- [{title.removeprefix('# ')}]({path.name}): {first_sentence}")
    heading = (
        "# Benchmarks\n\nMeasured figures beside the published ones; each document says what wrote it.\n\n"
    )
    (directory / "README.md").write_text(heading + "\n".join(lines) + "\n")


def _document(report: Report, name: str, benchmark: str, quick: bool) -> str:
    parts = [f"# {report.title}"]
    if quick:
        parts.append("> A quick run: fewer and smaller settings, to find mistakes with, not for the record.")
    parts.append(report.summary.strip())
    if report.figures:
        parts.append(_figures_table(report.figures).markdown())
    parts += [table.markdown() for table in report.tables]
    parts += [
        f"## {chart.title}\n\n![{chart.title}](images/{name}-{chart.slug}.png)" for chart in report.charts
    ]
    parts.append(f"Written by `./millrace bench {benchmark}` on {environment()}.")
    return "\n\n".join(parts) + "\n"


def environment() -> str:
    """What the figures depend on, and nothing that names the machine."""
    cores = os.cpu_count() or 1
    return f"{cores} {'core' if cores == 1 else 'cores'}, Python {platform.python_version()}"


def _figures_table(figures: Sequence[Figure]) -> Table:
    met = {True: "yes", False: "no", None: None}
    rows: list[list[Cell]] = [
        [
            figure.name,
            figure.value,
            figure.unit,
            figure.baseline,
            figure.ratio,
            figure.target,
            met[figure.met],
        ]
        for figure in figures
    ]
    headings = ["figure", "value", "unit", "baseline", "ratio", "target", "met"]
    filled = [column for column in range(len(headings)) if any(row[column] is not None for row in rows)]
    return Table("Figures", [headings[c] for c in filled], [[row[c] for c in filled] for row in rows])


def _markdown_rows(headings: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    for row in rows:
        if len(row) != len(headings):
            raise ValueError(f"A row has {len(row)} cells for {len(headings)} headings: {row}.")
    is_text = [any(isinstance(row[column], str) for row in rows) for column in range(len(headings))]
    ruler = ["---" if text else "---:" for text in is_text]
    cells = [[cell_text(cell) for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in [list(headings), ruler, *cells])


def cell_text(cell: Cell) -> str:
    """A cell as people read it: thousands parted, three digits that count.

    >>> [cell_text(cell) for cell in (None, "a|b", 12345, 0.96, 31.25, 1234.5, 0.00012, 3e20, 2.0, True)]
    ['–', 'a\\\\|b', '12,345', '0.960', '31.2', '1,234', '1.2e-04', '3.0e+20', '2.00', 'yes']
    """
    if cell is None:
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, str):
        return cell.replace("|", r"\|").replace("\n", " ")
    if isinstance(cell, int):
        return f"{cell:,}" if abs(cell) < 10**15 else f"{cell:.1e}"
    return _decimal(cell)


def _decimal(value: float) -> str:
    size = abs(value)
    if not isfinite(value):
        return "–" if isnan(value) else "∞"
    if size and (size < 0.001 or size >= 1e15):
        return f"{value:.1e}"
    decimals = next((digits for least, digits in ((100, 0), (10, 1), (1, 2)) if size >= least), 3)
    return f"{value:,.{decimals}f}" if size else "0"


def draw(chart: Chart, path: Path) -> None:
    drawing = Drawing(figsize=SIZE_INCHES, dpi=DOTS_PER_INCH, layout="constrained", facecolor="white")
    axes = drawing.subplots()
    if chart.kind == "bar":
        _draw_bars(chart, axes)
    else:
        _draw_lines(chart, axes)
    if chart.log_x:
        axes.set_xscale("log")
    if chart.log_y:
        axes.set_yscale("log")
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    axes.grid(axis="y" if chart.kind == "bar" else "both", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if len(chart.series) > LEGEND_INSIDE:
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    elif len(chart.series) > 1 and chart.kind == "bar":  # bars leave no corner free
        above = (0.0, 1.0)
        axes.legend(fontsize=8, loc="lower left", bbox_to_anchor=above, ncols=LEGEND_INSIDE, frameon=False)
    elif len(chart.series) > 1:
        axes.legend(fontsize=8, framealpha=0.8)
    pixels = BytesIO()
    drawing.savefig(pixels, format="png")
    few_colours = Image.open(pixels).convert("RGB").quantize(PALETTE_SIZE, Image.Quantize.MAXCOVERAGE)
    few_colours.save(path, optimize=True)


def _draw_lines(chart: Chart, axes: Axes) -> None:
    markers = cycle(MARKERS)
    for number, (name, values) in enumerate(chart.series.items()):
        axes.errorbar(
            chart.x,
            _plotted(values),
            yerr=_errors(chart, name),
            label=name,
            color=COLOURS[number % len(COLOURS)],
            linestyle=DASHES[number // len(COLOURS) % len(DASHES)],
            marker=next(markers),
            markersize=4,
            linewidth=1.5,
            capsize=2,
        )


def _draw_bars(chart: Chart, axes: Axes) -> None:
    places = range(len(chart.x))
    width = 0.8 / max(1, len(chart.series))
    for number, (name, values) in enumerate(chart.series.items()):
        axes.bar(
            [place - 0.4 + width * (number + 0.5) for place in places],
            _plotted(values),
            width,
            yerr=_errors(chart, name),
            label=name,
            color=COLOURS[number % len(COLOURS)],
            hatch="" if number < len(COLOURS) else "//",
            capsize=2,
        )
    names = [str(x) for x in chart.x]
    axes.set_xticks(list(places), names, fontsize=8)
    axes.set_xlim(-0.5, len(names) - 0.5)
    if sum(map(len, names)) > MOST_LETTERS_BELOW:
        for label in axes.get_xticklabels():
            label.set(rotation=30, horizontalalignment="right", rotation_mode="anchor")


def _plotted(values: Values) -> list[float]:
    return [nan if value is None else value for value in values]


def _errors(chart: Chart, name: str) -> list[float] | None:
    values = (chart.errors or {}).get(name)
    return None if values is None else _plotted(values)
