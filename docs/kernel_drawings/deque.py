"""The body of the film of a deque: its nodes, and those that it has just lost."""

from kernel_drawings.film import Across
from kernel_drawings.ink import BLUE, CELL, MUTED, TALL, Sheet
from kernel_drawings.watching import Step


def deque_body(sheet: Sheet, x: Across, y: float, step: Step) -> None:
    for number, shown in (step.before.kernel if step.before else {}).items():
        if number not in step.kernel:
            sheet.cell(x(number), y, shown, "gone")
            words = "left" if number < step.window.start else "lost"
            sheet.text(x(number) + CELL / 2, y + TALL + 14, words, 12, fill=MUTED)
    for number, shown in step.kernel.items():
        sheet.cell(x(number), y, shown, step.kind(number), number in step.reads)
        ranges = [str(length) for out, length in enumerate(step.example.ranges) if number in step.read[out]]
        sheet.text(x(number) + CELL / 2, y + TALL + 14, " ".join(ranges), 12, fill=BLUE, bold=True)
