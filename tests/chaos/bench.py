"""The fault bench: campaigns through an installation, faults at planned moments, and checks after each."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from drumbeat.campaigns.life.control import start as start_campaign
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.engine.store.database import Connection, connect
from drumbeat.engine.store.in_doubt import resend, summarise_in_doubt
from tests.chaos import store
from tests.chaos.checks import Evidence, findings
from tests.chaos.installation import (
    DATABASE_AWAY,
    EVENT_MISSING_S,
    NUMBER,
    POLL_PERIOD_S,
    WATCHED,
    Installation,
    installed,
)
from tests.chaos.message import Message
from tests.chaos.operator import Operator
from tests.chaos.schedule import Plan
from tests.chaos.service import LANGUAGE, TEMPLATE
from tests.chaos.strikes import Striker

LATENCY_S_BAD = 0.25  # of the slowest share in bad weather
RESULTS_HIGH_MARK = 2_000
CLAIM_AHEAD_S = 0.25
RUN_S_MAX = 90.0
EVENTS_S_MAX = 45.0


@dataclass(slots=True)
class Report:
    """What one run showed. `broken`: promises that did not hold. `takeovers_s`: from an owner's loss.

    `ever_in_doubt`: attempts that were in doubt at any time. `twice`: recipients of two messages, by a declared resend.
    `pauses`: their reasons.
    """

    plan: Plan
    on_unknown: str = "hold"
    broken: list[str] = field(default_factory=list)
    recipients: int = 0
    accepted: int = 0
    unknown_max: int = 0
    unknown_bound: int = 0
    unknown_left: int = 0
    probably_not_sent: int = 0
    ever_in_doubt: int = 0
    resent: int = 0
    twice: int = 0
    pauses: list[str] = field(default_factory=list)
    takeovers_s: list[float] = field(default_factory=list)
    lasted_s: float = 0.0
    trace: str = ""


@dataclass(slots=True)
class _Progress:
    """What is noted during a run."""

    campaign_id: int
    name: str
    ledger_from: int
    recipients: int
    unknown_max: int = 0
    settled: bool = False


class Bench:
    """Made by `standing`. One campaign after the other runs through the same processes."""

    def __init__(self, installation: Installation) -> None:
        self.run_s_max = RUN_S_MAX
        self.stop = installation.stop
        self.home = installation.home
        self._installation = installation
        self._service = installation.service
        self._runs = 0
        self._phone = 5511900000000

    @property
    def unknown_bound(self) -> int:
        """The claim-ahead + in-flight requests + the results writer's high mark."""
        return int(self._installation.rate_per_s * (CLAIM_AHEAD_S + LATENCY_S_BAD)) + RESULTS_HIGH_MARK

    async def run(
        self, plan: Plan, recipients: int, *, on_unknown: str = "hold", events: bool = True
    ) -> Report:
        """One campaign under a plan of faults, judged when its events have come and when it is settled.

        `events` False: the service sends no event, so that all attempts in doubt after a crash can be counted.
        """
        began_s = time.monotonic()
        report = Report(plan, on_unknown, recipients=recipients, unknown_bound=self.unknown_bound)
        if self._installation.disk is not None:
            await asyncio.to_thread(self._installation.disk.narrow)
        await self._service.weather(plan.weather)
        await self._service.statuses(on=events)
        progress = await self._begin(recipients, on_unknown)
        operator = Operator(self._installation, progress.campaign_id, progress.name)
        beside = [asyncio.create_task(part) for part in (self._installation.supervise(), operator.watch())]
        striker = Striker(self._installation, operator, progress.ledger_from)
        striking = asyncio.create_task(striker.strike_all(plan))
        try:
            evidence = await self._until_judged(progress, striking, report, events)
            report.takeovers_s = _takeovers(evidence.ledger, striker.workers.owner_lost_at_s)
            if events and not report.broken and report.unknown_left:
                await self._settle(progress, report)
            report.broken += await self._installation.left_open()
        finally:
            for task in (striking, *beside):
                task.cancel()
            await asyncio.gather(striking, *beside, return_exceptions=True)
            self._installation.proxy.flow()
        report.broken += [
            *self._installation.unexpected,
            *operator.unexpected,
            *self._installation.complaints(),
        ]
        self._installation.unexpected = []
        report.pauses = operator.reasons
        report.lasted_s = time.monotonic() - began_s
        return report

    async def run_policy(self, plan: Plan, recipients: int, on_unknown: str) -> Report:
        """Like `run`, for a plan that leaves attempts in doubt early and no other fault: the campaign's policy must settle them."""
        report = await self.run(plan, recipients, on_unknown=on_unknown)
        if not report.ever_in_doubt:
            report.broken.append("nobody was in doubt: the plan shows nothing of a policy")
        elif on_unknown == "hold" and report.probably_not_sent != report.unknown_left + report.resent:
            report.broken.append(f"of {report.resent} in doubt {report.probably_not_sent} probably not sent")
        elif on_unknown != "hold" and report.unknown_left:
            report.broken.append(f"in doubt under the policy {on_unknown}: {report.unknown_left}")
        return report

    async def _begin(self, recipients: int, on_unknown: str) -> _Progress:
        self._runs += 1
        name = f"run {self._runs}"
        audience = self._installation.home / "audience.csv"
        lines = (f"+{self._phone + row},Ana,A-{row}\n" for row in range(recipients))
        audience.write_text("phone,name,order\n" + "".join(lines), "utf-8")
        self._phone += recipients
        spec = CampaignSpec(
            name=name, template=TEMPLATE, language=LANGUAGE, audience=audience, number=[NUMBER], param=["name", "order"], on_unknown=on_unknown,
            rejects=self._installation.home / "rejects.csv",
        )  # fmt: skip
        # A late event of the same second may say that the template is paused.
        if await self._installation.command("templates", "sync"):
            raise RuntimeError("the templates cannot be read")
        created = await create_campaign(self._installation.direct_url, spec)
        ledger_from = await self._service.ledger.length()
        connection = await self._installation.connect()
        await start_campaign(connection, name)
        await connection.close()
        return _Progress(created.campaign_id, name, ledger_from, recipients)

    async def _until_judged(
        self,
        progress: _Progress,
        striking: "asyncio.Task[None]",
        report: Report,
        events: bool,
    ) -> Evidence:
        while True:
            ended = await self._until_finished(
                progress, striking, resends=report.on_unknown == "resend-silent"
            )
            report.unknown_max = max(report.unknown_max, progress.unknown_max)
            if not ended:
                report.broken.append(f"the campaign did not end within {self.run_s_max:.0f} s")
            else:
                await striking
            evidence = await self._evidence(progress, report, events_dropped=not events)
            # A process that wakes up stores what it did not send, and the campaign continues. Its final end is judged.
            if report.broken or await self._is_finished(progress):
                break
        report.broken += findings(evidence)
        if report.broken:
            report.trace = await self._trace(progress)
        return evidence

    async def _is_finished(self, progress: _Progress) -> bool:
        connection = await connect(self._installation.direct_url)
        try:
            state, _, _ = await store.progress(connection, progress.campaign_id)
        finally:
            await connection.close()
        return bool(state == "finished")

    async def _until_finished(
        self, progress: _Progress, striking: "asyncio.Task[None]", *, resends: bool = False
    ) -> bool:
        """Wait for the end of a campaign; a late deferral may open it again, so faults must be over too.

        `resends`: its policy opens it again until no recipient is in doubt.
        """
        deadline_s = time.monotonic() + self.run_s_max
        connection: Connection | None = None
        while time.monotonic() < deadline_s:
            try:
                connection = connection or await connect(self._installation.direct_url)
                state, _, unknown = await store.progress(connection, progress.campaign_id)
                progress.unknown_max = max(progress.unknown_max, unknown)
                if state == "finished" and striking.done() and not (resends and unknown):
                    await connection.close()
                    return True
            except DATABASE_AWAY:
                connection = None
            await asyncio.sleep(POLL_PERIOD_S)
        return False

    async def _evidence(
        self,
        progress: _Progress,
        report: Report,
        *,
        events_dropped: bool,
    ) -> Evidence:
        events_dropped = events_dropped or report.plan.events_missing
        sent = await self._service.ledger.wait_for_events(EVENTS_S_MAX)
        connection = await self._installation.connect()
        try:
            applied = await self._until_applied(connection)
            ledger = await self._service.ledger.since(progress.ledger_from)
            states = await store.states(connection, progress.campaign_id)
            written = await store.written(connection, progress.campaign_id)
            range_counters = await store.range_counters(connection, progress.campaign_id)
            ever_in_doubt = await store.ever_in_doubt(connection, progress.campaign_id)
        finally:
            await connection.close()
        if not sent or not applied:
            report.broken.append(f"events did not flow: sent {sent}, applied {applied}")
        report.accepted = len(ledger)
        report.unknown_left = sum(recipient.state == "unknown" for recipient in states)
        report.ever_in_doubt = len(ever_in_doubt)
        report.twice = len(ledger) - len(
            {(tag.range_id, tag.seq) for tag in (message.read_tag for message in ledger)}
        )
        return Evidence(
            recipients=progress.recipients,
            ledger=ledger,
            states=states,
            wamids=frozenset(written),
            written_s={wamid: at_s for wamid, at_s in written.items() if at_s is not None},
            range_counters=range_counters,
            recount=store.recount(states),
            unknown_max=progress.unknown_max,
            unknown_bound=self.unknown_bound,
            limits_per_s={NUMBER: self._installation.rate_per_s},
            settled=progress.settled,
            resend_declared=report.on_unknown == "resend" or (progress.settled and events_dropped),
            events_dropped=events_dropped,
            failures_reported=report.plan.failures_reported,
            ever_in_doubt=ever_in_doubt,
        )

    async def _until_applied(self, connection: Connection) -> bool:
        deadline_s = time.monotonic() + EVENTS_S_MAX
        while time.monotonic() < deadline_s:
            if not await store.waiting_events(connection):
                return True
            await asyncio.sleep(POLL_PERIOD_S)
        return False

    async def _settle(self, progress: _Progress, report: Report) -> None:
        """Send again to all in doubt, as a person would. Without faults, so that no new attempt is in doubt."""
        await self._service.weather(())
        progress.settled = True
        done = asyncio.create_task(asyncio.sleep(0))
        while report.unknown_left and not report.broken:
            connection = await self._installation.connect()
            summary = await summarise_in_doubt(connection, progress.campaign_id, silence_s=EVENT_MISSING_S)
            report.probably_not_sent += summary.probably_not_sent
            report.resent += await resend(connection, progress.campaign_id, "the bench")
            await connection.close()
            if not await self._until_finished(progress, done):
                report.broken.append("the campaign did not end after settling")
                report.trace = await self._trace(progress)
                return
            evidence = await self._evidence(progress, report, events_dropped=False)
            report.broken += findings(evidence)

    async def _trace(self, progress: _Progress) -> str:
        connection = await self._installation.connect()
        found = await store.trace(connection, progress.campaign_id)
        await connection.close()
        words = (f"-- {name}\n{running.last_words}" for name, running in self._installation.processes.items())
        return "\n".join((found, *words))


def _takeovers(ledger: Sequence[Message], lost_at_s: Sequence[float]) -> list[float]:
    """For each owner that was lost while there was work: the time until its successor's first message."""
    found = []
    for at_s in lost_at_s:
        before = [message.read_tag.epoch for message in ledger if message.received_s <= at_s]
        after = [
            message
            for message in ledger
            if message.received_s > at_s and before and message.read_tag.epoch > before[-1]
        ]
        if after:
            found.append(after[0].received_s - at_s)
    return found


@asynccontextmanager
async def standing(
    rate_per_s: float = 1_000, *, worker_command: tuple[str, ...] = WATCHED, small_disk: bool = False
) -> AsyncIterator[Bench]:
    """A bench with an installation in its own directory; everything ends with the block.

    `small_disk`: for plans that fill the database's disk; `why_no_disk` says why there can be none.
    """
    async with installed(rate_per_s, worker_command, small_disk=small_disk) as installation:
        yield Bench(installation)
