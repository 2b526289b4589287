"""A campaign in flight: the emulated service, a receiver, a worker, and recipients who each may get one message."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.processes import ACCOUNT, SECRET, TOKEN, VERIFY, Drumbeat


@pytest.fixture
def drumbeat() -> Iterator[Drumbeat]:
    """The command in a directory of its own. Who uses it says which database and service it has."""
    home = Path(tempfile.mkdtemp(prefix="dr-", dir="/tmp"))
    settings = {
        "home": str(home / "home"),
        "access_token": TOKEN,
        "app_secret": SECRET,
        "verify_token": VERIFY,
        "waba_id": ACCOUNT,
    }
    command = Drumbeat(home, settings)
    yield command
    command.close()
    shutil.rmtree(home)
