"""Everything as real processes: the emulated service, the receiver, and the commands of a user."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import write_audience
from tests.cli.processes import ACCOUNT, SECRET, TOKEN, VERIFY, Drumbeat, Service, serving

TEMPLATE = ("--template", "order_shipped", "--language", "pt_BR")


class Scene:
    """A service with two numbers, its receiver, and a command that knows both."""

    def __init__(self, drumbeat: Drumbeat, service: Service, receiver: str) -> None:
        self.drumbeat = drumbeat
        self.service = service
        self.receiver = receiver  # its URL, without a path

    def create(
        self, people: int, *options: str, numbers: tuple[str, ...] = ("1", "2"), name: str = "spring"
    ) -> Path:
        """A campaign, planned."""
        audience = write_audience(self.drumbeat.directory / "people.csv", people)
        chosen = [word for number in numbers for word in ("--number", number)]
        params = ("--param", "name", "--param", "order")
        words = ("campaign", "create", name, *TEMPLATE, "--audience", str(audience), *params, *chosen)
        self.drumbeat.ok(*words, *options)
        return audience

    def status(self) -> dict[str, object]:
        found: dict[str, object] = self.drumbeat.ok("campaign", "status", "spring", "--json").json
        return found

    def counts(self) -> dict[str, int]:
        """Recipients by state. They add up at every moment."""
        status = self.status()
        counts = status["counts"]
        assert isinstance(counts, dict)
        assert sum(counts.values()) == status["recipients"]
        assert min(counts.values()) >= 0
        return counts

    def state(self) -> str:
        return str(self.status()["state"])

    def events_delivered(self) -> bool:
        """Whether every event of the service has been delivered."""
        return not self.service.get("events/summary")["pending"]


@pytest.fixture
def status_delay() -> str:
    """How much slower than usual statuses come: at once, unless a test says otherwise."""
    return "0"


@pytest.fixture
def scene(tmp_path: Path, database_url: str, status_delay: str) -> Iterator[Scene]:
    """Numbers 1 (80/s) and 2 (1,000/s); statuses are applied as they come."""
    settings = {
        "home": str(tmp_path / "home"),
        "database_url": database_url,
        "access_token": TOKEN,
        "app_secret": SECRET,
        "verify_token": VERIFY,
        "waba_id": ACCOUNT,
    }
    drumbeat = Drumbeat(tmp_path, settings)
    options = ("--port", "0", "--number", "1:80", "--number", "2:1000", "--status-delay", status_delay)
    try:
        with (
            serving(drumbeat, "webhooks", "serve", "--port", "0") as callback,
            serving(drumbeat, "emulator", "serve", *options, "--callback", callback) as url,
        ):
            settings["base_url"] = url
            drumbeat.ok("numbers", "sync")
            drumbeat.ok("templates", "sync")
            yield Scene(drumbeat, Service(url), callback.removesuffix("/webhook"))
    finally:
        drumbeat.close()
