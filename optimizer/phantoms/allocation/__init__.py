"""Allocation: how the space is divided among the tables of a configuration."""

from collections.abc import Callable

from optimizer.phantoms.allocation.exhaustive import exhaustive
from optimizer.phantoms.allocation.proportional import proportional_linear, proportional_square_root
from optimizer.phantoms.allocation.supernodes import supernode_linear, supernode_square_root
from optimizer.phantoms.configurations import Configuration
from optimizer.phantoms.costs import Setting, Space

Allocation = Callable[[Configuration, Setting], Space]

ALLOCATIONS: dict[str, Allocation] = {
    "SL": supernode_linear,
    "SR": supernode_square_root,
    "PL": proportional_linear,
    "PR": proportional_square_root,
    "ES": exhaustive,
}
