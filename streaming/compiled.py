"""Compiled code: numba with a cache on disk, and functions that depend on their first argument's class.

Kernels and algebras are plain classes (named tuples). `generic` makes a function of one of their methods that
works in compiled code as well: numba compiles the method of the class that it meets, and inlines it. So one
text of an algorithm is read, run step by step in Python, and compiled for whole shards.
"""

import hashlib
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.extending import overload, register_jitable

HERE = Path(__file__).parent


def fingerprint() -> str:
    """Of every file that compiled code is made of: those of packages, and what else uses numba or this."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(HERE.rglob("*.py")):
        text = path.read_bytes()
        if path.parent != HERE or b"numba" in text or b"streaming.compiled" in text:
            digest.update(text)
    return digest.hexdigest()[:16]


# numba looks at a cached function's own file only, not at the methods that were inlined into it: a directory
# for every state of the sources makes sure that nothing stale is run.
_CACHES = Path(os.environ.get("NUMBA_CACHE_DIR") or HERE / "__pycache__" / "numba")
numba.config.CACHE_DIR = str(_CACHES / fingerprint())  # type: ignore[attr-defined]

# Nothing here allocates, so references to arrays need no counting, which would take several times as long as
# the work of a kernel over few groups; and methods are inlined into their callers.
compiled: Any = numba.njit(cache=True, nogil=True, forceinline=True, _nrt=False)  # type: ignore[call-overload]
jitable = register_jitable  # a helper that runs in Python as it stands, and is compiled into compiled callers


def generic(prototype: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls the method of its name on its first argument, in Python and in compiled code."""
    name = prototype.__name__

    def call(self: Any, *arguments: Any) -> Any:
        return getattr(self, name)(*arguments)

    def chosen(self: Any, *arguments: Any) -> Any:
        return getattr(self.instance_class, name)

    chosen.__signature__ = inspect.signature(prototype)  # type: ignore[attr-defined]
    overload(call)(chosen)
    call.__doc__ = prototype.__doc__
    return call
