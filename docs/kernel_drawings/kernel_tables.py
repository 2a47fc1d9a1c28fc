"""Tables about kernels: what their cards say, and what was counted."""

import inspect
import random
import re
from functools import cache

from kernel_drawings.examples import (
    EXACT_3_5,
    EXAMPLES,
    MAX_3_5,
    MAX_5,
    MAX_5_2,
    SUM_3_5,
    Example,
    is_legal,
    operations_per_step,
)
from kernel_drawings.markdown import link_to, markdown_table
from streaming.aggregates.algebra import lacks
from streaming.kernels import KERNELS, element, traits_of
from streaming.kernels.slickdeque_noninv import DequeElement

COUNTED = 60  # slices of the window that operations are counted on: no power of two, as windows seldom are
TOTALS = (MAX_5, MAX_5_2, SUM_3_5, MAX_3_5)


def card_of(name: str) -> dict[str, str]:
    """A kernel's docstring: what it says after each of the words at the left."""
    words = inspect.getdoc(inspect.getmodule(KERNELS[name])) or ""
    entries = re.findall(r"^(\w+) {2,}(.*(?:\n {4,}.*)*)", words, re.MULTILINE)
    return {word: " ".join(text.split()) for word, text in entries}


def operations_table() -> str:
    heads = ["kernel", "operator", "operations", "mean", "most", "windows"]
    rows = []
    for name in KERNELS:
        card, (mean, most, _) = card_of(name), counted(name)
        windows = "many" if traits_of(name).many else "one"
        rows.append([link_to(name), card["operator"], card["time"], f"{mean:.2f}", most, windows])
    return markdown_table(heads, rows)


def space_table() -> str:
    rows = []
    for name in KERNELS:
        card = card_of(name)
        rows.append([link_to(name), card["space"], counted(name)[2], card["published"]])
    return markdown_table(["kernel", "space", "rows", "published"], rows)


@cache
def counted(name: str) -> tuple[float, int, str]:
    """Operations a slide with a window of 60 slices of random numbers: the mean, the most; and rows."""
    example = next(one for one in (MAX_5, EXACT_3_5) if not lacks(one.algebra, traits_of(name).needs))
    kernel, chance = element(name, example.algebra, [COUNTED]), random.Random(COUNTED)  # noqa: S311
    counts, nodes = [], 0
    for _ in range(32 * COUNTED):
        before = kernel.operations
        kernel.push(example.partial(chance.randrange(1 << 20)))
        counts.append(kernel.operations - before)
        nodes = max(nodes, len(kernel.deque.nodes)) if isinstance(kernel, DequeElement) else 0
    steady = counts[2 * COUNTED :]
    rows = f"{nodes} nodes" if isinstance(kernel, DequeElement) else str(kernel.kernel.rows())
    return sum(steady) / len(steady), max(steady), rows


def totals_table() -> str:
    rows = [[link_to(name), *(_total(name, one) for one in TOTALS)] for name in KERNELS]
    return markdown_table(["kernel", *(one.words for one in TOTALS)], rows)


def _total(name: str, example: Example) -> int | str:
    return sum(operations_per_step(name, example)) if is_legal(name, example) else "–"


def steps_table(name: str) -> str:
    rows = []
    for example in _examples_of(name):
        counts = operations_per_step(name, example)
        rows.append([example.words, " ".join(map(str, counts)), sum(counts)])
    return markdown_table(["example", "operations of each step", "in all"], rows)


def _examples_of(name: str) -> list[Example]:
    legal = [one for one in EXAMPLES if is_legal(name, one)]
    return [one for one in legal if one in TOTALS] or legal[:1]
