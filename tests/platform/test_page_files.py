"""Addresses of the browser's files: they change with the files, and with nothing else."""

import gzip
import shutil
from pathlib import Path

from asgiref.testing import ApplicationCommunicator
from django.conf import settings

from dashboard.asgi import application
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


async def ask(path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """An answer of the web process' application, in front of which the files are."""
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
    }
    browser = ApplicationCommunicator(application, scope)
    await browser.send_input({"type": "http.request", "body": b""})
    start = await browser.receive_output(30)
    body = await browser.receive_output(30)
    told = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    return start["status"], told, body["body"]


async def test_the_browser_may_keep_a_file_of_this_version_for_good() -> None:
    status, headers, body = await ask(f"{settings.STATIC_URL}js/theme.js")
    assert (status, body) == (200, (settings.BASE_DIR / "static/js/theme.js").read_bytes())
    assert "immutable" in headers["cache-control"]
    assert headers["content-type"].startswith("text/javascript")
    assert headers["x-content-type-options"] == "nosniff"


async def test_a_file_is_sent_compressed_to_a_browser_that_takes_it() -> None:
    path = f"{settings.STATIC_URL}vendor/htmx/htmx.min.js"
    _, plain_headers, plain = await ask(path)
    _, headers, body = await ask(path, accept_encoding="gzip, br")
    assert headers["content-encoding"] == "gzip" and "content-encoding" not in plain_headers
    assert gzip.decompress(body) == plain and len(body) < len(plain)


async def test_a_file_that_has_not_changed_is_not_sent_again() -> None:
    path = f"{settings.STATIC_URL}js/theme.js"
    _, headers, _ = await ask(path)
    status, _, body = await ask(path, if_none_match=headers["etag"])
    assert (status, body) == (304, b"")


async def test_only_the_size_is_told_to_one_who_asks_for_the_head() -> None:
    status, headers, body = await ask(f"{settings.STATIC_URL}js/theme.js", method="HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["content-length"]) == (settings.BASE_DIR / "static/js/theme.js").stat().st_size


async def test_nothing_but_a_file_of_this_version_is_sent() -> None:
    for path in ("/static/js/theme.js", f"{settings.STATIC_URL}../manage.py", f"{settings.STATIC_URL}js/"):
        status, _, _ = await ask(path)
        assert status != 200, path
