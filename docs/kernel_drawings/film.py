"""A film: a line for each step of a kernel, time from left to right, operations and answers at the right."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernel_drawings.examples import Example, operations_per_step
from kernel_drawings.ink import ANSWER, CELL, COUNTS, FAINT, LABELS, MARGIN, MUTED, RULE, Sheet, signed
from kernel_drawings.legend import Legend, draw_heading, draw_legend, title_of
from kernel_drawings.watching import Step, watch

Across = Callable[[float], float]  # where a column begins
Body = Callable[[Sheet, Across, float, Step], None]


@dataclass(frozen=True)
class Film:
    name: str
    example: Example
    caption: Sequence[str]
    body: Body
    tall: int  # of a step
    first: int  # the first slice that has a column; the last is the newest
    legend: Legend
    beside: Example | None = None  # another example whose operations and answers are shown at the right
    columns: int = 0  # where columns are rows of the store and not slices: how many
    more: int = 0  # columns for slices to come

    @property
    def wide(self) -> int:
        count = self.columns or len(self.example.inputs) - self.first + self.more
        return 2 * MARGIN + LABELS + count * CELL + self._counts + 14

    @property
    def edge(self) -> float:
        """Where operations and answers begin, at the right."""
        return self.wide - MARGIN - self._counts

    @property
    def _counts(self) -> int:
        """How wide operations and answers are."""
        extra = COUNTS + ANSWER if self.beside else 0
        return COUNTS + ANSWER * len(self.example.ranges) + extra

    @property
    def edge_beside(self) -> float:
        """Where those of the other example begin."""
        return self.edge + COUNTS + ANSWER

    def x(self, column: float) -> float:
        return MARGIN + LABELS + (column - self.first) * CELL


def draw_film(film: Film) -> str:
    sheet = Sheet()
    title = title_of(film.name, film.example.words)
    top = draw_heading(sheet, title, film.caption) + 8
    steps = watch(film.name, film.example)
    _draw_heads(sheet, film, top)
    y = top + 36
    for step in steps:
        sheet.line(MARGIN, y - 6, film.wide - MARGIN, y - 6, stroke=RULE)
        _draw_margins(sheet, film, step, y)
        film.body(sheet, film.x, y, step)
        y += film.tall
    total = sum(step.operations for step in steps)
    _draw_totals(sheet, film, total, y)
    end = draw_legend(sheet, film.legend, film.wide, y + 36)
    about = f"Input {' '.join(map(str, film.example.inputs))}; {total} operations. {' '.join(film.caption)}"
    return sheet.svg(film.wide, end + 8, title, about)


def _draw_heads(sheet: Sheet, film: Film, top: float) -> None:
    y = top + 22
    sheet.text(MARGIN + 18, y, "step", 12, fill=MUTED)
    sheet.text(MARGIN + 58, y, "in", 12, fill=MUTED)
    _draw_column_heads(sheet, film, top)
    sheet.text(film.edge + COUNTS / 2, y, "operations", 12, fill=MUTED)
    ranges = film.example.ranges
    for place, length in enumerate(ranges):
        words = "answer" if len(ranges) == 1 else f"over {length}"
        sheet.text(film.edge + COUNTS + ANSWER * (place + 0.5), y, words, 12, fill=MUTED)
    if film.beside:
        length, start = film.beside.ranges[-1], film.edge_beside
        sheet.text(start + (COUNTS + ANSWER) / 2, top + 4, f"with range {length} as well", 12, fill=MUTED)
        sheet.text(start + COUNTS / 2, y, "operations", 12, fill=MUTED)
        sheet.text(start + COUNTS + ANSWER / 2, y, f"over {length}", 12, fill=MUTED)


def _draw_column_heads(sheet: Sheet, film: Film, top: float) -> None:
    sheet.text(film.x(film.first) + 4, top + 4, "row" if film.columns else "slice", 12, "start", MUTED)
    last = film.first + film.columns if film.columns else len(film.example.inputs)
    for column in range(film.first, last):
        sheet.text(film.x(column) + CELL / 2, top + 22, signed(column), 12, fill=MUTED)


def _draw_margins(sheet: Sheet, film: Film, step: Step, y: float) -> None:
    line = y + (film.tall - 12) / 2 + 5
    sheet.text(MARGIN + 18, line, step.number + 1, fill=MUTED)
    sheet.text(MARGIN + 58, line, step.value, bold=True)
    sheet.text(film.edge + COUNTS / 2, line, step.operations)
    for place, answer in enumerate(step.answers):
        sheet.text(film.edge + COUNTS + ANSWER * (place + 0.5), line, answer, bold=True)
    if film.beside:
        other = watch(film.name, film.beside)[step.number]
        sheet.text(film.edge_beside + COUNTS / 2, line, other.operations)
        sheet.text(film.edge_beside + COUNTS + ANSWER / 2, line, other.answers[-1], bold=True)


def _draw_totals(sheet: Sheet, film: Film, total: int, y: float) -> None:
    sheet.line(MARGIN, y - 6, film.wide - MARGIN, y - 6, stroke=FAINT)
    sheet.text(film.edge - 8, y + 13, "in all", 12, "end", MUTED)
    sheet.text(film.edge + COUNTS / 2, y + 13, total, 14, bold=True)
    if film.beside:
        other = sum(operations_per_step(film.name, film.beside))
        sheet.text(film.edge_beside + COUNTS / 2, y + 13, other, 14, bold=True)
