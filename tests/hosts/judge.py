"""Judges a campaign over several hosts by the emulator's ledger and the store, and settles who is in doubt."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from drumbeat.engine.store.in_doubt import resend
from tests.chaos import store
from tests.chaos.checks import Evidence, crowded, findings
from tests.chaos.message import Message
from tests.hosts.installation import Installation
from tests.hosts.owners import owners

LOOK_PERIOD_S = 0.05
FINISH_S_MAX = 240.0
EVENTS_S_MAX = 60.0
SETTLE_ROUNDS_MAX = 10


@dataclass(slots=True)
class Step:
    """What happened to a host. `even_s`: until the numbers were divided evenly among the hosts that are left.

    `takeovers_s`: for each number of the lost host, until another host's first message with it.
    """

    what: str
    hosts: int
    even_s: float
    takeovers_s: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Report:
    """What a trial showed. `broken`: promises that did not hold. `ever_in_doubt`: attempts in doubt at any time.

    `trace`: the seconds that hold too many messages, where a promise was broken.
    """

    recipients: int
    steps: list[Step] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    accepted: int = 0
    ever_in_doubt: int = 0
    resent: int = 0
    lasted_s: float = 0.0
    trace: list[str] = field(default_factory=list)


class Judge:
    """Of one campaign; adds to `report`. `limits_per_s`: of each number."""

    def __init__(
        self, installation: Installation, campaign_id: int, report: Report, limits_per_s: Mapping[str, float]
    ) -> None:
        self._installation = installation
        self._campaign_id = campaign_id
        self._report = report
        self._limits_per_s = dict(limits_per_s)

    async def judge(self) -> Sequence[Message]:
        """Wait for the end, settle who is in doubt, and judge before and after; returns the ledger."""
        report = self._report
        ledger: Sequence[Message] = ()
        for round_no in range(SETTLE_ROUNDS_MAX):
            if not await self._finished():
                report.broken.append("the campaign did not end")
                break
            evidence = await self._evidence(settled=round_no > 0)
            ledger = evidence.ledger
            report.broken += findings(evidence)
            report.trace += _crowded(evidence) if report.broken else []
            if report.broken or not await self._resend_unknown(evidence):
                break
        return ledger

    async def _finished(self) -> bool:
        connection = await self._installation.connect()
        deadline_s = time.monotonic() + FINISH_S_MAX
        state = ""
        while state != "finished" and time.monotonic() < deadline_s:
            state, _, _ = await store.progress(connection, self._campaign_id)
            await asyncio.sleep(LOOK_PERIOD_S)
        await connection.close()
        return state == "finished"

    async def _resend_unknown(self, evidence: Evidence) -> bool:
        """A person's word: send again to all who are in doubt once every event has come."""
        if not any(one.state == "unknown" for one in evidence.states):
            return False
        connection = await self._installation.connect()
        self._report.resent += await resend(connection, self._campaign_id, "the trial")
        await connection.close()
        return True

    async def _evidence(self, *, settled: bool) -> Evidence:
        service = self._installation.service
        connection = await self._installation.connect()
        if not await service.ledger.wait_for_events(EVENTS_S_MAX):
            self._report.broken.append("events did not flow")
        while await store.waiting_events(connection):
            await asyncio.sleep(LOOK_PERIOD_S)
        states = await store.states(connection, self._campaign_id)
        written = await store.written(connection, self._campaign_id)
        ever_in_doubt = await store.ever_in_doubt(connection, self._campaign_id)
        range_counters = await store.range_counters(connection, self._campaign_id)
        clocks = await owners(connection)
        await connection.close()
        ledger = await service.ledger.since(0)
        self._report.accepted, self._report.ever_in_doubt = len(ledger), len(ever_in_doubt)
        return Evidence(
            recipients=self._report.recipients,
            ledger=ledger,
            states=states,
            wamids=frozenset(written),
            written_s={wamid: at_s for wamid, at_s in written.items() if at_s is not None},
            range_counters=range_counters,
            recount=store.recount(states),
            limits_per_s=self._limits_per_s,
            clocks=clocks,
            settled=settled and not any(one.state == "unknown" for one in states),
            ever_in_doubt=ever_in_doubt,
        )


def _crowded(evidence: Evidence) -> list[str]:
    """Each second of a number above its limit: as it was written, by the service's clock, and as it was received."""
    return [
        f"{number}: {int(evidence.limits_per_s[number]) + 1} messages, written within"
        f" {last.latest_s - first.earliest_s:.4f} s, received within"
        f" {last.message.received_s - first.message.received_s:.4f} s,"
        f" epochs {(first.message.read_tag.epoch, last.message.read_tag.epoch)}"
        for number, seconds in crowded(evidence).items()
        for first, last in seconds
    ]
