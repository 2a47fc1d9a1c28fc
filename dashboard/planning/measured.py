"""What the job's kernels were measured to take, for the model that counts in seconds."""

from dataclasses import replace

from optimizer.cost import Statistics
from streaming.kernel_costs import measured_costs


def with_measured_kernels(known: Statistics) -> Statistics:
    """The papers' model counts operations and has no use for seconds."""
    if known.model == "papers":
        return known
    return replace(known, calibration=replace(known.calibration, kernels=measured_costs()))
