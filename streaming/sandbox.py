"""DuckDB for what people write: in memory, without files or network, with bounded memory and processor time.

Each thread has a database of its own. What ends an evaluation (time, memory, a fatal or an internal error)
ends that one alone: the database is thrown away, and the next evaluation begins with a new one.
"""

import atexit
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

MEMORY = "1GB"  # of one database
SECONDS = 5.0  # of processor time for one evaluation
SECONDS_PER_ROW = 50e-6  # beside those: some values that cannot be converted take 10 µs each
POLL_SECONDS = 0.1
VECTOR_ROWS = 2048  # that DuckDB works on at once
LARGEST = 256 << 20  # bytes of texts that an expression makes of those

# DuckDB works out what an expression has twice outside of it, where no TRY holds its errors; and looking for
# what occurs twice takes the cube of the number of terms.
TRY_HOLDS_ERRORS = "SET disabled_optimizers = 'common_subexpressions'"
NO_ACCESS = ("SET enable_external_access = false", "SET allow_community_extensions = false")
LOCKED_DOWN = (
    "SET temp_directory = ''",
    *NO_ACCESS,
    "SET preserve_insertion_order = true",
    TRY_HOLDS_ERRORS,
    "SET lock_configuration = true",
)
_BROKEN = (duckdb.FatalException, duckdb.InternalException)


class Stopped(Exception):
    """An evaluation that was ended; the message is why, in words for people."""


@dataclass
class _Evaluation:
    database: duckdb.DuckDBPyConnection
    deadline: float  # on the process' processor clock: a process that has to wait loses no time


class _Watchdog:
    """One thread of this process that interrupts evaluations whose time is up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._evaluations: dict[int, _Evaluation] = {}  # by thread
        self._thread: threading.Thread | None = None
        self._ends = threading.Event()

    @contextmanager
    def watching(self, database: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[None]:
        evaluation = _Evaluation(database, time.process_time() + seconds)
        with self._lock:
            self._evaluations[threading.get_ident()] = evaluation
            self._be_awake()
        try:
            yield
        finally:
            with self._lock:
                del self._evaluations[threading.get_ident()]

    def _be_awake(self) -> None:
        if self._thread is None or not self._thread.is_alive():  # a fork takes no threads along
            self._thread = threading.Thread(target=self._watch, name="evaluations", daemon=True)
            self._thread.start()

    def _watch(self) -> None:
        while not self._ends.wait(POLL_SECONDS):
            self._interrupt_overdue()

    def end(self) -> None:
        """Before the interpreter is taken apart, which would find what this thread holds."""
        self._ends.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()

    def _interrupt_overdue(self) -> None:
        now = time.process_time()
        with self._lock:  # none is interrupted that has just ended: the next one would be
            for evaluation in self._evaluations.values():
                if now > evaluation.deadline:
                    evaluation.database.interrupt()


_watchdog = _Watchdog()
_own = threading.local()
atexit.register(_watchdog.end)


@contextmanager
def rows(table: pa.Table, spent: float = 0.0) -> Iterator[duckdb.DuckDBPyRelation]:
    """A relation of the table's rows, to be used within the bounds; raises Stopped beyond them.

    `spent` are the seconds of processor time that parts before this one have taken of the same evaluation.
    """
    seconds = max(0.0, SECONDS - spent) + SECONDS_PER_ROW * len(table)
    database = _database()
    try:
        with _watchdog.watching(database, seconds):
            yield database.from_arrow(table)
    except duckdb.InterruptException as error:
        raise Stopped(f"It was stopped after {seconds:,.0f} s for {len(table):,} messages.") from error
    except (duckdb.OutOfMemoryException, MemoryError) as error:
        _throw_away()
        raise Stopped(f"It was stopped: it needs more than {MEMORY} of memory.") from error
    except _BROKEN as error:
        _throw_away()
        raise Stopped(f"It was stopped by an error of the database: {first_line(error)}") from error


def bounded_slices(table: pa.Table, copies: int) -> Iterator[pa.Table]:
    """The table in parts of which `copies` of each text take no more than LARGEST.

    No setting of DuckDB's counts what an expression holds while it is worked out.
    """
    most = max((_longest(column) for column in table.columns), default=0)
    rows = max(1, LARGEST // max(1, most * copies))
    if rows >= VECTOR_ROWS or len(table) <= rows:
        yield table
        return
    for start in range(0, len(table), rows):
        yield table.slice(start, rows)


def _longest(column: pa.ChunkedArray) -> int:
    """Bytes of the longest text of a column."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return max((_longest(pa.chunked_array([chunk.dictionary])) for chunk in column.chunks), default=0)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)) or not len(column):
        return 0
    return pc.max(pc.binary_length(column)).as_py() or 0


def first_line(error: Exception) -> str:
    line = str(error).splitlines()[0]
    return line.split("Error: ", 1)[-1].rstrip(".") + "."


def _database() -> duckdb.DuckDBPyConnection:
    known: duckdb.DuckDBPyConnection | None = getattr(_own, "database", None)
    if known is None:
        known = duckdb.connect(":memory:", config={"threads": 1, "memory_limit": MEMORY})
        for setting in LOCKED_DOWN:
            known.execute(setting)
        _own.database = known
    return known


def _throw_away() -> None:
    database = getattr(_own, "database", None)
    _own.database = None
    if database is not None:
        database.close()
