"""What a chart of computed results is sent: few points, no peak lost, no gap invented."""

import numpy as np
import pytest

from dashboard.queries import computed
from optimizer.queries import QuerySpec, WindowSpec
from tests.dashboard.live.messages import block

NOON = 1_800_000_000_000
SPEC = QuerySpec.single("hot", "max", "temp", (WindowSpec("1m", "10s"),))


@pytest.mark.parametrize("count", [100, computed.MOST_POINTS + 1, 10_000])
def test_a_long_history_is_thinned_and_says_how_far_apart_its_points_may_lie(count: int) -> None:
    values = np.random.default_rng(5).normal(0, 1, count)
    [query] = SPEC.queries()
    ends = range(NOON, NOON + count * 10_000, 10_000)
    blocks = [block(end, {(): value}, query=query.id) for end, value in zip(ends, values, strict=True)]
    [series] = computed.described(SPEC, blocks)["series"]
    sent = dict(point[:2] for point in series["points"])
    assert series["of"] == count
    assert len(sent) <= computed.MOST_POINTS
    assert (min(sent.values()), max(sent.values())) == (values.min(), values.max())
    assert (series["step"] == 0) == (len(sent) == count)
    assert np.diff(list(sent)).max() <= max(2 * series["step"], 10_000)
