"""The drawing of FiBA: its tree when a slice comes in order, when one comes late, and when one leaves."""

import copy
from dataclasses import dataclass
from typing import Any

from kernel_drawings.examples import MAX_5
from kernel_drawings.ink import FILLS, MARGIN, MUTED, PALE, RULE, TALL, Sheet
from kernel_drawings.legend import KEPT, READ, WRITTEN, draw_heading, draw_legend, title_of
from kernel_drawings.watching import Watched
from streaming.kernels.finger_tree import TOP, FingerTree
from streaming.kernels.run.workbench import workbench


@dataclass(frozen=True)
class TreeFrame:
    """A finger tree after a slice has come."""

    words: str
    number: int  # the slice
    tree: FingerTree
    store: list[str]
    wrote: set[int]
    reads: set[int]
    operations: int
    answer: str

    def kind(self, row: int) -> str:
        return "written" if row in self.wrote else "kept"


MISSING, WINDOW = 4, 15  # the slice that comes late, and the range
SLOT, NODE, LEVEL = 30, 48, 68  # of a node: a slice's width, the height, and the distance of two levels
TWICE = MAX_5.inputs * 2


def finger_tree_frames() -> list[TreeFrame]:
    """Fifteen slices but for one, then the one that was missing, then one more."""
    last = WINDOW - 1
    tree = FingerTree.new([WINDOW], 0, True)
    bench = Watched(MAX_5.algebra, workbench(MAX_5.algebra, tree.rows(), False).store)
    for number in range(last):
        if number != MISSING:
            _take_in(tree, bench, number, number)
    happenings = (
        (last, last, f"Slice {last} comes: the right finger, and what lies from it up."),
        (MISSING, last, f"Slice {MISSING} comes late: its leaf, and what holds that leaf."),
        (last + 1, last + 1, f"Slice {last + 1} comes, slice 0 leaves: both fingers."),
    )
    return [_frame(tree, bench, *happening) for happening in happenings]


def _take_in(tree: Any, bench: Watched, number: int, newest: int) -> None:
    bench.slices[number] = MAX_5.partial(TWICE[number])
    tree.insert(bench, number)
    tree.answer(bench, newest, newest - WINDOW + 1, 0, 0)


def _frame(tree: FingerTree, bench: Watched, number: int, newest: int, words: str) -> TreeFrame:
    bench.forget()
    before = bench.operations
    _take_in(tree, bench, number, newest)
    return TreeFrame(
        words,
        number,
        copy.deepcopy(tree),
        [MAX_5.shown(state) for state in bench.store],
        set(bench.touched),
        set().union(*bench.read.values()),
        bench.operations - before,
        MAX_5.shown(bench.answers[0]),
    )


def draw_finger_tree() -> str:
    sheet, wide, tall = Sheet(), 860, 240
    title = title_of("finger_tree", f"Max over {WINDOW} slices")
    caption = (
        "A node has slices (number over value) and, below them, the maximum that it holds.",
        "The boxes beside an edge hold all from that node up: those of the two fingers make up the window.",
    )
    top = draw_heading(sheet, title, caption) + 2
    frames = finger_tree_frames()
    for place, frame in enumerate(frames):
        _draw_finger_frame(sheet, frame, wide, top + place * tall)
    end = draw_legend(sheet, (WRITTEN, KEPT, READ), wide, top + len(frames) * tall + 6)
    return sheet.svg(wide, end + 8, title, " ".join((*caption, *(frame.words for frame in frames))))


def _draw_finger_frame(sheet: Sheet, frame: TreeFrame, wide: float, top: float) -> None:
    sheet.line(MARGIN, top, wide - MARGIN, top, stroke=RULE)
    sheet.text(MARGIN, top + 22, frame.words, 13, "start")
    sheet.text(wide - MARGIN - 22, top + 22, f"{frame.operations} operations, answer", 12, "end", MUTED)
    sheet.text(wide - MARGIN, top + 22, frame.answer, 13, "end", bold=True)
    tree = frame.tree
    middles = _middles(tree, wide)

    def y(node: int) -> float:
        return top + 36 + LEVEL * int(tree.at[TOP] - tree.height[node])

    for node, x in middles.items():
        for child in _children(tree, node):
            sheet.line(x, y(node) + NODE, middles[child], y(child), stroke=PALE)
    for node, x in middles.items():
        _draw_finger_node(sheet, frame, node, x, y(node))


def _children(tree: FingerTree, node: int) -> list[int]:
    return [int(child) for child in tree.children[node, : tree.arity[node]]] if tree.height[node] > 0 else []


def _leaves(tree: FingerTree, node: int) -> list[int]:
    """Those under a node, oldest first."""
    return [leaf for child in _children(tree, node) for leaf in _leaves(tree, child)] or [node]


def _slots(tree: FingerTree, node: int) -> int:
    return SLOT * int(tree.arity[node] - 1)


def _middles(tree: FingerTree, wide: float) -> dict[int, float]:
    """Where the middle of every node is: leaves side by side, others over their children."""
    root = int(tree.left[tree.at[TOP]])
    leaves, gap = _leaves(tree, root), 62
    x = (wide - sum(_slots(tree, leaf) for leaf in leaves) - gap * (len(leaves) - 1)) / 2
    middles: dict[int, float] = {}
    for leaf in leaves:
        middles[leaf] = x + _slots(tree, leaf) / 2
        x += _slots(tree, leaf) + gap

    def settle(node: int) -> float:
        if node not in middles:
            own = [settle(child) for child in _children(tree, node)]
            middles[node] = (own[0] + own[-1]) / 2
        return middles[node]

    settle(root)
    return middles


def _draw_finger_node(sheet: Sheet, frame: TreeFrame, node: int, x: float, y: float) -> None:
    tree, wide = frame.tree, _slots(frame.tree, node)
    sheet.box(x - wide / 2, y, wide, NODE, frame.kind(node), node in frame.reads)
    for place in range(int(tree.arity[node]) - 1):
        number, at = int(tree.numbers[node, place]), x - wide / 2 + SLOT * (place + 0.5)
        is_new = number == frame.number
        sheet.text(at, y + 14, number, 12, fill=FILLS["written"][1] if is_new else MUTED, bold=is_new)
        sheet.text(at, y + 28, TWICE[number])
    sheet.text(x, y + 43, frame.store[node], 13, bold=True)
    height, top = int(tree.height[node]), int(tree.at[TOP])
    if tree.left[height] == node and height < top - 1:
        _draw_edge(sheet, frame, len(tree.arity) + height, x - wide / 2 - 42, y)
    if tree.right[height] == node and height < top:
        _draw_edge(sheet, frame, len(tree.arity) + len(tree.left) + height, x + wide / 2 + 12, y)


def _draw_edge(sheet: Sheet, frame: TreeFrame, row: int, x: float, y: float) -> None:
    """The row of an edge, beside its node."""
    sheet.box(x, y + 11, SLOT, TALL, frame.kind(row), row in frame.reads)
    sheet.text(x + SLOT / 2, y + 29, frame.store[row], bold=row in frame.wrote)
