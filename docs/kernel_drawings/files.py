"""The files that are written: a drawing of every kernel, and the page."""

from pathlib import Path

from kernel_drawings.films import drawings
from kernel_drawings.page import page

DOCS = Path(__file__).resolve().parents[1]
IMAGES = DOCS / "images" / "kernels"
PAGE = DOCS / "kernels.md"


def documents() -> dict[Path, str]:
    """What each file should hold."""
    drawn = {IMAGES / f"{name}.svg": drawing for name, drawing in drawings().items()}
    return drawn | {PAGE: page(PAGE.read_text(encoding="utf-8"))}


def write() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    for path, text in documents().items():
        path.write_text(text, encoding="utf-8")
