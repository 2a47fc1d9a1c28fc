"""The browser's live modules, for pages that ask for all of them at once."""

from functools import cache

from django import template
from django.conf import settings

register = template.Library()


@register.simple_tag
@cache
def live_modules() -> list[str]:
    """Addresses below the static files, such as `js/live/main.js`."""
    root = settings.BASE_DIR / "static"
    return sorted(str(path.relative_to(root)) for path in (root / "js" / "live").rglob("*.js"))
