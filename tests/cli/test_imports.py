"""What a command does not need it does not import: the first message waits for every import."""

import subprocess
import sys

import pytest

NOT_FOR_A_RUN = ["phonenumbers", "rich.live", "campaigns.create", "campaigns.report", "emulator"]


@pytest.mark.parametrize("module", NOT_FOR_A_RUN)
def test_a_run_does_not_import(module: str) -> None:
    code = f"import sys, campaigns.cli.main, campaigns.cli.run; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
