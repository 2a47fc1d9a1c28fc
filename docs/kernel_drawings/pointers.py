"""Bodies of films where pointers are what moves."""

from kernel_drawings.film import Across
from kernel_drawings.ink import CELL, FAINT, FILLS, INK, TALL, Sheet
from kernel_drawings.watching import Step
from streaming.kernels.daba import ORIGIN, A, B, E, F, L, R, place

LISTS = ((F, L, "blue"), (L, R, "violet"), (R, A, "pink"), (A, B, "teal"), (B, E, "green"))
FRONT, LEFT, RIGHT, ACCUMULATED, BACK = LISTS


def flatfit_body(sheet: Sheet, x: Across, y: float, step: Step) -> None:
    reach, size, y = step.kernel.reach, len(step.kernel.reach), y + 24
    for number in range(step.number - size + 1, step.number + 1):
        row = number % size
        kind = step.kind(row) if step.store[row] else "nothing"
        sheet.cell(x(number), y, step.store[row], kind, row in step.reads)
        _draw_arc(sheet, x(number) + CELL / 2, x(reach[row]) + CELL / 2, y, row in step.wrote)


def _draw_arc(sheet: Sheet, start: float, end: float, y: float, is_new: bool) -> None:
    stroke = FILLS["written"][1] if is_new else FAINT
    height = 6 + 4 * (end - start) / CELL
    start, end = start + 5, end - 5
    sheet.path(
        f"M{start:g},{y - 2:g} C{start:g},{y - height - 2:g} {end:g},{y - height - 2:g} {end:g},{y - 3:g}",
        stroke,
        1.8 if is_new else 1.2,
    )
    sheet.path(f"M{end - 3:g},{y - 7:g} L{end:g},{y - 2:g} L{end + 3:g},{y - 7:g}", stroke, 1.2)


def daba_body(sheet: Sheet, x: Across, y: float, step: Step) -> None:
    _draw_letters(sheet, x, y, step.kernel.at[:ORIGIN].tolist())
    for one in LISTS:
        _draw_list(sheet, x, y + 17, step, one)


def daba_lite_body(sheet: Sheet, x: Across, y: float, step: Step) -> None:
    at, size = step.kernel.at[:ORIGIN].tolist(), step.kernel.size
    _draw_letters(sheet, x, y, at)
    for one in (FRONT, LEFT, ACCUMULATED):
        _draw_list(sheet, x, y + 17, step, one)
    for number in range(at[R], at[A]):
        sheet.cell(x(number), y + 17, str(step.example.inputs[number]), "slice")
        sheet.band(x(number) + 3, y + TALL + 20, CELL - 6, RIGHT[2])
    if at[L] < at[R]:  # until the left list is used up
        _draw_one(sheet, x, y + TALL + 27, step, (at[R], at[B], size))
    if at[B] < at[E]:
        row, wide = size + 1, (at[E] - at[B]) * CELL
        sheet.cell(x(at[B]), y + 17, step.store[row], step.kind(row), row in step.reads, wide)
        sheet.band(x(at[B]) + 3, y + TALL + 20, wide - 6, BACK[2])


def _draw_letters(sheet: Sheet, x: Across, y: float, at: list[int]) -> None:
    """The six pointers over the places where their lists begin."""
    for number in sorted(set(at)):
        letters = "".join(letter for letter, here in zip("FLRABE", at, strict=True) if here == number)
        sheet.text(x(number), y + 9, letters, 12, fill=INK, bold=True)
        sheet.line(x(number), y + 13, x(number), y + 18 + TALL, stroke=FAINT)


def _draw_list(sheet: Sheet, x: Across, y: float, step: Step, one: tuple[int, int, str]) -> None:
    """A list where every slice has a row."""
    begin, end, colour = one
    for number in range(int(step.kernel.at[begin]), int(step.kernel.at[end])):
        row = place(step.kernel, number)
        sheet.cell(x(number), y, step.store[row], step.kind(row), row in step.reads)
        sheet.band(x(number) + 3, y + TALL + 3, CELL - 6, colour)


def _draw_one(sheet: Sheet, x: Across, y: float, step: Step, span: tuple[int, int, int]) -> None:
    """One aggregate of several slices, in a flat box."""
    begin, end, row = span
    wide = (end - begin) * CELL
    sheet.box(x(begin) + 3, y, wide - 6, 18, step.kind(row))
    sheet.text(x(begin) + wide / 2, y + 14, step.store[row], 12, bold=row in step.wrote)
