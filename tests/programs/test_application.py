"""An application with a package `campaigns` of its own uses the interface and its fixtures."""

import os
import subprocess
import sys
from pathlib import Path

APPLICATION = Path(__file__).parent / "application"


def test_the_tests_of_an_application_pass() -> None:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("DRUMBEAT_", "PYTEST_"))
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "."]
    done = subprocess.run(
        [*command, "--rootdir", str(APPLICATION)],
        cwd=APPLICATION,
        env={**kept, "PYTHONPATH": str(APPLICATION)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
