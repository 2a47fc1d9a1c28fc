"""The body of films where each query has one running aggregate."""

from kernel_drawings.film import Across
from kernel_drawings.ink import CELL, MUTED, TALL, Sheet
from kernel_drawings.rows import draw_nothing
from kernel_drawings.watching import Step


def running_body(sheet: Sheet, x: Across, y: float, step: Step) -> None:
    first = step.window.start - 1  # what has just left is shown as well
    draw_nothing(sheet, x, y, range(first, 0))
    for number in range(max(0, first), step.number + 1):
        kind = "written" if number == step.number else "slice"
        sheet.cell(x(number), y, str(step.example.inputs[number]), kind)
    for query, low in enumerate(step.kernel.low.tolist()):
        _draw_running(sheet, x, y + TALL + 5 + 25 * query, step, (query, low))


def _draw_running(sheet: Sheet, x: Across, y: float, step: Step, running: tuple[int, int]) -> None:
    """A running aggregate under the slices inside it, with what became of it."""
    query, low = running
    wide = (step.number - low + 1) * CELL
    left = step.example.inputs[low - 1] if low > 0 else 0
    was = step.before.store[query] if step.before else "0"
    sheet.box(x(low) + 3, y, wide - 6, 21, "written")
    sheet.text(x(low) + wide / 2, y + 15, f"{was} + {step.value} − {left} = {step.store[query]}", 12)
    if low > 0:
        sheet.text(x(low) - 6, y + 15, f"−{left}", 12, "end", MUTED)
