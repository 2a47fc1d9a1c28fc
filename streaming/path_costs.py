"""What the steps of the data path take on this machine, as a benchmark has fitted them."""

import json
from functools import cache
from pathlib import Path

from optimizer.path_costs import PathCosts

MEASURED = Path(__file__).parent / "path_costs.json"


@cache
def measured_path(path: Path = MEASURED) -> PathCosts | None:
    """None where nothing has been fitted yet; refused where the file is not what a benchmark writes."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        return PathCosts.from_json(json.loads(text))
    except ValueError as error:
        raise ValueError(f"{path} holds no path costs: {error}") from error
