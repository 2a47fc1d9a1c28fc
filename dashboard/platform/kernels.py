"""Kernels compiled ahead of the first start: numba keeps the result on disk for all later ones."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path


class CompiledKernels:
    def __init__(self, base_dir: Path, var_dir: Path) -> None:
        self._base_dir = base_dir
        self._cache_dir = var_dir / "numba"
        self._stamp = self._cache_dir / "stamp"

    def are_current(self) -> bool:
        return self._stamp.exists() and self._stamp.read_text() == self._fingerprint()

    def make(self) -> None:
        shutil.rmtree(self._cache_dir, ignore_errors=True)  # of other sources: never run again
        self._cache_dir.mkdir(parents=True)
        environment = os.environ | {"NUMBA_CACHE_DIR": str(self._cache_dir)}
        command = [sys.executable, "-m", "streaming.warm_up"]
        subprocess.run(command, cwd=self._base_dir, env=environment, check=True)
        self._stamp.write_text(self._fingerprint())

    def _fingerprint(self) -> str:
        """Of the interpreter and the sources: numba compiles anew when either changes."""
        digest = hashlib.sha256(sys.version.encode())
        for path in sorted((self._base_dir / "streaming").rglob("*.py")):
            digest.update(path.read_bytes())
        return digest.hexdigest()
