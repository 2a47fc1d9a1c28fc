"""Bodies of films where rows hold 1, 2, 4, … slices: the longer, the higher up."""

from kernel_drawings.film import Across
from kernel_drawings.ink import CELL, MUTED, Sheet
from kernel_drawings.watching import Step

LEVEL = 29  # the distance of two levels


def sparse_body(sheet: Sheet, x: Across, y: float, step: Step) -> None:
    kernel = step.kernel
    for level in range(kernel.levels):
        at = y + LEVEL * (kernel.levels - 1 - level)
        sheet.text(x(step.number + 1) + 6, at + 18, f"of {1 << level}", 12, "start", MUTED)
        for number in range(max(0, step.number - kernel.size + 1), step.number + 1):
            row = level * kernel.size + number % kernel.size
            sheet.cell(x(number), at, step.store[row], step.kind(row), row in step.reads)


def b_int_body(sheet: Sheet, x: Across, y: float, step: Step) -> None:
    levels = len(step.kernel.base)
    for level in range(levels):
        _draw_intervals(sheet, x, y + LEVEL * (levels - 1 - level), step, level)


def _draw_intervals(sheet: Sheet, x: Across, y: float, step: Step, level: int) -> None:
    size, base = int(step.kernel.size[level]), int(step.kernel.base[level])
    newest = ((step.number + 1) >> level) - 1
    for place in range(newest - size + 1, newest + 1):
        begin, end = place << level, (place + 1) << level
        if end <= step.window.start or begin <= -len(step.window):
            continue  # kept, but before the window
        row = base + place % size
        kind, shown = ("nothing", "") if place < 0 else (step.kind(row), step.store[row])
        sheet.cell(x(begin), y, shown, kind, row in step.reads, CELL << level)
