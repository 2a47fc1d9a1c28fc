"""The cost card's words and numbers."""

from dataclasses import replace

import pytest

from dashboard.models import SavedQuery
from dashboard.planning.service import Preview, newest, preview, replan
from dashboard.queries.cost_words import cost_cells
from optimizer.explain import Joining
from optimizer.queries import QuerySpec, WindowSpec


def card(
    *joinings: Joining, before: float = 0.31, after: float = 0.33, saving: float = 0.71
) -> list[tuple[str, str, str]]:
    preview = Preview(list(joinings), before, after, saving, first_result_seconds=38.0)
    return [(cell.label, cell.value, cell.note) for cell in cost_cells(preview, allowed_lateness=10_000)]


def part(tree: str, *, is_new: bool = False, shares_with: int = 8, saving: float = 0.71) -> Joining:
    return Joining(tree, is_new, shares_with, 0.31, 0.33, 100.0, 100.0 * (1 - saving), saving)


def test_a_query_that_joins_says_which_tree_and_what_it_saves() -> None:
    assert card(part("3")) == [
        ("Joins", "Tree 3", "with 8 other windows"),
        ("Load", "+2.0\u202f%", "31 to 33\u202f% of capacity"),
        ("Sharing", "71\u202f% cheaper", "than running alone"),
        ("First result", "in about 40\u202fs", "final after 10 s of lateness"),
    ]


def test_a_query_alone_says_that_it_shares_nothing() -> None:
    tree, _, sharing, _ = card(part("6", is_new=True, shares_with=0, saving=0.0), saving=0.0)
    assert tree == ("Starts", "Tree 6", "shares with nothing yet")
    assert sharing == ("Sharing", "Nothing yet", "nothing to share with yet")


def test_a_family_in_several_trees_names_them_all() -> None:
    assert card(part("1", shares_with=1), part("3", shares_with=0))[0] == (
        "Joins",
        "Trees 1 and 3",
        "with 1 other window",
    )


def test_a_cheaper_plan_is_written_with_a_minus() -> None:
    assert card(part("1"), before=0.5, after=0.38)[1][1] == "−12\u202f%"


@pytest.mark.django_db
def test_an_edit_says_which_tree_it_stays_in(hot: SavedQuery) -> None:
    """Also where the query is alone in its tree, which would be gone without it."""

    def told(spec: QuerySpec) -> tuple[str, str]:
        cell = cost_cells(preview(hot.source, spec, replacing=hot), 10_000)[0]
        return cell.label, cell.value

    assert told(hot.spec())[0] == "Starts"  # it does not run yet
    replan(hot.source, "Ana added “Hot devices”")
    assert told(hot.spec()) == ("Stays in", "Tree 1")
    wider = (*hot.spec().windows, WindowSpec("2m", "10s"))
    assert told(replace(hot.spec(), windows=wider)) == ("Stays in", "Tree 1")
    moved = replace(hot.spec(), group_by=())
    label, tree = told(moved)
    hot.group_by = []
    hot.save()
    replan(hot.source, "Ana changed “Hot devices”")
    version = newest(hot.source)
    assert version is not None
    (saved,) = version.value().trees
    assert tree == f"Tree {saved.id}"  # what is said is what saving does
    assert label == ("Stays in" if saved.id == "1" else "Moves to")
