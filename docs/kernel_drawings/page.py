"""The generated parts of docs/kernels.md."""

from collections.abc import Callable

from kernel_drawings.aggregate_tables import aggregates_table, approximate_table
from kernel_drawings.kernel_tables import card_of, operations_table, space_table, steps_table, totals_table
from kernel_drawings.markdown import link_to
from streaming.kernels import KERNELS, traits_of
from streaming.kernels.base import made_anew


def page(text: str) -> str:
    """The page with what stands between its markers made anew."""
    for name, part in generated_parts().items():
        begin, end = f"<!-- generated: {name} -->\n", f"<!-- end: {name} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise ValueError(f"docs/kernels.md has no part “{name}”: it needs {begin.strip()} and {end}.")
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{part}\n\n{end}{rest.split(end)[1]}"
    return text


def generated_parts() -> dict[str, str]:
    """What the page has between its markers, by the name in them."""
    parts = {
        "operations": operations_table(),
        "space": space_table(),
        "totals": totals_table(),
        "mend themselves": _listed(_mends_itself),
        "go back": _listed(lambda name: traits_of(name).rewinds),
        "for any aggregate": _listed(lambda name: traits_of(name).needs is None),
        "aggregates": aggregates_table(),
        "approximate": approximate_table(),
    }
    return parts | {name: _kernel_part(name) for name in KERNELS}


def _listed(fits: Callable[[str], bool]) -> str:
    return ", ".join(link_to(name) for name in KERNELS if fits(name)) + "."


def _mends_itself(name: str) -> bool:
    return getattr(KERNELS[name], "amend", made_anew) is not made_anew


def _kernel_part(name: str) -> str:
    """A kernel's drawing, its operations step by step, and where print and code differ."""
    parts = [f"![{traits_of(name).label}, step by step](images/kernels/{name}.svg)", steps_table(name)]
    if differs := card_of(name).get("differs"):
        parts.append(f"Where print and code differ: {differs}.")
    return "\n\n".join(parts)
