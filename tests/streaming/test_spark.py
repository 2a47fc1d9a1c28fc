"""What the wiring assumes of Spark holds."""

import json
import time

import pytest
from pyspark.sql import functions as F

from streaming.spark import BATCH_TIME, partition_of

pytestmark = pytest.mark.spark


def test_shards_land_where_spark_hashes_them(spark):
    rows = spark.range(500).select(
        F.col("id").cast("int"), *[F.expr(f"pmod(hash(cast(id as int)), {count})") for count in (1, 2, 7, 64)]
    )
    for label, *partitions in rows.collect():
        assert partitions == [partition_of(label, count) for count in (1, 2, 7, 64)]


def test_the_time_of_a_batch_is_kept_with_its_offsets(spark, tmp_path):
    """A replayed batch takes it from there, so event times made of it are the same."""
    query = (
        spark.readStream.format("rate")
        .option("rowsPerSecond", 50)
        .load()
        .select(F.expr(BATCH_TIME).alias("now"))
        .writeStream.format("json")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start(str(tmp_path / "rows"))
    )
    try:
        while not (query.lastProgress and query.lastProgress["batchId"] >= 2):
            assert query.exception() is None
            time.sleep(0.1)
    finally:
        query.stop()
    files = (tmp_path / "checkpoint" / "offsets").glob("[0-9]*")
    kept = {json.loads(file.read_text().splitlines()[1])["batchTimestampMs"] for file in files}
    told = {json.loads(row)["now"] for file in (tmp_path / "rows").glob("*.json") for row in file.open()}
    assert told and told <= kept
