"""The optimizer room: pure decisions, windows in, plan out."""

from optimizer.cost import Statistics
from optimizer.planning import optimize

__all__ = ["Statistics", "optimize"]
