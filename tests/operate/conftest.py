"""The command, before a test says which database and which service it has."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.processes import ACCOUNT, SECRET, TOKEN, VERIFY, Drumbeat


@pytest.fixture
def drumbeat(tmp_path: Path) -> Iterator[Drumbeat]:
    """The command with the secrets of an account."""
    settings = {
        "home": str(tmp_path / "home"),
        "access_token": TOKEN,
        "app_secret": SECRET,
        "verify_token": VERIFY,
        "waba_id": ACCOUNT,
    }
    command = Drumbeat(tmp_path, settings)
    yield command
    command.close()
