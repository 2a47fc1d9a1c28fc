"""A benchmark's figures: one measured value each, beside what it is compared with and what was promised."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_HEADINGS = ("figure", "value", "unit", "baseline", "ratio", "target", "met")


@dataclass(frozen=True)
class Figure:
    """`ratio` is value to baseline; `target` is what `ratio` (or, without a baseline, `value`) must reach."""

    name: str
    value: float
    unit: str
    baseline: float | None = None
    target: float | None = None
    lower_is_better: bool = False

    @property
    def ratio(self) -> float | None:
        return self.value / self.baseline if self.baseline else None

    @property
    def met(self) -> bool | None:
        """Whether the target was reached; None without one."""
        if self.target is None:
            return None
        reached = self.value if self.ratio is None else self.ratio
        return reached <= self.target if self.lower_is_better else reached >= self.target

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "baseline": self.baseline,
            "ratio": self.ratio,
            "target": self.target,
            "met": self.met,
        }


def table(figures: Sequence[Figure]) -> str:
    """The figures as text, numbers aligned at the right.

    >>> print(table([Figure("read", 900_000, "events/s", baseline=1_000_000, target=0.8)]))
    figure    value      unit   baseline  ratio  target  met
    read    900,000  events/s  1,000,000   0.90    0.80  yes
    """
    rows = [_HEADINGS, *(_cells(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _cells(figure: Figure) -> tuple[str, ...]:
    met = {True: "yes", False: "no", None: "–"}[figure.met]
    numbers = [_number(value) for value in (figure.value, figure.baseline, figure.ratio, figure.target)]
    return (figure.name, numbers[0], figure.unit, *numbers[1:], met)


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"
