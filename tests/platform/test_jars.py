"""Jars are pinned: a file that is not the expected one is refused and removed."""

import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from streaming import jars
from streaming.java import JavaError, find_java


def _no_matter(_: str) -> None:
    pass


def _stand_in_java(path: Path, script: str) -> Path:
    """A program in Java's place that does what Ivy would; its last argument is where the jars go."""
    path.write_text(f'#!/bin/sh\nfor last; do :; done\ntarget=$(dirname "$last")\n{script}\n')
    path.chmod(0o755)
    return path


def test_the_lock_lists_every_pinned_artifact_by_version() -> None:
    names = jars.locked_hashes()
    for jar_set in jars.JAR_SETS:
        for coordinate in jar_set.coordinates:
            assert f"{jar_set.directory}/{coordinate.artifact}-{coordinate.version}.jar" in names
    assert all(len(digest) == 64 for digest in names.values())


def test_a_jar_with_another_hash_is_refused_and_removed(tmp_path: Path) -> None:
    bare = next(jar_set for jar_set in jars.JAR_SETS if jar_set.directory == "bare")
    jar = Path(jars.missing(tmp_path, bare)[0]).name
    java = _stand_in_java(tmp_path / "java", f'mkdir -p "$target"; echo tampered > "$target/{jar}"')
    with pytest.raises(jars.JarError, match=r"is not the file that jars\.lock expects"):
        jars.fetch(tmp_path / "jars", bare, java, tmp_path / "log", _no_matter)
    assert list((tmp_path / "jars").rglob("*.jar")) == []


def test_without_a_repository_one_sentence_says_so(tmp_path: Path) -> None:
    java = _stand_in_java(tmp_path / "java", "echo 'UNRESOLVED DEPENDENCIES'; exit 1")
    with pytest.raises(jars.JarError, match="check that this machine reaches a Maven repository"):
        jars.fetch(tmp_path / "jars", jars.JAR_SETS[0], java, tmp_path / "log", _no_matter)
    assert "UNRESOLVED" in (tmp_path / "log").read_text()


def test_a_full_disk_is_named_as_such(tmp_path: Path) -> None:
    java = _stand_in_java(tmp_path / "java", "echo 'java.io.IOException: No space left on device'; exit 1")
    with pytest.raises(jars.JarError, match="disk is full"):
        jars.fetch(tmp_path / "jars", jars.JAR_SETS[0], java, tmp_path / "log", _no_matter)


@pytest.mark.parametrize(
    ("told", "fits"), [("17.0.15", True), ("21.0.2", True), ("11.0.22", False), ("1.8.0_402", False)]
)
def test_only_java_17_and_21_will_do(
    told: str, fits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{told}\"' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if fits:
        assert find_java().version == told
    else:
        with pytest.raises(JavaError, match="Install Java 17 or 21"):
            find_java()


def test_a_missing_java_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaError, match=r"Java was not found\. Install Java 17 or 21"):
        find_java()


def test_every_jar_that_set_up_fetched_has_the_locked_hash() -> None:
    directory = jars.jars_dir(settings.VAR_DIR)
    checked = subprocess.run(
        ["sha256sum", "--check", "--quiet", "--strict"],
        cwd=directory,
        input="\n".join(f"{digest}  {name}" for name, digest in jars.locked_hashes().items()),
        text=True,
        capture_output=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
