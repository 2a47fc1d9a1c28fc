"""Flink SQL in its best form: tumbling windows of 1 s, then OVER a range of their results."""

import os

os.environ["JVM_ARGS"] = "-Xms1g -Xmx12g -XX:+UseParallelGC"  # for the JVM that the imports start

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment

SERVERS, TOPIC, RESULTS = os.environ["SERVERS"], os.environ["TOPIC"], os.environ["RESULTS"]
RANGES = [int(seconds) for seconds in os.environ["RANGES"].split()]
SETTINGS = {
    "pipeline.jars": ";".join(f"file://{jar}" for jar in os.environ["JARS"].split(",")),
    "parallelism.default": str(os.cpu_count()),
    "taskmanager.numberOfTaskSlots": str(os.cpu_count()),
    "taskmanager.memory.managed.size": "1536m",
    "taskmanager.memory.network.min": "256m",
    "taskmanager.memory.network.max": "256m",
    "pipeline.object-reuse": "true",
    "state.backend.type": "hashmap",
    "execution.checkpointing.interval": "10 s",
    "execution.checkpointing.dir": f"file://{os.environ['WORK']}",
    "table.optimizer.agg-phase-strategy": "TWO_PHASE",
    "table.optimizer.reuse-source-enabled": "true",
    "table.optimizer.reuse-sub-plan-enabled": "true",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "20000",
    "table.local-time-zone": "UTC",
    "rest.port": "0",
}

configuration = Configuration()
for name, value in SETTINGS.items():
    configuration.set_string(name, value)
tables = TableEnvironment.create(
    EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
)
tables.execute_sql(f"""
    CREATE TABLE events (
        device STRING, ts BIGINT, temp DOUBLE,
        happened AS TO_TIMESTAMP_LTZ(ts, 3), WATERMARK FOR happened AS happened - INTERVAL '1' SECOND
    ) WITH (
        'connector' = 'kafka', 'topic' = '{TOPIC}', 'properties.bootstrap.servers' = '{SERVERS}',
        'properties.group.id' = '{RESULTS}', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json',
        'properties.max.poll.records' = '5000'
    )""")
tables.execute_sql(f"""
    CREATE TABLE results (`range` INT, device STRING, `end` INT, `max` DOUBLE) WITH (
        'connector' = 'kafka', 'topic' = '{RESULTS}', 'properties.bootstrap.servers' = '{SERVERS}',
        'format' = 'json'
    )""")

tables.execute_sql("""
    CREATE TEMPORARY VIEW partials AS
    SELECT device, window_end, window_time AS happened, MAX(temp) AS temp
    FROM TABLE(TUMBLE(DATA => TABLE events, TIMECOL => DESCRIPTOR(happened), SIZE => INTERVAL '1' SECOND))
    GROUP BY device, window_start, window_end, window_time""")

statements = tables.create_statement_set()
for seconds in RANGES:
    minutes, rest = divmod(seconds - 1, 60)
    statements.add_insert_sql(f"""
        INSERT INTO results
        SELECT {seconds}, device, TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', window_end),
            MAX(temp) OVER (
                PARTITION BY device ORDER BY happened
                RANGE BETWEEN INTERVAL '{minutes}:{rest:02}' MINUTE TO SECOND PRECEDING AND CURRENT ROW)
        FROM partials""")
statements.execute().wait()
