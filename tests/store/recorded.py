"""A range that is being sent, for tests of what is recorded about its attempts."""

from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.leases import Lease
from drumbeat.engine.store.ranges import HeldRange
from drumbeat.engine.store.recording import record
from drumbeat.engine.store.retry_claims import claim_retries, due_retries
from tests.sending.planted import (
    SLOW,
    assert_range_counters_hold,
)


class Sending:
    """Ten recipients of one range, the first eight of them claimed."""

    def __init__(self, connection: Connection, lease: Lease, held: HeldRange) -> None:
        self.connection = connection
        self.lease = lease
        self.held = held

    def fact(self, seq: int, kind: FactKind, attempt_no: int = 1, **others: object) -> Fact:
        fields = {"reason": None if kind is FactKind.ACCEPTED else kind.value, **others}
        if kind is FactKind.ACCEPTED:
            fields.setdefault("wamid", f"wamid.{seq}.{attempt_no}")
        return Fact(
            self.held.campaign_id, self.held.range_id, seq, attempt_no, self.lease.epoch, SLOW, kind, **fields
        )  # type: ignore[arg-type]  # fmt: skip

    async def record(self, *facts: Fact) -> None:
        await record(self.connection, facts)
        await assert_range_counters_hold(self.connection)

    async def retry(self, seq: int) -> None:
        """The next attempt of a deferred recipient is claimed."""
        due = await due_retries(self.connection, [self.held], 100)
        await claim_retries(
            self.connection, self.lease, [candidate for candidate in due if candidate.seq == seq], []
        )

    async def state(self, seq: int) -> str:
        found: str = await self.connection.fetchval("SELECT state FROM recipient_states WHERE seq = $1", seq)
        return found

    async def pending_attempts(self) -> list[tuple[object, ...]]:
        rows = await self.connection.fetch("SELECT seq, attempt_no, state FROM pending_attempts ORDER BY seq")
        return [tuple(row) for row in rows]
