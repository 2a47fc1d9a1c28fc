"""Pages hold no script, no handler and no style of their own: their policy would block it."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

INLINE = {
    "a script": re.compile(r"<script(?![^>]*\bsrc=)", re.IGNORECASE),
    "a handler": re.compile(r"<[a-z][^>]*\son[a-z]+\s*=", re.IGNORECASE),
    "htmx' handler": re.compile(r"\bhx-on\b|hx-vals=.js:"),
    "a style": re.compile(r"<style\b|<[a-z][^>]*\sstyle\s*=|['\" ]style=\\?[\"'`]", re.IGNORECASE),
    "an address that is a script": re.compile(r"javascript:", re.IGNORECASE),
    "text that is run": re.compile(r"\beval\(|new Function\(|setAttribute\(.style"),
}
ROOT = Path(settings.BASE_DIR)
FILES = [*(ROOT / "templates").rglob("*.*"), *(ROOT / "static" / "js").rglob("*.js")]


@pytest.mark.parametrize("what", INLINE)
def test_nothing_is_written_into_pages(what: str) -> None:
    found = [str(path.relative_to(ROOT)) for path in FILES if INLINE[what].search(path.read_text())]
    assert len(FILES) > 150
    assert found == []


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/sign-in/", "/nowhere/", "/api/queries", "/shared/nothing/"])
def test_every_answer_has_the_policy(address: str) -> None:
    policy = dict(
        part.strip().split(" ", 1) for part in Client().get(address)["Content-Security-Policy"].split(";")
    )
    assert policy["default-src"] == "'self'"
    assert {"script-src", "style-src"} & policy.keys() == set()  # which could only be wider
    assert "unsafe" not in str(policy)
    assert policy["frame-ancestors"] == ("'self'" if address.startswith("/shared") else "'none'")
