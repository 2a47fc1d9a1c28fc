"""The browser's modules that a page needs, found by following their imports, to be asked for all at once."""

import re
from collections.abc import Iterable
from functools import cache
from posixpath import dirname, normpath
from typing import Any

from django import template
from django.conf import settings

from dashboard.boards.kinds import KINDS

register = template.Library()
IMPORTED = re.compile(r"""^(?:import|export)\b[^"']*["'](\.{1,2}/[^"']+)["']""", re.MULTILINE)


@register.simple_tag
def board_modules(panels: Iterable[dict[str, Any]]) -> list[str]:
    """All modules of a dashboard's page: addresses below the static files, such as `js/live/main.js`."""
    kinds = sorted({view["panel"].kind for view in panels} & KINDS.keys())
    return _with_imports("js/page.js", "js/boards/board.js", *(f"js/live/kinds/{kind}.js" for kind in kinds))


@cache
def _with_imports(*modules: str) -> list[str]:
    found: dict[str, None] = {}
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found[module] = None
            text = (settings.BASE_DIR / "static" / module).read_text()
            waiting += [_resolved(module, address) for address in IMPORTED.findall(text)]
    return list(found)


def _resolved(module: str, address: str) -> str:
    return normpath(f"{dirname(module)}/{address}")
