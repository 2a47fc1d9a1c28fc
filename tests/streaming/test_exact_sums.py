"""Sums of decimals, exact from the message to the result, beside DuckDB and Python's decimal."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from optimizer.queries import Query
from optimizer.windows import Window
from streaming.exact_queries import exactly
from streaming.sources import FieldType
from tests.streaming.test_verify import START, verified, windows


def asked(aggregate: str, field: str = "amount", **rest: Any) -> dict[str, Any]:
    plain = {"name": f"{aggregate} {field}", "aggregate": aggregate, "field": field}
    return {**plain, "windows": windows([("1m", "1m")]), **rest}


def values_of(out: Path, name: str) -> list[Any]:
    rows = map(json.loads, out.read_text().splitlines())
    return [row["value"] for row in rows if row["query"] == name]


def test_a_column_of_decimals_adds_up_to_the_last_cent(tmp_path: Path) -> None:
    """Of Avro's and Parquet's decimal(10, 2): 93,391,451.11, not the sum of those that happen to be whole."""
    events, chance = tmp_path / "events.parquet", np.random.default_rng(3)
    cents = chance.integers(-(10**5), 10**6, 19_999).tolist()
    cents.append(9_339_145_111 - sum(cents))
    amounts = pa.array([Decimal(cent).scaleb(-2) for cent in cents], pa.decimal128(12, 2))
    times, halves = [START + at for at in range(20_000)], [at % 2 for at in range(20_000)]
    pq.write_table(pa.table({"ts": times, "amount": amounts, "half": halves}), events)
    queries = [
        asked("sum"),
        asked("exact_sum"),
        asked("sum", "amount * 2"),
        asked("mean"),
        asked("max"),
        asked("sum", group_by=["half"], name="halves"),
        asked("sum", group_by=["amount"], where="amount > 9999.5", name="by amount"),
    ]
    for comparison in verified(events, queries).comparisons:
        assert (comparison.left_out, comparison.examples) == ("", []), comparison.query
        if comparison.query.aggregate.startswith("exact_sum"):
            assert (comparison.within, comparison.largest) == (0, 0)
    out = tmp_path / "out"
    assert values_of(out, "sum amount") == values_of(out, "exact_sum amount") == [93391451.11]
    assert values_of(out, "sum amount * 2") == [186782902.22]
    assert sum(Decimal(str(value)) for value in values_of(out, "halves")) == Decimal("93391451.11")


def test_numbers_are_added_up_as_they_are_written(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    written = ["1.11", "2.22", "0.1", "0.2", "1e-7", "1000000000"]
    lines = [f'{{"ts": {START + at}, "amount": {number}}}' for at, number in enumerate(written)]
    events.write_text("\n".join(lines))
    [comparison] = verified(events, [asked("exact_sum")]).comparisons
    assert (comparison.equal, comparison.rows) == (1, 1)
    assert values_of(tmp_path / "out", "exact_sum amount") == [1000000003.6300001]


@pytest.mark.parametrize(
    ("aggregate", "field", "expected"),
    [
        ("sum", "amount", "exact_sum(2)"),
        ("exact_sum", "amount", "exact_sum(2)"),
        ("sum", "amount * price", "exact_sum(6)"),
        ("sum", "amount / 3", "sum"),
        ("sum", "temp", "sum"),
        ("mean", "amount", "mean"),
    ],
)
def test_sums_of_decimals_are_planned_as_exact_sums(aggregate: str, field: str, expected: str) -> None:
    types: dict[str, FieldType] = {"amount": "decimal(2)", "price": "decimal(4)", "temp": "number"}
    [query] = exactly([Query("q", "q", aggregate, field, Window(10, 10))], types)
    assert query.aggregate == expected
