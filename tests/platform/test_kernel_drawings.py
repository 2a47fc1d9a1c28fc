"""The page of kernels: its drawings and tables are what the kernels do, and none is left out."""

import doctest
import re
import runpy
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from streaming.kernels import KERNELS, traits_of

DOCS = Path(__file__).resolve().parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"
sys.path.insert(0, str(DOCS))

from kernel_drawings import files  # noqa: E402  # what draws is not installed
from kernel_drawings.examples import MAX_5, MAX_5_2  # noqa: E402
from kernel_drawings.watching import watch  # noqa: E402


@pytest.fixture(scope="module")
def written() -> dict[Path, str]:
    return files.documents()


def section(name: str) -> str:
    """What the page has under a kernel's heading."""
    page = (DOCS / "kernels.md").read_text(encoding="utf-8")
    found = re.split(r"^#{2,3} (.+)\n", page, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))[traits_of(name).label]


def counts(name: str) -> dict[str, tuple[list[int], int]]:
    """By example, the operations of each step and in all, as the page shows them."""
    rows = re.findall(r"^\| (\w[^|]* slices) \| ([\d ]+) \| (\d+) \|$", section(name), re.MULTILINE)
    return {words: ([int(step) for step in steps.split()], int(total)) for words, steps, total in rows}


def in_all(drawing: str) -> list[int]:
    """The totals under the column of operations of a film."""
    texts = [mark.text or "" for mark in ElementTree.fromstring(drawing).iter(f"{SVG}text")]  # noqa: S314
    rest = texts[texts.index("in all") + 1 :]
    return [int(text) for text in rest if text.isdigit()]


def test_drawing_anew_changes_nothing(written: dict[Path, str]) -> None:
    stale = [path.name for path, text in written.items() if path.read_bytes() != text.encode()]
    assert stale == [], "run .venv/bin/python docs/draw_kernels.py"


def test_the_script_writes_the_page_and_the_drawings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: dict[Path, str]
) -> None:
    page = tmp_path / "kernels.md"
    page.write_text((DOCS / "kernels.md").read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(files, "PAGE", page)
    monkeypatch.setattr(files, "IMAGES", tmp_path / "images")
    monkeypatch.setattr(sys, "path", list(sys.path))  # the script adds to it
    runpy.run_path(str(DOCS / "draw_kernels.py"), run_name="__main__")
    assert page.read_bytes() == written[DOCS / "kernels.md"].encode()
    assert {path.stem for path in (tmp_path / "images").iterdir()} == set(KERNELS)


def test_every_kernel_has_a_drawing_and_there_is_no_other(written: dict[Path, str]) -> None:
    drawn = {path.stem for path in (DOCS / "images" / "kernels").iterdir()}
    assert drawn == set(KERNELS) == {path.stem for path in written if path.suffix == ".svg"}


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_has_a_paragraph_its_drawing_and_its_counts(name: str) -> None:
    text = section(name)
    assert len(text.split("<!--")[0].split()) > 15, "a paragraph of its own"
    assert f"(images/kernels/{name}.svg)" in text
    assert counts(name)


@pytest.mark.parametrize("name", KERNELS)
def test_every_drawing_says_what_it_shows_in_letters_that_can_be_read(
    written: dict[Path, str], name: str
) -> None:
    root = ElementTree.fromstring(written[DOCS / "images" / "kernels" / f"{name}.svg"])  # noqa: S314
    assert root.findtext(f"{SVG}title") and root.findtext(f"{SVG}desc")
    assert min(int(mark.attrib["font-size"]) for mark in root.iter(f"{SVG}text")) >= 12


@pytest.mark.parametrize(
    ("name", "example", "total"),
    [
        ("flatfit", "Max over 5 slices", 21),
        ("flatfit", "Max over 5 and 2 slices", 27),
        ("panes", "Max over 5 slices", 40),
        ("slickdeque_inv", "Sum over 3 and 5 slices", 32),
        ("panes", "Sum over 3 and 5 slices", 48),
        ("slickdeque_noninv", "Max over 3 and 5 slices", 11),
        ("panes", "Max over 3 and 5 slices", 48),
    ],
)
def test_the_page_shows_the_published_counts(name: str, example: str, total: int) -> None:
    steps, shown = counts(name)[example]
    assert shown == total == sum(steps)


def test_the_page_shows_the_published_steps_of_flatfit() -> None:
    assert counts("flatfit")["Max over 5 slices"][0] == [4, 1, 2, 2, 2, 1, 4, 1, 2, 2]


@pytest.mark.parametrize(
    ("name", "totals"),
    [("flatfit", [21, 27]), ("slickdeque_inv", [32]), ("slickdeque_noninv", [11]), ("panes", [40])],
)
def test_the_drawings_show_the_published_counts(
    written: dict[Path, str], name: str, totals: list[int]
) -> None:
    assert in_all(written[DOCS / "images" / "kernels" / f"{name}.svg"]) == totals


def test_a_second_range_leaves_what_the_drawing_of_flatfit_shows_as_it_is() -> None:
    """So the operations and answers of both can stand beside one drawing."""
    alone, both = (watch("flatfit", one) for one in (MAX_5, MAX_5_2))
    for one, two in zip(alone, both, strict=True):
        assert one.store == two.store
        assert one.kernel.reach.tolist() == two.kernel.reach.tolist()


def test_the_example_of_the_page_runs() -> None:
    page = (DOCS / "kernels.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[1].split("```")[0]
    example = doctest.DocTestParser().get_doctest(code, {}, "kernels.md", None, None)
    assert doctest.DocTestRunner().run(example) == doctest.TestResults(failed=0, attempted=5)
