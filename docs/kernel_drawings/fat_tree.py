"""The drawing of FlatFAT: its tree after every step."""

from kernel_drawings.examples import MAX_5
from kernel_drawings.ink import FILLS, MARGIN, MUTED, PALE, RULE, Sheet
from kernel_drawings.legend import KEPT, READ, WRITTEN, draw_entry, draw_heading, title_of
from kernel_drawings.watching import Step, watch

ACROSS, WIDE, TALL, GAP = 3, 292, 190, 14  # trees in a line; a tree's measures
LEAF, LEVEL = 36, 34  # the width of a leaf's place, and the distance of two levels

CAPTION = (
    "A tree over 8 places. A slice goes into its place, and its path to the root is mended.",
    "Where the window wraps around (step 9) its older part is joined before the newer one.",
)


def draw_flatfat() -> str:
    sheet, steps = Sheet(), watch("flatfat", MAX_5)
    title = title_of("flatfat", MAX_5.words)
    top = draw_heading(sheet, title, CAPTION) + 2
    for step in steps:
        line, column = divmod(step.number, ACROSS)
        _draw_step(sheet, step, MARGIN + column * (WIDE + GAP), top + line * TALL)
    total = sum(step.operations for step in steps)
    _draw_beside_last(sheet, total, MARGIN + WIDE + GAP, top + 3 * TALL + 24)
    about = f"Input {' '.join(map(str, MAX_5.inputs))}; {total} operations. {' '.join(CAPTION)}"
    wide = 2 * MARGIN + ACROSS * WIDE + (ACROSS - 1) * GAP
    return sheet.svg(wide, top + 4 * TALL + 8, title, about)


def _draw_beside_last(sheet: Sheet, total: int, x: float, y: float) -> None:
    """The legend and the total, where the last line of trees leaves room."""
    for kind, words in (WRITTEN, KEPT, READ, ("blue", "slices of the window")):
        draw_entry(sheet, kind, words, x, y)
        y += 24
    sheet.text(x, y + 16, f"{total} operations in all", 14, "start", bold=True)


def _draw_step(sheet: Sheet, step: Step, left: float, top: float) -> None:
    right = left + int(step.kernel.leaves) * LEAF
    sheet.line(left, top, right, top, stroke=RULE)
    sheet.text(left + 2, top + 19, f"step {step.number + 1}", 12, "start", MUTED)
    sheet.text(left + 54, top + 19, step.value, 13, "start", bold=True)
    sheet.text(right - 22, top + 19, f"{step.operations} operations, answer", 12, "end", MUTED)
    sheet.text(right - 4, top + 19, step.answers[0], 13, "end", bold=True)
    _draw_tree(sheet, step, _middles(int(step.kernel.leaves), left, top + 46))


def _middles(leaves: int, left: float, top: float) -> dict[int, tuple[float, float]]:
    """Where the middle of every node is, from the root on."""
    places = {}
    for node in range(1, 2 * leaves):
        level = node.bit_length() - 1
        span = leaves * LEAF / (1 << level)
        places[node] = (left + (node - (1 << level) + 0.5) * span, top + LEVEL * level)
    return places


def _draw_tree(sheet: Sheet, step: Step, middles: dict[int, tuple[float, float]]) -> None:
    for node, (x, y) in middles.items():
        if node > 1:
            is_mended = node in step.wrote and node // 2 in step.wrote
            stroke, width = (FILLS["written"][1], 2) if is_mended else (PALE, 1)
            above = middles[node // 2]
            sheet.line(x, y - 11, above[0], above[1] + 11, stroke=stroke, width=width)
    for node, (x, y) in middles.items():
        kind = "written" if node in step.wrote else "kept" if step.store[node] else "nothing"
        sheet.box(x - 15, y - 11, 30, 22, kind, node in step.reads)
        sheet.text(x, y + 5, step.store[node], bold=kind == "written")
    leaves = int(step.kernel.leaves)
    for number in range(max(0, step.window.start), step.number + 1):
        x, y = middles[leaves + number % leaves]
        sheet.band(x - 15, y + 15, 30, "blue")
