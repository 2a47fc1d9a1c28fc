"""Bodies of films where every slice of a window has a row of its own."""

from collections.abc import Iterable

from kernel_drawings.film import Across
from kernel_drawings.ink import BLUE, CELL, INK, MUTED, TALL, Sheet, signed
from kernel_drawings.watching import Step


def draw_nothing(sheet: Sheet, x: Across, y: float, numbers: Iterable[int]) -> None:
    """Slices of a window that came before the first."""
    for number in numbers:
        if number < 0:
            sheet.cell(x(number), y, "", "nothing")


def panes_body(sheet: Sheet, x: Across, y: float, step: Step) -> None:
    draw_nothing(sheet, x, y, step.window)
    for number in step.window:
        if number >= 0:
            sheet.cell(x(number), y, str(step.example.inputs[number]), "kept", read=True)


def stacks_body(sheet: Sheet, x: Across, y: float, step: Step) -> None:
    size, back = step.kernel.size, int(step.kernel.back[0])
    draw_nothing(sheet, x, y, step.window)
    for number in range(max(0, step.window.start), step.number + 1):
        row = number % size
        sheet.cell(x(number), y, step.store[row], step.kind(row), row in step.reads)
        sheet.band(x(number) + 3, y + TALL + 3, CELL - 6, "blue" if number < back else "green")
    _draw_boundary(sheet, x(back), y)


def stacks_lite_body(sheet: Sheet, x: Across, y: float, step: Step) -> None:
    kernel = step.kernel
    _draw_scan(sheet, x, y, step, (step.window.start, int(kernel.back[0]), 0, kernel.size))


def van_herk_body(sheet: Sheet, x: Across, y: float, step: Step) -> None:
    for query, size in enumerate(step.kernel.size.tolist()):
        low, at = step.number - size + 1, y + 40 * query
        place = (low, int(step.kernel.reach[query]) + 1, int(step.kernel.base[query]), size)
        _draw_scan(sheet, x, at, step, place)
        sheet.text(x(step.number + 1) + 6, at + 18, f"over {size}", 12, "start", MUTED)


def _draw_scan(sheet: Sheet, x: Across, y: float, step: Step, place: tuple[int, int, int, int]) -> None:
    """Aggregates that end at a boundary, and before it one row for all that starts there."""
    low, boundary, base, size = place
    draw_nothing(sheet, x, y, range(low, 0))
    for number in range(max(0, low), boundary):
        row = base + number % size
        sheet.cell(x(number), y, step.store[row], step.kind(row), row in step.reads)
        sheet.band(x(number) + 3, y + TALL + 3, CELL - 6, "blue")
    if boundary <= step.number:
        row, wide = base + size, (step.number + 1 - boundary) * CELL
        sheet.cell(x(boundary), y, step.store[row], step.kind(row), row in step.reads, wide)
        sheet.band(x(boundary) + 3, y + TALL + 3, wide - 6, "green")
    _draw_boundary(sheet, x(boundary), y)


def _draw_boundary(sheet: Sheet, x: float, y: float) -> None:
    sheet.line(x, y - 4, x, y + TALL + 9, stroke=INK, width=2)


def accumulators_body(sheet: Sheet, x: Across, y: float, step: Step) -> None:
    row_0, first = (int(number) for number in step.kernel.line[:2])
    for number in range(first, step.number + 1):
        row = number - row_0
        sheet.cell(x(row), y, step.store[row], step.kind(row), row in step.reads)
        sheet.text(x(row) + CELL / 2, y + TALL + 13, signed(number), 12, fill=MUTED)


def prefix_body(sheet: Sheet, x: Across, y: float, step: Step) -> None:
    size = step.kernel.size
    for number in range(step.number - size + 1, step.number + 1):
        row = number % size
        kind = "nothing" if number < 0 else step.kind(row)
        sheet.cell(x(number), y, step.store[row] if number >= 0 else "0", kind, row in step.reads)
        for length in step.example.ranges:
            if number == step.number - length:
                sheet.text(x(number) + CELL / 2, y + TALL + 14, f"over {length}", 12, fill=BLUE)
