"""Spark Structured Streaming: its own sliding `window()`, one streaming query for each range."""

import os

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

RANGES = [int(seconds) for seconds in os.environ["RANGES"].split()]
SETTINGS = {
    "spark.driver.memory": "6g",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    "spark.jars": os.environ["JARS"],
    "spark.scheduler.mode": "FAIR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": str(os.cpu_count()),
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.ui.enabled": "false",
}

builder = SparkSession.builder.master("local[*]").appName("window")
for name, value in SETTINGS.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()

events = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", os.environ["SERVERS"])
    .option("subscribe", os.environ["TOPIC"])
    .option("startingOffsets", "earliest")
    .option("maxOffsetsPerTrigger", 500_000)
    .option("kafka.max.poll.records", "20000")
    .option("kafka.fetch.max.wait.ms", "5")
    .option("kafka.max.partition.fetch.bytes", str(4 << 20))
    .load()
    .select(F.from_json(F.col("value").cast("string"), "device string, ts long, temp double").alias("event"))
    .select("event.device", "event.temp", F.expr("timestamp_millis(event.ts)").alias("at"))
    .withWatermark("at", "1 second")
)

for seconds in RANGES:
    window = F.window("at", f"{seconds} seconds", "1 second")
    hottest = events.groupBy("device", window).agg(F.max("temp").alias("max"))
    row = F.struct(
        F.lit(seconds).alias("range"), "device", F.unix_timestamp("window.end").alias("end"), "max"
    )
    (
        hottest.select(F.to_json(row).alias("value"))
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", os.environ["SERVERS"])
        .option("topic", os.environ["RESULTS"])
        .option("checkpointLocation", f"{os.environ['WORK']}/{seconds}")
        .trigger(processingTime="0 seconds")
        .start()
    )
spark.streams.awaitAnyTermination()
