"""Kernels compiled ahead of the first start: numba keeps the result on disk for all later ones."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


class CompiledKernels:
    def __init__(self, base_dir: Path, var_dir: Path) -> None:
        self._base_dir = base_dir
        self._cache_dir = var_dir / "numba"
        self._stamp = self._cache_dir / "stamp"

    def are_current(self) -> bool:
        return self._stamp.exists() and self._stamp.read_text() == self._fingerprint()

    @contextmanager
    def being_made(self) -> Iterator[Callable[[], None]]:
        """Compiling, while the block does something else; yields what waits until it is done."""
        shutil.rmtree(self._cache_dir, ignore_errors=True)  # of other sources: never run again
        self._cache_dir.mkdir(parents=True, exist_ok=True)  # it is still there where it is a link
        fingerprint = self._fingerprint()
        environment = os.environ | {"NUMBA_CACHE_DIR": str(self._cache_dir)}
        command = [sys.executable, "-m", "streaming.warm_up"]
        with subprocess.Popen(command, cwd=self._base_dir, env=environment) as process:

            def wait() -> None:
                if process.wait() != 0:
                    raise subprocess.CalledProcessError(process.returncode, command)
                self._stamp.write_text(fingerprint)

            try:
                yield wait
            finally:
                process.kill()  # where the block ended early

    def _fingerprint(self) -> str:
        """Of the interpreter and the sources: numba compiles anew when either changes."""
        digest = hashlib.sha256(sys.version.encode())
        for path in sorted((self._base_dir / "streaming").rglob("*.py")):
            digest.update(path.read_bytes())
        return digest.hexdigest()
