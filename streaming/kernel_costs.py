"""What kernels take on this machine, as a benchmark has measured it."""

import json
from pathlib import Path

from optimizer.kernel_costs import KernelCosts

MEASURED = Path(__file__).parent / "kernels" / "costs.json"


def measured_costs(path: Path = MEASURED) -> KernelCosts | None:
    """None where nothing has been measured yet; refused where the file is not what a benchmark writes."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        return KernelCosts.from_json(json.loads(text))
    except ValueError as error:
        raise ValueError(f"{path} holds no kernel costs: {error}") from error
