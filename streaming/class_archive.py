"""Spark's classes, loaded once and kept in one file: `python -m streaming.class_archive VAR_DIR`.

A cold start of Spark spends a third of its time reading and verifying classes. Java can map them from an
archive instead (class data sharing); an archive that does not fit the Java or the jars is ignored by it.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from streaming import spark as engine
from streaming.jars import jars_dir


def make(var_dir: Path) -> None:
    """Run a small streaming query, so that its classes are known, and let Java write them down as it ends."""
    archive = engine.class_archive(var_dir)
    archive.unlink(missing_ok=True)
    spark = engine.session("local[1]", jars_dir(var_dir), var_dir, archive_at_exit=archive)
    gateway: Any = spark.sparkContext._gateway
    stream = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
    query = (
        stream.mapInArrow(_same, stream.schema)
        .groupBy("value")
        .count()
        .writeStream.format("noop")
        .outputMode("update")
        .trigger(processingTime="0 seconds")
        .start()
    )
    while not query.lastProgress and query.isActive:
        time.sleep(0.1)
    query.stop()
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=120)


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


if __name__ == "__main__":
    make(Path(sys.argv[1]))
