"""Kernel costs to plan with: drawn at random, so that nothing may be taken to grow with anything."""

from random import Random

from optimizer.kernel_costs import KernelCost, KernelCosts
from optimizer.kernels import KERNELS

RANGES, WINDOWS, GROUPS = (1, 4, 16), (1, 8, 64, 512), (1, 100)


def drawn_costs(seed: int) -> KernelCosts:
    draws = Random(seed)
    chosen = [kernel for kernel in KERNELS if kernel.name == "flatfit" or draws.random() < 0.6]
    return KernelCosts(
        tuple(
            KernelCost(kernel.name, algebra, ranges, window, groups, 10 ** draws.uniform(-9, -6))
            for kernel in chosen
            for algebra in ("max", "sum", "count")
            if kernel.allows(algebra)
            for ranges in (RANGES if kernel.many else (1,))
            for window in WINDOWS
            for groups in GROUPS
        )
    )


def flat_costs(**seconds: float) -> KernelCosts:
    """Kernels that take the same whatever they are asked for."""
    return KernelCosts(tuple(KernelCost(name, "sum", 1, 1, 1, taken) for name, taken in seconds.items()))
