"""What a verification found, as a table for people, with the first rows that differ."""

from collections.abc import Sequence

from streaming.accounting import instant
from streaming.likeness import error_words
from streaming.verify import Comparison, Difference

HEAD = ("query", "rows", "equal", "within error", "different", "largest difference")


def comparison_text(comparisons: Sequence[Comparison]) -> str:
    rows = [HEAD, *(_cells(comparison) for comparison in comparisons)]
    tabled = [row if len(row) == len(HEAD) else (row[0], *HEAD[1:]) for row in rows]
    widths = [max(map(len, column)) for column in zip(*tabled, strict=True)]
    lines = [_line(row, widths) for row in rows]
    for comparison in comparisons:
        if comparison.within:
            lines.append(f"  {comparison.query.id} is {error_words(comparison.query.aggregate)}.")
        lines += [f"  {comparison.query.id}: {_difference(row)}" for row in comparison.examples]
    return "\n".join(lines)


def _cells(comparison: Comparison) -> tuple[str, ...]:
    if comparison.left_out:
        return comparison.query.id, comparison.left_out
    counts = (comparison.rows, comparison.equal, comparison.within, comparison.different)
    return comparison.query.id, *(f"{count:,}" for count in counts), f"{comparison.largest:.3g}"


def _line(row: tuple[str, ...], widths: Sequence[int]) -> str:
    if len(row) == 2:  # a sentence in place of numbers
        return f"{row[0]:<{widths[0]}}  {row[1]}"
    name, *numbers = row
    return "  ".join(
        [f"{name:<{widths[0]}}", *(f"{n:>{w}}" for n, w in zip(numbers, widths[1:], strict=True))]
    )


def _difference(row: Difference) -> str:
    group = ", ".join(map(str, row.group))
    where = f"window until {instant(row.end)}" + (f", {group}" if group else "")
    return f"{where}: ours {_answer(row.ours)}, DuckDB {_answer(row.theirs)}"


def _answer(answer: tuple[object, int] | None) -> str:
    if answer is None:
        return "has no such row"
    value, events = answer
    return f"{value} of {events:,} events"
