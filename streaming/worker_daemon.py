"""The process from which Spark forks its Python workers, with our modules loaded already.

A worker that imports numba, pyarrow and DuckDB by itself needs one to two seconds of a core before its first
event; forked from here it has them at once.
"""

import gc
import logging
import shutil

from pyspark import daemon

import streaming.spark
import streaming.task  # noqa: F401  (loaded for the workers)
from streaming import keepers

if __name__ == "__main__":
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # what matters of it is raised
    place = keepers.offer()
    # A worker collects garbage after every task; without this it would look through all modules each time.
    gc.collect()
    gc.freeze()
    try:
        daemon.manager()
    finally:
        shutil.rmtree(place, ignore_errors=True)
