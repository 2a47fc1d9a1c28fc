"""The cost card: what saving a query would do, as four cells of words and numbers."""

from dataclasses import dataclass

from dashboard.planning.service import Preview
from dashboard.queries.windows_text import spaced

THIN = "\N{NARROW NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Cell:
    label: str
    value: str
    note: str
    is_good: bool = False


def cost_cells(preview: Preview, allowed_lateness: int) -> list[Cell]:
    return [_tree(preview), _load(preview), _sharing(preview), _first_result(preview, allowed_lateness)]


def _tree(preview: Preview) -> Cell:
    ids = [part.tree for part in preview.joinings]
    value = f"Tree {ids[0]}" if len(ids) == 1 else f"Trees {', '.join(ids[:-1])} and {ids[-1]}"
    others = sum(part.shares_with for part in preview.joinings)
    if not others:
        note = "shares with nothing yet"
    else:
        note = f"with {others} other window{'' if others == 1 else 's'}"
    return Cell(_tree_label(preview), value, note)


def _tree_label(preview: Preview) -> str:
    """An edit stays where it is or moves; what is new joins others or starts a tree."""
    if preview.trees_now:
        stays = {part.tree for part in preview.joinings} <= preview.trees_now
        return "Stays in" if stays else "Moves to"
    return "Starts" if all(part.is_new for part in preview.joinings) else "Joins"


def _load(preview: Preview) -> Cell:
    before, after = preview.load_before * 100, preview.load_after * 100
    change = after - before
    sign = MINUS if change < 0 else "+"
    return Cell("Load", f"{sign}{_figure(abs(change))}{THIN}%", f"{_span(before, after)}{THIN}% of capacity")


def _figure(percent: float) -> str:
    """Whole numbers from 10 on; small shares keep what makes them tell apart from nothing.

    >>> _figure(12.4), _figure(1.26), _figure(0.031)
    ('12', '1.3', '0.03')
    """
    if percent >= 9.95:
        return f"{percent:.0f}"
    return f"{percent:.1f}" if percent >= 0.095 or percent < 0.005 else f"{percent:.2f}"


def _span(before: float, after: float) -> str:
    first, last = _figure(before), _figure(after)
    return last if first == last else f"{first} to {last}"


def _sharing(preview: Preview) -> Cell:
    saving = int(preview.saving * 100 + 1e-9)  # rounded down: 100 % means that it costs nothing
    if saving >= 100:
        return Cell("Sharing", "No extra cost", "its slices are there already", is_good=True)
    if saving < 1:
        return Cell("Sharing", "Nothing yet", "nothing to share with yet")
    return Cell("Sharing", f"{saving}{THIN}% cheaper", "than running alone", is_good=True)


def _first_result(preview: Preview, allowed_lateness: int) -> Cell:
    seconds = preview.first_result_seconds
    value = f"in about {_about(seconds)}"
    note = f"final after {spaced(allowed_lateness)} of lateness" if allowed_lateness else "final at once"
    return Cell("First result", value, note)


def _about(seconds: float) -> str:
    """A duration of one or two figures.

    >>> _about(7.4), _about(43), _about(100), _about(5400)
    ('8\u202fs', '45\u202fs', '2\u202fmin', '1\u202fh 30\u202fmin')
    """
    if seconds <= 10:
        return f"{-(-seconds // 1):.0f}{THIN}s"
    if seconds <= 60:
        return f"{-(-seconds // 5) * 5:.0f}{THIN}s"
    minutes = int(-(-seconds // 60))
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{minutes}{THIN}min"
    return f"{hours}{THIN}h {rest}{THIN}min" if rest else f"{hours}{THIN}h"
