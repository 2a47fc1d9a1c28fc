"""Millrace: what a person writes is the spec beside this file; this runs it as the job would."""

import os
from dataclasses import replace
from pathlib import Path

from optimizer import Statistics, optimize
from optimizer.queries import WindowSpec
from streaming import spark as engine
from streaming.lanes import EARLIEST, Timeline
from streaming.sources import SourceSpec
from streaming.spec import Spec
from streaming.topics import Topics, create_topics

SCHEMA = (("device", "text"), ("ts", "integer"), ("temp", "number"))
SPEC = Spec.read(Path(__file__).with_suffix(".json").read_bytes())


def main() -> None:
    servers, topics = os.environ["SERVERS"], Topics(os.environ["RESULTS"].removesuffix(".results"))
    source = SourceSpec(
        "peers", servers, os.environ["TOPIC"], "json", SCHEMA, "ts", "ms", SPEC.allowed_lateness
    )
    windows = tuple(WindowSpec(f"{seconds}s", "1s") for seconds in os.environ["RANGES"].split())
    queries = [query for spec in SPEC.queries for query in replace(spec, windows=windows).queries()]
    statistics = Statistics(groups={("device",): 1_000})
    plan = optimize(queries, statistics, source=source.id, strategy="best_woven")
    create_topics(servers, [*topics.shared(), topics.progress_topic(source.stream)])
    spark = engine.session("local[*]", Path(os.environ["JARS"]), Path(os.environ["VAR"]))
    launch = engine.Launch(
        source, Timeline().adopt(plan, EARLIEST), servers, topics, os.environ["WORK"], 0, start_back=1 << 40
    )
    engine.start(spark, launch).awaitTermination()


if __name__ == "__main__":
    main()
