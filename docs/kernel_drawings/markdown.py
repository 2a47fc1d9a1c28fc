"""Tables and links in Markdown."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from streaming.kernels import traits_of

Cells = Sequence[Any]


def markdown_table(heads: Cells, rows: Iterable[Cells]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def link_to(name: str) -> str:
    """To a kernel's section."""
    label = traits_of(name).label
    address = re.sub(r"[^\w -]", "", label.lower()).replace(" ", "-")
    return f"[{label}](#{address})"
