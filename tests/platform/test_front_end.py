"""Front-end files are copied from pinned packages; nothing a page asks for is missing."""

import gzip
import json
import re
from pathlib import Path

import pytest

from dashboard.platform.frontend import VENDORED, FrontEnd

ROOT = Path(__file__).resolve().parents[2]
VENDOR = ROOT / "static" / "vendor"


def test_the_lock_pins_every_package_by_hash_and_names_no_registry() -> None:
    locked = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    asked = json.loads((ROOT / "package.json").read_text())["dependencies"]
    for name, version in asked.items():
        assert locked[f"node_modules/{name}"]["version"] == version
    for name, package in locked.items():
        if name:
            assert package["integrity"].startswith("sha512-")
            assert "resolved" not in package


def test_every_vendored_package_is_asked_for() -> None:
    asked = json.loads((ROOT / "package.json").read_text())["dependencies"]
    for vendored in VENDORED:
        assert any(vendored.package.startswith(f"{name}/") or vendored.package == name for name in asked)


def test_every_vendor_file_that_a_template_names_is_there() -> None:
    named = {
        match
        for path in (ROOT / "templates").rglob("*.html")
        for match in re.findall(r"'vendor/([^']+)'", path.read_text())
    }
    assert named
    assert [name for name in sorted(named) if not (VENDOR / name).is_file()] == []


def test_large_files_have_a_compressed_form_beside_them() -> None:
    for name in ("tabler/tabler.min.css", "chart.js/chart.umd.min.js"):
        compressed = (VENDOR / f"{name}.gz").read_bytes()
        assert len(compressed) < (VENDOR / name).stat().st_size / 2
        assert gzip.decompress(compressed) == (VENDOR / name).read_bytes()


@pytest.mark.parametrize(
    "style", ["tabler/tabler.min.css", "tabler-icons/tabler-icons.min.css", "inter/index.css"]
)
def test_every_file_that_a_vendored_style_asks_for_is_there(style: str) -> None:
    addresses = re.findall(r"url\([\"']?([^\"')]+)", (VENDOR / style).read_text())
    files = {address.split("?")[0] for address in addresses if not address.startswith(("data:", "#"))}
    assert [name for name in sorted(files) if not ((VENDOR / style).parent / name).is_file()] == []


def test_a_missing_file_or_another_lock_makes_it_incomplete(tmp_path: Path) -> None:
    (tmp_path / "static" / "vendor").mkdir(parents=True)
    (tmp_path / "package-lock.json").write_text("{}")
    (tmp_path / "static" / "vendor" / "a.js").touch()
    front_end = FrontEnd(tmp_path, tmp_path / "var")
    assert not front_end.is_complete()
    record = tmp_path / "static" / "vendor" / "copied.txt"
    record.write_text(f"{front_end._lock_hash()}\na.js\n")
    assert front_end.is_complete()
    (tmp_path / "package-lock.json").write_text('{"packages": {}}')
    assert not front_end.is_complete()
    record.write_text(f"{front_end._lock_hash()}\na.js\nb.js\n")
    assert not front_end.is_complete()
