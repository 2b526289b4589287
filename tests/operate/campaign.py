"""A campaign in flight, judged by the emulator's ledger."""

import asyncio
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import asyncpg

from tests.cli.conftest import write_audience
from tests.cli.processes import Drumbeat, Service, serving, until

NAME = "spring"  # as the pages call it
NUMBERS = ("1", "2")
SERVICE_LIMIT_PER_S = 3_000  # of a number; Drumbeat's own limits are lower
RATE_PER_S, FAST_PER_S = 200, 2_500
COLUMNS = ("--param", "name", "--param", "order")


@dataclass(slots=True)
class Campaign:
    """A campaign of `recipients`, sent by a worker through two numbers."""

    drumbeat: Drumbeat
    service: Service
    recipients: int

    def await_accepted(self, count: int) -> None:
        until(lambda: self.service.accepted() >= count, f"{count} messages accepted")

    @property
    def database_url(self) -> str:
        return self.drumbeat.settings["database_url"]

    def limit(self, per_s: int) -> None:
        """The limit of each number."""
        for number in NUMBERS:
            self.drumbeat.ok("numbers", "limit", number, str(per_s))

    def reason_code(self) -> str | None:
        return fetch(self.database_url, "SELECT reason_code FROM campaigns")[0]["reason_code"]

    def await_finished(self) -> None:
        """The rest is sent faster."""
        self.limit(FAST_PER_S)
        finished = "SELECT FROM campaigns WHERE state = 'finished'"
        until(lambda: fetch(self.database_url, finished), "the campaign is finished")

    def states(self) -> dict[str, str]:
        """The state of each recipient, by phone."""
        rows = fetch(self.database_url, "SELECT phone, state FROM recipient_states")
        return {str(row["phone"]): row["state"] for row in rows}

    def await_events(self) -> None:
        """Every event is taken; those that wait to be sent again are hurried."""

        def taken() -> bool:
            self.service.post("clock", {"seconds": 2})
            return not self.service.get("events/summary")["pending"]

        until(taken, "every event was taken")

    def reached(self) -> Counter[str]:
        """How many messages each phone got."""
        return Counter(phone.lstrip("+") for phone in self.service.recipients())


def fetch(database_url: str, statement: str) -> list[asyncpg.Record]:
    async def ask() -> list[asyncpg.Record]:
        connection = await asyncpg.connect(database_url)
        try:
            return list(await connection.fetch(statement))
        finally:
            await connection.close()

    return asyncio.run(ask())


@contextmanager
def planned(drumbeat: Drumbeat, recipients: int, status_delay_s: float) -> Iterator[Campaign]:
    """A planned campaign; its service sends each event after `status_delay_s`."""
    numbers = [word for number in NUMBERS for word in ("--number", f"{number}:{SERVICE_LIMIT_PER_S}")]
    words = ("emulator", "serve", "--port", "0", *numbers, "--latency-ms", "20")
    with ExitStack() as stack:
        drumbeat.settings["base_url"] = stack.enter_context(
            serving(drumbeat, *words, "--status-delay", str(status_delay_s))
        )
        for what in ("numbers", "templates"):
            drumbeat.ok(what, "sync")
        audience = write_audience(drumbeat.directory / "people.csv", recipients)
        given = [word for number in NUMBERS for word in ("--number", number)]
        template = ("--template", "order_shipped", "--language", "en_US")
        drumbeat.ok("campaign", "create", NAME, *template, "--audience", audience, *given, *COLUMNS)
        campaign = Campaign(drumbeat, Service(drumbeat.settings["base_url"]), recipients)
        campaign.limit(RATE_PER_S)
        yield campaign


@contextmanager
def working(campaign: Campaign) -> Iterator[subprocess.Popen[str]]:
    """A worker, while the block runs; a test may kill it."""
    worker = campaign.drumbeat.start("worker", log=campaign.drumbeat.directory / "worker.log")
    try:
        yield worker
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait()


@contextmanager
def receiving(campaign: Campaign) -> Iterator[None]:
    """A receiver that the service knows, while the block runs."""
    with serving(campaign.drumbeat, "webhooks", "serve", "--port", "0") as url:
        campaign.service.post("callback", {"url": url})
        yield


def judge(campaign: Campaign) -> None:
    """By the ledger: nobody twice. Whoever got nothing is one whom a person took as sent."""
    reached, known = campaign.reached(), campaign.states()
    assert max(reached.values()) == 1
    assert len(known) == campaign.recipients
    assert reached.keys() <= known.keys()
    assert set(known.values()) <= {"accepted", "sent", "delivered", "read"}
    assert {known[phone] for phone in known.keys() - reached.keys()} <= {"accepted"}
