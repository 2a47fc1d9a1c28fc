"""Kernels compiled ahead of the first start: numba keeps the result on disk for all later ones."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from streaming.tether import tethered


class CompiledKernels:
    def __init__(self, base_dir: Path, var_dir: Path) -> None:
        self._base_dir = base_dir
        self._cache_dir = var_dir / "numba"
        self._stamp = self._cache_dir / "stamp"
        self._stamp_of_all = self._cache_dir / "stamp-of-all"

    def are_current(self) -> bool:
        return self._says(self._stamp)

    def complete(self) -> None:
        """Compile what set-up leaves for later, if that has not been done; takes a minute or two."""
        if self._says(self._stamp_of_all):
            return
        self._cache_dir.mkdir(parents=True, exist_ok=True)
        fingerprint = self._fingerprint()
        done = subprocess.run(
            tethered([*self._command, "--all"]),
            cwd=self._base_dir,
            env=self._environment,
            start_new_session=True,  # Ctrl-C is not for it: it ends with this process, without a word
            check=False,
        )
        if done.returncode == 0:
            self._stamp_of_all.write_text(fingerprint)

    @contextmanager
    def being_made(self) -> Iterator[Callable[[], None]]:
        """Compiling, while the block does something else; yields what waits until it is done."""
        shutil.rmtree(self._cache_dir, ignore_errors=True)  # of other sources: never run again
        self._cache_dir.mkdir(parents=True, exist_ok=True)  # it is still there where it is a link
        fingerprint = self._fingerprint()
        with subprocess.Popen(self._command, cwd=self._base_dir, env=self._environment) as process:

            def wait() -> None:
                if process.wait() != 0:
                    raise subprocess.CalledProcessError(process.returncode, self._command)
                self._stamp.write_text(fingerprint)

            try:
                yield wait
            finally:
                process.kill()  # where the block ended early

    @property
    def _command(self) -> list[str]:
        return [sys.executable, "-m", "streaming.warm_up"]

    @property
    def _environment(self) -> dict[str, str]:
        return os.environ | {"NUMBA_CACHE_DIR": str(self._cache_dir)}

    def _says(self, stamp: Path) -> bool:
        return stamp.exists() and stamp.read_text() == self._fingerprint()

    def _fingerprint(self) -> str:
        """Of the interpreter and the sources: numba compiles anew when either changes."""
        digest = hashlib.sha256(sys.version.encode())
        for path in sorted((self._base_dir / "streaming").rglob("*.py")):
            digest.update(path.read_bytes())
        return digest.hexdigest()
