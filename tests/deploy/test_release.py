"""The wheel of a release holds all that it needs: it sends a campaign where this repository is not."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from deploy.release import build_wheel, try_alone


@pytest.mark.long
def test_the_wheel_alone_sends_a_campaign(tmp_path: Path) -> None:
    """The packages are those of this run; Drumbeat is the wheel's, not that of the repository."""
    wheel = build_wheel(tmp_path)
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    site = next(environment.glob("lib/python3*/site-packages"))
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", environment / "bin/python", "install", "--quiet", "--no-deps",
         "--no-index", "--disable-pip-version-check", wheel],
        check=True,
    )  # fmt: skip
    # A path in such a file is searched, but the links of its own editable installs are not followed.
    (site / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    assert (site / "drumbeat/engine").is_dir()
    assert try_alone(environment / "bin") == "0.1.0"
