"""Fields as the builder offers them."""

from collections.abc import Mapping

from django import template

from optimizer.field_names import written
from streaming.sources import FieldType

register = template.Library()


@register.filter
def as_written(types: Mapping[str, FieldType]) -> dict[str, tuple[FieldType, str]]:
    """By name, a field's type and how an expression writes it; of no source, nothing."""
    return {name: (kind, written(name)) for name, kind in types.items()} if types else {}
