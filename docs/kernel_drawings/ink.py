"""SVG primitives: colours, measures, and the sheet that everything is drawn on."""

from html import escape
from typing import Any

INK, MUTED, FAINT, BLUE = "#1f2937", "#4b5563", "#9ca3af", "#1d4ed8"
PALE, RULE = "#d1d5db", "#e5e7eb"
FONT = "ui-sans-serif, system-ui, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif"
FILLS = {
    "written": ("#fde68a", "#b45309"),
    "kept": ("#f3f4f6", FAINT),
    "slice": ("#ffffff", PALE),
    "nothing": ("none", PALE),
    "gone": ("none", PALE),
}
BANDS = {
    "blue": "#60a5fa",
    "green": "#4ade80",
    "violet": "#a78bfa",
    "pink": "#f472b6",
    "teal": "#2dd4bf",
}
CELL, TALL = 40, 26
MARGIN, LABELS = 22, 84  # LABELS: the columns “step” and “in”
COUNTS, ANSWER = 80, 56


class Sheet:
    """Marks on a white panel, which is legible on any background."""

    def __init__(self) -> None:
        self._marks: list[str] = []

    def text(
        self,
        x: float,
        y: float,
        words: Any,
        size: int = 13,
        anchor: str = "middle",
        fill: str = INK,
        bold: bool = False,
    ) -> None:
        weight = ' font-weight="600"' if bold else ""
        self._marks.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" fill="{fill}"{weight}>'
            f"{escape(str(words), quote=False)}</text>"
        )

    def box(self, x: float, y: float, wide: float, tall: float, kind: str, read: bool = False) -> None:
        fill, stroke = FILLS[kind]
        dash = ' stroke-dasharray="3 3"' if kind in ("nothing", "gone") else ""
        self._marks.append(
            f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{tall:g}" rx="4" fill="{fill}" '
            f'stroke="{stroke}"{dash}/>'
        )
        if read:
            self._marks.append(
                f'<rect x="{x - 1:g}" y="{y - 1:g}" width="{wide + 2:g}" height="{tall + 2:g}" rx="5" '
                f'fill="none" stroke="{BLUE}" stroke-width="2.5"/>'
            )

    def band(self, x: float, y: float, wide: float, colour: str, tall: float = 4) -> None:
        self._marks.append(
            f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{tall:g}" rx="{tall / 2:g}" '
            f'fill="{BANDS.get(colour, colour)}"/>'
        )

    def line(self, *points: float, stroke: str = FAINT, width: float = 1) -> None:
        x1, y1, x2, y2 = points
        self._marks.append(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{stroke}" '
            f'stroke-width="{width:g}"/>'
        )

    def path(self, course: str, stroke: str, width: float = 1.4, fill: str = "none") -> None:
        self._marks.append(
            f'<path d="{course}" fill="{fill}" stroke="{stroke}" stroke-width="{width:g}" '
            'stroke-linecap="round" stroke-linejoin="round"/>'
        )

    def cell(self, x: float, y: float, words: str, kind: str, read: bool = False, wide: int = CELL) -> None:
        """A value in its place; `x` is where the place begins."""
        self.box(x + 3, y, wide - 6, TALL, kind, read)
        fill = {"gone": FAINT, "slice": MUTED}.get(kind, INK)
        self.text(x + wide / 2, y + 18, words, fill=fill, bold=kind == "written")
        if kind == "gone":
            self.line(x + 9, y + TALL - 6, x + wide - 9, y + 6)

    def svg(self, wide: float, tall: float, title: str, about: str) -> str:
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {tall:g}" width="{wide:g}" '
            f'height="{tall:g}" role="img" aria-labelledby="title about" font-family="{FONT}">'
        )
        panel = (
            f'<rect x="1" y="1" width="{wide - 2:g}" height="{tall - 2:g}" rx="12" fill="#ffffff" '
            'stroke="#d0d7de"/>'
        )
        words = f'<title id="title">{escape(title)}</title>', f'<desc id="about">{escape(about)}</desc>'
        return "\n".join([head, *words, panel, *self._marks, "</svg>"]) + "\n"


def signed(number: int) -> str:
    """With a minus sign, which a hyphen is too short for."""
    return f"{number}".replace("-", "−")
