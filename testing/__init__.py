"""Fixtures for the tests of an application that uses `drumbeat.api`. In its `conftest.py`:

    pytest_plugins = ["drumbeat.testing"]

A test that asks for `drumbeat_home` has an installation of its own in the environment, so that
`open_drumbeat()` finds it: an empty database, the emulated service, and the receiver of its events. All of it
runs in the test's process, but for one Postgres for the whole run. The fixtures are plain ones, for tests of
any asynchronous plugin or none.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from drumbeat.emulator.config import EmulatorConfig, NumberConfig
from drumbeat.emulator.testing import running_emulator
from drumbeat.engine.process.embedded_postgres import start_embedded
from drumbeat.testing.background import Background, background
from drumbeat.testing.databases import TEMPLATE, Databases, prepare_server, run_apart
from drumbeat.testing.service import EmulatedService, SentMessage, ServiceClock, receiving

__all__ = [
    "NUMBER",
    "DrumbeatHome",
    "EmulatedService",
    "SentMessage",
    "ServiceClock",
    "drumbeat_clock",
    "drumbeat_emulator",
    "drumbeat_home",
    "drumbeat_receiver",
]

NUMBER = "106540352242922"  # of the emulated account
RATE_PER_S = 1_000.0  # of that number, so that a test does not wait for the pace


@dataclass(frozen=True, slots=True)
class DrumbeatHome:
    """An installation of one test. `settings` are those of `open_drumbeat`; the environment has them too."""

    directory: Path
    settings: dict[str, str]
    emulator: EmulatedService


@pytest.fixture(scope="session")
def _drumbeat_databases() -> Iterator[Databases]:
    """Databases of one embedded Postgres, which a process beside the run stops, also after a kill."""
    home = Path(tempfile.mkdtemp(prefix="beat-", dir="/tmp"))  # a socket's path is at most 107 bytes
    command = [sys.executable, "-W", "ignore", "-m", "drumbeat.testing.reaper", str(home)]
    reaper = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    try:
        url = start_embedded(home)
        run_apart(prepare_server(url))
        databases = Databases(url, TEMPLATE)
        yield databases
        databases.close()
    finally:
        reaper.communicate()
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def _drumbeat_background() -> Iterator[Background]:
    with background() as running:
        yield running


@pytest.fixture
def _drumbeat_database(_drumbeat_databases: Databases) -> Iterator[str]:
    with _drumbeat_databases.fresh() as url:
        yield url


@pytest.fixture
def drumbeat_receiver(_drumbeat_background: Background, _drumbeat_database: str) -> Iterator[str]:
    """The callback's URL of a receiver, which applies the service's events within a tenth of a second."""
    config = EmulatorConfig(port=0)
    secrets = {"app_secret": config.app_secret, "verify_token": config.verify_token}
    with _drumbeat_background.open(receiving(_drumbeat_database, secrets, config.product)) as url:
        yield url


@pytest.fixture
def drumbeat_emulator(_drumbeat_background: Background, drumbeat_receiver: str) -> Iterator[EmulatedService]:
    """The emulated service, which pushes its events to the receiver at once."""
    config = EmulatorConfig(
        port=0, numbers=(NumberConfig(NUMBER, RATE_PER_S),), callback=drumbeat_receiver, status_delay=0.0
    )
    with _drumbeat_background.open(running_emulator(config)) as running:
        yield EmulatedService(running.url)


@pytest.fixture
def drumbeat_clock(drumbeat_emulator: EmulatedService) -> ServiceClock:
    """The service's clock, which a test may advance."""
    return ServiceClock(drumbeat_emulator)


@pytest.fixture
def drumbeat_home(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    _drumbeat_database: str,
    drumbeat_emulator: EmulatedService,
) -> DrumbeatHome:
    """An installation of this test's own, which `open_drumbeat()` finds in the environment."""
    config = EmulatorConfig(port=0)
    settings = {
        "home": str(tmp_path / "drumbeat"),
        "database_url": _drumbeat_database,
        "base_url": drumbeat_emulator.url,
        "access_token": config.token,
        "app_secret": config.app_secret,
        "verify_token": config.verify_token,
        "waba_id": config.waba,
        "product": config.product,
    }
    for name in [name for name in os.environ if name.startswith("DRUMBEAT_")]:
        monkeypatch.delenv(name)  # a developer's own installation must not be sent with
    for name, value in settings.items():
        monkeypatch.setenv(f"DRUMBEAT_{name.upper()}", value)
    return DrumbeatHome(tmp_path, settings, drumbeat_emulator)
