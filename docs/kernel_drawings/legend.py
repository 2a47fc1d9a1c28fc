"""What stands around a drawing: its title, its caption and its legend."""

from collections.abc import Sequence

from kernel_drawings.ink import BANDS, MARGIN, MUTED, Sheet
from streaming.kernels import traits_of

Legend = Sequence[tuple[str, str]]  # what a colour means: a kind of cell, a band, or "read"

WRITTEN, KEPT = ("written", "written in this step"), ("kept", "kept from before")
READ, NOTHING = ("read", "what the answer is made of"), ("nothing", "slice that holds nothing")


def legend_lines(legend: Legend, wide: float) -> list[list[tuple[str, str, float]]]:
    """The legend's entries by line, each with its place."""
    lines: list[list[tuple[str, str, float]]] = [[]]
    x = float(MARGIN)
    for kind, words in legend:
        room = 44 + 6.6 * len(words)
        if x + room > wide - MARGIN and lines[-1]:
            lines.append([])
            x = MARGIN
        lines[-1].append((kind, words, x))
        x += room
    return lines


def draw_legend(sheet: Sheet, legend: Legend, wide: float, y: float) -> float:
    """Where the drawing ends below it."""
    for line in legend_lines(legend, wide):
        for kind, words, x in line:
            draw_entry(sheet, kind, words, x, y)
        y += 24
    return y + 4


def draw_entry(sheet: Sheet, kind: str, words: str, x: float, y: float) -> None:
    if kind in BANDS:
        sheet.band(x, y + 5, 20, kind, 6)
    else:
        sheet.box(x, y, 20, 15, "slice" if kind == "read" else kind, kind == "read")
    sheet.text(x + 27, y + 12, words, 12, "start", MUTED)


def title_of(name: str, words: str) -> str:
    label = traits_of(name).label
    return f"{label[0].upper()}{label[1:]}: {words}"


def draw_heading(sheet: Sheet, title: str, caption: Sequence[str]) -> float:
    sheet.text(MARGIN, 32, title, 16, "start", bold=True)
    y = 53.0
    for line in caption:
        sheet.text(MARGIN, y, line, 13, "start", MUTED)
        y += 18
    return y
