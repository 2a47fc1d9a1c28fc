"""Keys of things in addresses: made of their names, once."""

from typing import Any

from django.db import models
from django.utils.text import slugify

from dashboard.bin.models import Binned

RESERVED = {"new", "test", "probe", "types"}  # addresses of pages


def free_key(kind: type[Binned], name: str) -> str:
    """A key made of the name, with a number behind it where another of its kind has it."""
    words = "".join("-" if mark in "._:,/" else mark for mark in name)
    stem = slugify(words)[:40].strip("-") or kind.__name__.lower()
    known: models.Manager[Any] = kind.with_deleted
    taken = {*RESERVED, *known.filter(key__startswith=stem).values_list("key", flat=True)}
    candidates = (stem if number == 1 else f"{stem}-{number}" for number in range(1, len(taken) + 2))
    return next(key for key in candidates if key not in taken)
