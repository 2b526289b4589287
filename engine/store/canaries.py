"""The canary, the error budget and the reachable share of a campaign, as stored.

Law: while a canary has not passed, `take_range` gives out only its ranges, to every process. So no process
has to count, and a kill loses no count.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from drumbeat.engine.core.canary import CanaryCounts, CanaryVerdict, judge
from drumbeat.engine.core.old_list import UNDELIVERABLE, UNDELIVERABLE_MIN, ListHealth
from drumbeat.engine.core.states import ReasonCode
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.queries import queries

FAILURES_SAMPLED = 1_000  # of a campaign's list: enough to tell a third from a tenth
# The reasons of pauses that the canary makes. If a person lifts one, the rest is sent.
CANARY_PAUSES = frozenset({ReasonCode.CANARY_FAILED, ReasonCode.CANARY_SILENT, ReasonCode.APPROVAL_NEEDED})


@dataclass(frozen=True, slots=True)
class StoredCanary:
    """A canary at one moment. `sent_at` None: it is still being sent; `passed_at` None: the rest waits."""

    counts: CanaryCounts
    max_failed: str
    needs_approval: bool
    wait_s: float
    waited_s: float
    sent_at: datetime | None
    approved_at: datetime | None
    passed_at: datetime | None

    @property
    def verdict(self) -> CanaryVerdict:
        return judge(self.counts, self.max_failed, self.waited_s, self.wait_s)

    @property
    def state(self) -> str:
        """Return the state for people and programs: the verdict, until the canary has passed."""
        return "passed" if self.passed_at is not None else self.verdict.value

    @property
    def lacks_approval(self) -> bool:
        return self.needs_approval and self.approved_at is None


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """An error budget. `failed` does not count recipients whose failure a person accepted by a resume."""

    pause_at_failed: str
    failed: int
    recipients: int


async def read_canary(database: Pool | Connection, campaign_id: int) -> StoredCanary | None:
    """Return the canary of a campaign; None if it has none."""
    row = await database.fetchrow(queries("canary")["read"], campaign_id)
    if row is None:
        return None
    fields = dict(row)
    counts = CanaryCounts(**{name: int(fields.pop(name)) for name in CanaryCounts.__slots__})
    return StoredCanary(counts, **fields)


async def read_budget(connection: Connection, campaign_id: int) -> ErrorBudget | None:
    """Return the error budget of a campaign; None if it has none. The read takes 1 µs for each range."""
    row = await connection.fetchrow(queries("canary")["budget"], campaign_id)
    return None if row is None else ErrorBudget(row["pause_at_failed"], row["failed"], row["recipients"])


async def read_list_health(connection: Connection, campaign_id: int) -> ListHealth | None:
    """Return how many recipients are not on the network. None if too few failed to say so, or if a person
    accepted the failures. The read takes 1 µs for each range.
    """
    row = await connection.fetchrow(
        queries("canary")["list_health"], campaign_id, FAILURES_SAMPLED, UNDELIVERABLE, UNDELIVERABLE_MIN
    )
    return None if row is None else ListHealth(**row)


async def note_sent(connection: Connection, campaign_id: int) -> None:
    """Note that every recipient of the canary was attempted. The wait for statuses begins, once."""
    await connection.execute(queries("canary")["note_sent"], campaign_id)


async def approve_canary(connection: Connection, campaign_id: int) -> None:
    await connection.execute(queries("canary")["approve"], campaign_id)


async def pass_canary(connection: Connection, campaign_id: int) -> None:
    """Let numbers take every range of the campaign from now on."""
    await connection.execute(queries("canary")["pass"], campaign_id)


async def accept_pause(connection: Connection, campaign_id: int, code: ReasonCode | None) -> None:
    """Note that a person lifts a pause with this reason, and accepts its cause.

    After a canary that paused the campaign, the rest is sent. An error budget begins anew, or it would pause
    the campaign again at once.
    """
    if code in CANARY_PAUSES:
        await pass_canary(connection, campaign_id)
    elif code in (ReasonCode.FAILURES_EXCEEDED, ReasonCode.LIST_LOOKS_OLD):
        await connection.execute(queries("canary")["excuse_failures"], campaign_id)
