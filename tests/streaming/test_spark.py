"""What the wiring assumes of Spark holds."""

import pytest
from pyspark.sql import functions as F

from streaming.spark import partition_of

pytestmark = pytest.mark.spark


def test_shards_land_where_spark_hashes_them(spark):
    rows = spark.range(500).select(
        F.col("id").cast("int"), *[F.expr(f"pmod(hash(cast(id as int)), {count})") for count in (1, 2, 7, 64)]
    )
    for label, *partitions in rows.collect():
        assert partitions == [partition_of(label, count) for count in (1, 2, 7, 64)]
