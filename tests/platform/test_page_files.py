"""Addresses of the browser's files: they change with the files, and with nothing else."""

import shutil
from pathlib import Path

from django.conf import settings
from django.test import Client

from dashboard.platform.page_files import version_of


def test_the_version_changes_with_any_file(tmp_path: Path) -> None:
    (tmp_path / "js").mkdir()
    (tmp_path / "js" / "a.js").write_text("1")
    first = version_of(tmp_path)
    shutil.copytree(tmp_path, tmp_path.parent / "copy")
    assert version_of(tmp_path.parent / "copy") == first
    (tmp_path / "js" / "a.js").write_text("2")
    second = version_of(tmp_path)
    (tmp_path / "js" / "a.js").rename(tmp_path / "js" / "b.js")
    assert len({first, second, version_of(tmp_path)}) == 3


def test_the_browser_may_keep_a_file_of_this_version_for_good() -> None:
    answer = Client().get(f"{settings.STATIC_URL}js/theme.js")
    assert answer.status_code == 200
    assert "immutable" in answer["Cache-Control"]
    assert Client().get("/static/js/theme.js").status_code != 200
