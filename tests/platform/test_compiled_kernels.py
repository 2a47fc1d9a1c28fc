"""What set-up leaves to be compiled later is compiled once for every state of the sources."""

from pathlib import Path

from dashboard.platform.kernels import CompiledKernels

TELLS = "import os, sys; print(*sys.argv[1:], os.environ['NUMBA_CACHE_DIR'], file=open('told', 'a'))"


def warm_up(base_dir: Path, text: str) -> None:
    """A stand-in for `streaming.warm_up`."""
    (base_dir / "streaming").mkdir(exist_ok=True)
    (base_dir / "streaming" / "__init__.py").touch()  # else the real one goes before it, wherever it is
    (base_dir / "streaming" / "warm_up.py").write_text(text)


def test_the_rest_is_compiled_once_and_again_when_sources_change(tmp_path: Path) -> None:
    compiled = CompiledKernels(tmp_path, tmp_path / "var")
    warm_up(tmp_path, TELLS)
    compiled.complete()
    compiled.complete()
    assert (tmp_path / "told").read_text() == f"--all {tmp_path / 'var' / 'numba'}\n"
    warm_up(tmp_path, f"{TELLS}  # another")
    compiled.complete()
    assert len((tmp_path / "told").read_text().splitlines()) == 2


def test_what_failed_is_tried_again(tmp_path: Path) -> None:
    compiled = CompiledKernels(tmp_path, tmp_path / "var")
    warm_up(tmp_path, f"{TELLS}; sys.exit(1)")
    compiled.complete()
    compiled.complete()
    assert len((tmp_path / "told").read_text().splitlines()) == 2
    assert not compiled.are_current()


def test_what_set_up_compiles_is_not_all(tmp_path: Path) -> None:
    compiled = CompiledKernels(tmp_path, tmp_path / "var")
    warm_up(tmp_path, TELLS)
    with compiled.being_made() as wait:
        wait()
    assert compiled.are_current()
    compiled.complete()
    assert [line.split()[0] for line in (tmp_path / "told").read_text().splitlines()][1:] == ["--all"]
