"""A campaign over three hosts while hosts are added, killed, cut off and frozen; judged by the ledger."""

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from drumbeat.campaigns.life.control import start as start_campaign
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.engine.store.database import Connection
from tests.chaos.message import Message
from tests.chaos.service import LANGUAGE, TEMPLATE
from tests.hosts.installation import NUMBERS, Installation
from tests.hosts.judge import Judge, Report, Step

LOOK_PERIOD_S = 0.05
EVEN_S_MAX = 10.0  # promised: numbers are divided evenly within this time after a host is added or lost
PATIENCE_S = 60.0  # a broken promise of time is measured, up to here
FIRST_PHONE = 5511900000000


@dataclass(frozen=True, slots=True)
class _Loss:
    """A host that was lost at a moment of the wall clock, with the epochs of its numbers."""

    step: Step
    at_s: float
    epochs: dict[str, int]


class Trial:
    """One campaign through an installation. Call `begin`, then what happens to hosts, then `judge`."""

    def __init__(self, installation: Installation, rate_per_s: float, recipients: int) -> None:
        self.report = Report(recipients)
        self._installation = installation
        self._rate_per_s = rate_per_s
        self._began_s = time.monotonic()
        self._campaign_id = 0
        self._losses: list[_Loss] = []

    async def begin(self, *names: str) -> None:
        """Start the first hosts and, once they have divided the numbers, the campaign."""
        await self._plan()
        for name in names:
            await self._installation.hosts[name].start(self._installation.environment)
        await self._step("start", names)
        connection = await self._installation.connect()
        await start_campaign(connection, "spring")
        await connection.close()
        await self.send(len(NUMBERS))

    async def send(self, messages: int) -> None:
        """Wait until so many more messages were accepted."""
        ledger = self._installation.service.ledger
        wanted = await ledger.length() + messages
        deadline_s = time.monotonic() + PATIENCE_S
        while await ledger.length() < wanted:
            if time.monotonic() > deadline_s:
                self.report.broken.append(f"{messages} messages were not accepted in {PATIENCE_S:.0f} s")
                return
            await asyncio.sleep(LOOK_PERIOD_S)

    async def add(self, name: str, present: Collection[str]) -> None:
        """Start a host beside those that are `present`."""
        await self._installation.hosts[name].start(self._installation.environment)
        connection = await self._installation.connect()
        while not await _is_live(connection, name):  # the start of an interpreter is not ours to judge
            await asyncio.sleep(LOOK_PERIOD_S)
        await connection.close()
        await self._step(f"{name} added", [*present, name])

    async def kill(self, name: str, left: Collection[str]) -> None:
        loss_of = await self._epochs_of(name)
        at_s = time.time()
        self._installation.hosts[name].kill()
        await self._lose(f"{name} killed", left, at_s, loss_of)

    async def stop(self, name: str, left: Collection[str]) -> None:
        loss_of = await self._epochs_of(name)
        at_s = time.time()
        code = await self._installation.hosts[name].stop()
        if code != 128 + 15:
            self.report.broken.append(f"{name} ended with {code} after SIGTERM")
        await self._lose(f"{name} stopped", left, at_s, loss_of)

    async def cut_off(self, name: str, left: Collection[str]) -> None:
        """From the database, not from the service. It is back when the others have its numbers."""
        loss_of = await self._epochs_of(name)
        at_s = time.time()
        self._installation.hosts[name].plug.cut_database()
        await self._lose(f"{name} cut off from the database", left, at_s, loss_of)
        await self.send(10 * len(NUMBERS))
        self._installation.hosts[name].plug.heal_database()
        await self._step(f"{name} connected again", [*left, name])

    async def freeze(self, name: str, left: Collection[str]) -> None:
        """It goes on when the others have its numbers and send with them."""
        loss_of = await self._epochs_of(name)
        at_s = time.time()
        self._installation.hosts[name].freeze()
        await self._lose(f"{name} frozen", left, at_s, loss_of)
        await self.send(10 * len(NUMBERS))
        self._installation.hosts[name].thaw()
        await self._step(f"{name} thawed", [*left, name])

    async def judge(self) -> Report:
        """Wait for the end, and judge by the ledger and the store alone."""
        report = self.report
        judge = Judge(self._installation, self._campaign_id, report, dict.fromkeys(NUMBERS, self._rate_per_s))
        self._time_takeovers(await judge.judge())
        report.lasted_s = time.monotonic() - self._began_s
        for step in report.steps:
            if step.even_s > EVEN_S_MAX:
                report.broken.append(f"{step.what}: divided evenly after {step.even_s:.1f} s")
        return report

    async def _plan(self) -> None:
        audience = self._installation.home / "audience.csv"
        lines = (f"+{FIRST_PHONE + place},Ana,A-{place}\n" for place in range(self.report.recipients))
        audience.write_text("phone,name,order\n" + "".join(lines), "utf-8")
        rejects = self._installation.home / "rejects.csv"
        spec = CampaignSpec(
            name="spring",
            template=TEMPLATE,
            language=LANGUAGE,
            audience=audience,
            number=list(NUMBERS),
            param=["name", "order"],
            rejects=rejects,
        )
        self._campaign_id = (await create_campaign(self._installation.url, spec)).campaign_id

    async def _step(self, what: str, hosts: Collection[str]) -> Step:
        """Wait until the numbers are divided evenly among these hosts, and note how long it took."""
        began_s = time.monotonic()
        connection = await self._installation.connect()
        while not _is_even(await _shares(connection), hosts):
            if time.monotonic() > began_s + PATIENCE_S:
                self.report.broken.append(f"{what}: the numbers are {await _shares(connection)}")
                break
            await asyncio.sleep(LOOK_PERIOD_S)
        await connection.close()
        step = Step(what, len(hosts), time.monotonic() - began_s)
        self.report.steps.append(step)
        return step

    async def _lose(self, what: str, left: Collection[str], at_s: float, epochs: dict[str, int]) -> None:
        self._losses.append(_Loss(await self._step(what, left), at_s, epochs))

    async def _epochs_of(self, name: str) -> dict[str, int]:
        connection = await self._installation.connect()
        rows = await connection.fetch(
            "SELECT phone_number_id, epoch FROM numbers WHERE owner_process ->> 'host' = $1", name
        )
        await connection.close()
        return {row["phone_number_id"]: row["epoch"] for row in rows}

    def _time_takeovers(self, ledger: Sequence[Message]) -> None:
        for loss in self._losses:
            first_s: dict[str, float] = {}
            for message in ledger:
                epoch = loss.epochs.get(message.phone_number_id)
                if epoch is not None and message.read_tag.epoch > epoch:
                    first_s.setdefault(message.phone_number_id, message.received_s - loss.at_s)
            loss.step.takeovers_s = sorted(first_s.values())


async def _shares(connection: Connection) -> dict[str, int]:
    """How many numbers each host owns now."""
    rows = await connection.fetch(
        "SELECT owner_process ->> 'host' AS host, count(*) AS numbers FROM numbers"
        " WHERE NOT released AND leased_until > now() GROUP BY 1"
    )
    return {row["host"]: row["numbers"] for row in rows}


def _is_even(shares: dict[str, int], hosts: Collection[str]) -> bool:
    counts = shares.values()
    return shares.keys() == set(hosts) and sum(counts) == len(NUMBERS) and max(counts) - min(counts) <= 1


async def _is_live(connection: Connection, host: str) -> bool:
    row = "SELECT EXISTS (SELECT FROM sending_processes WHERE process ->> 'host' = $1 AND live_until > now())"
    return bool(await connection.fetchval(row, host))
