"""Final-aggregation kernels. One file each; the table below is all there are."""

from collections.abc import Sequence
from typing import Any

from streaming.aggregates.algebra import Algebra, lacks
from streaming.kernels.accumulators import Accumulators
from streaming.kernels.b_int import BInt
from streaming.kernels.base import Traits
from streaming.kernels.daba import Daba
from streaming.kernels.daba_lite import DabaLite
from streaming.kernels.finger_tree import FingerTree
from streaming.kernels.flatfat import FlatFat
from streaming.kernels.flatfit import FlatFit
from streaming.kernels.panes import Panes
from streaming.kernels.panes_inv import PanesInv
from streaming.kernels.prefix_difference import PrefixDifference
from streaming.kernels.run.batched import Batched
from streaming.kernels.run.element import Element
from streaming.kernels.run.ring import SliceRing
from streaming.kernels.slickdeque_inv import SlickDequeInv
from streaming.kernels.slickdeque_noninv import BatchedDeques, Deque, DequeElement
from streaming.kernels.sparse_table import SparseTable
from streaming.kernels.two_stacks import TwoStacks
from streaming.kernels.two_stacks_lite import TwoStacksLite
from streaming.kernels.van_herk import VanHerk

KERNELS: dict[str, Any] = {
    "slickdeque_inv": SlickDequeInv,
    "slickdeque_noninv": Deque,
    "flatfit": FlatFit,
    "flatfat": FlatFat,
    "b_int": BInt,
    "panes": Panes,
    "panes_inv": PanesInv,
    "two_stacks": TwoStacks,
    "two_stacks_lite": TwoStacksLite,
    "daba": Daba,
    "daba_lite": DabaLite,
    "van_herk": VanHerk,
    "accumulators": Accumulators,
    "sparse_table": SparseTable,
    "prefix_difference": PrefixDifference,
    "finger_tree": FingerTree,
}


class IllegalPairing(ValueError):
    """A kernel and an algebra that lacks what the kernel needs."""


def traits_of(name: str) -> Traits:
    traits: Traits = KERNELS[name].traits
    return traits


def check_pairing(name: str, algebra: Algebra, queries: int = 1) -> None:
    traits = traits_of(name)
    if lacks(algebra, traits.needs):
        raise IllegalPairing(f"{traits.label} cannot compute {algebra.name}, which is not {traits.needs}.")
    if queries > 1 and not traits.many:
        raise IllegalPairing(f"{traits.label} answers one query alone, not {queries}.")


def element(name: str, algebra: Algebra, ranges: Sequence[int]) -> Element | DequeElement:
    """One group, one partial at a time, in Python; ranges are numbers of slices."""
    check_pairing(name, algebra, len(ranges))
    if name == "slickdeque_noninv":
        return DequeElement(algebra, ranges)
    return Element(KERNELS[name], algebra, ranges)


def batched(
    name: str, ring: SliceRing, spans: Sequence[int], limits: Sequence[int] | None = None
) -> Batched | BatchedDeques:
    """All groups of a shard, many slices at a time, compiled.

    `spans` are how many slices each query's windows hold at most so far, `limits` how many they ever will.
    """
    check_pairing(name, ring.algebra, len(spans))
    if name == "slickdeque_noninv":
        return BatchedDeques(ring, spans, limits)
    return Batched(KERNELS[name], ring, spans, limits)


__all__ = ["KERNELS", "IllegalPairing", "SliceRing", "batched", "check_pairing", "element", "traits_of"]
