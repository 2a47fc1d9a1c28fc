"""The browser's modules that need no browser are tested by Node's own test runner."""

import shutil
import subprocess
from pathlib import Path

from dashboard.platform.frontend import node_environment

HERE = Path(__file__).parent


def test_the_modules_do_what_their_own_tests_say(tmp_path: Path) -> None:
    environment = node_environment(tmp_path / "node.log")
    node = shutil.which("node", path=environment["PATH"])
    assert node is not None
    files = sorted(str(path) for path in HERE.glob("*.test.mjs"))
    assert files
    done = subprocess.run([node, "--test", *files], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
