"""Commands against a database of the test's own, and an emulated service for those that talk to one."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.processes import ACCOUNT, SECRET, TOKEN, VERIFY, Drumbeat, Service, serving

# A campaign through the faster number, without its audience and parameters.
CREATE = (
    *("campaign", "create", "spring", "--template", "order_shipped", "--language", "en_US"),
    *("--number", "2"),
)


@pytest.fixture
def drumbeat(tmp_path: Path, database_url: str) -> Iterator[Drumbeat]:
    """The command with a database; no service answers."""
    settings = {
        "home": str(tmp_path / "home"),
        "database_url": database_url,
        "base_url": "http://127.0.0.1:9",
        "access_token": TOKEN,
        "app_secret": SECRET,
        "verify_token": VERIFY,
        "waba_id": ACCOUNT,
    }
    command = Drumbeat(tmp_path, settings)
    yield command
    command.close()


@pytest.fixture
def scratch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where demos and benches make their directories; short, since the database's socket lies in it."""
    directory = Path(tempfile.mkdtemp(prefix="d-", dir="/tmp"))
    directory.chmod(0o711)
    monkeypatch.setenv("TMPDIR", str(directory))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def service(drumbeat: Drumbeat) -> Iterator[Service]:
    """An emulated service with the numbers 1 (200/s) and 2 (1,000/s), which the command talks to."""
    options = ("--port", "0", "--number", "1:200", "--number", "2:1000", "--status-delay", "0")
    with serving(drumbeat, "emulator", "serve", *options) as url:
        drumbeat.settings["base_url"] = url
        yield Service(url)


@pytest.fixture
def synced(drumbeat: Drumbeat, service: Service) -> Service:
    """The service, with its numbers and templates read."""
    drumbeat.ok("numbers", "sync")
    drumbeat.ok("templates", "sync")
    return service


@pytest.fixture
def audience(tmp_path: Path) -> Path:
    """Ten people."""
    return write_audience(tmp_path / "people.csv", 10)


def write_audience(path: Path, people: int) -> Path:
    """A file of so many people, with a phone, a name and an order each."""
    rows = (f"+5511{980_000_000 + person},Ana {person},A-{person}" for person in range(people))
    path.write_text("phone,name,order\n" + "\n".join(rows) + "\n", "utf-8")
    return path
