"""Final-aggregation kernels. One file each; the table below is all there are."""

from collections.abc import Callable

from streaming.aggregates import Family
from streaming.kernels.base import Kernel, Rows
from streaming.kernels.flatfit import FlatFit
from streaming.kernels.slickdeque_inv import SlickDequeInv
from streaming.kernels.slickdeque_noninv import SlickDequeNonInv

KERNELS: dict[str, Callable[[Rows, Family], Kernel]] = {
    "slickdeque_inv": lambda rows, family: SlickDequeInv(rows),
    "slickdeque_noninv": SlickDequeNonInv,
    "flatfit": FlatFit,
}

__all__ = ["KERNELS", "Kernel", "Rows"]
