"""Needed fields as a tree of keys: a field `a.b` is the key `b` of the object `a`."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Node:
    """Needed keys of an object: some are fields themselves, some are objects that hold others."""

    fields: dict[str, int] = field(default_factory=dict)
    children: dict[str, "Node"] = field(default_factory=dict)

    @property
    def keys(self) -> list[str]:
        return list(dict.fromkeys([*self.fields, *self.children]))


def tree(names: Sequence[str]) -> Node:
    """The keys that lead to these fields; a dotted name is a key of the root as well."""
    root = Node()
    for position, name in enumerate(names):
        root.fields[name] = position
        *way, last = name.split(".")
        node = root
        for key in way:
            node = node.children.setdefault(key, Node())
        node.fields[last] = position
    return root
