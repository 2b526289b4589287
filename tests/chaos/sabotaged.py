"""The product with one protection removed: `python -m tests.chaos.sabotaged NAME drumbeat's arguments`.

Only for tests of the checks: a bench that finds nothing wrong here would find nothing anywhere. The product
has no switch for this.
"""

import re
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import asyncpg

import drumbeat.campaigns.cli.main
import drumbeat.engine.app
import drumbeat.engine.sending.claim_batcher
import drumbeat.engine.sending.claim_loop
import drumbeat.engine.sending.first_attempts
import drumbeat.engine.sending.number_ranges
import drumbeat.engine.sending.results_writer
import drumbeat.engine.sending.retries
import drumbeat.engine.store.recording
from drumbeat.engine.store.claims import Candidate, WatermarkAdvance
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.facts import Fact
from drumbeat.engine.store.leases import Lease
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.ranges import HeldRange
from drumbeat.engine.store.schema_version import migrations
from tests.chaos.watched import list_tasks_on_signal

LOCKED_FENCE = "AND (phone_number_id, epoch) IS NOT DISTINCT FROM (wanted.phone_number_id, wanted.epoch)"
IDEMPOTENT = "ON CONFLICT (range_id, seq, attempt_no) DO NOTHING"


def _replace(module: ModuleType, name: str, substitute: object) -> None:
    """The name must exist: a renamed protection must not look as if it were not needed."""
    assert hasattr(module, name), f"{module.__name__} has no {name}"
    setattr(module, name, substitute)


def watermark() -> None:
    """First attempts are sent without advancing the watermark."""

    async def advance_watermark(
        connection: Connection, lease: Lease, held: HeldRange, claimed_through: int, decided: Sequence[Fact]
    ) -> None:
        held.claimed_through = claimed_through

    async def advance_watermarks(
        connection: Connection, advances: Sequence[WatermarkAdvance]
    ) -> set[tuple[int, int]]:
        return {(advance.held.range_id, advance.lease.epoch) for advance in advances}

    _replace(drumbeat.engine.sending.first_attempts, "advance_watermark", advance_watermark)
    _replace(drumbeat.engine.sending.claim_batcher, "advance_watermarks", advance_watermarks)


def epoch() -> None:
    """No claim and no renewal compares the epoch."""
    for group in ("claims", "leases", "ranges", "retry_claims"):
        for name, text in queries(group).items():
            queries(group)[name] = re.sub(r"AND epoch = (\$\d)", r"AND \1::bigint > 0", text)
    raised = queries("claims")["advance_watermarks"]
    for fence, instead in (
        ("AND ranges.epoch = locked.epoch", ""),
        (LOCKED_FENCE, ""),
        ("RETURNING ranges.range_id, ranges.epoch", "RETURNING ranges.range_id, locked.epoch"),
    ):
        assert fence in raised
        raised = raised.replace(fence, instead)
    queries("claims")["advance_watermarks"] = raised
    renewed = queries("leases")["renew"]
    queries("leases")["renew"] = renewed.replace("AND numbers.epoch = held.epoch", "")


def retries() -> None:
    """Later attempts are sent without a claim."""

    async def claim_retries(
        connection: Connection, lease: Lease, wanted: Sequence[Candidate], decided: Sequence[Fact]
    ) -> dict[tuple[int, int], int]:
        return {(candidate.range_id, candidate.seq): candidate.attempt_no + 1 for candidate in wanted}

    _replace(drumbeat.engine.sending.retries, "claim_retries", claim_retries)


def permit() -> None:
    """A claim never expires."""
    _replace(drumbeat.engine.sending.claim_loop, "CLAIM_VALID_S", 1e6)


def stop() -> None:
    """Sending continues while outcomes cannot be stored; the search for finished ranges does not wait for locks."""
    release_idle_ranges = drumbeat.engine.sending.number_ranges.release_idle_ranges

    async def release_unless_locked(connection: Connection, *arguments: Any) -> set[int]:
        await connection.execute("SET lock_timeout = '50ms'")
        try:
            return await release_idle_ranges(connection, *arguments)
        except asyncpg.LockNotAvailableError:
            return set()
        finally:
            await connection.execute("RESET lock_timeout")

    _replace(drumbeat.engine.sending.number_ranges, "release_idle_ranges", release_unless_locked)
    drumbeat.engine.sending.results_writer.ResultsWriter.full = property(lambda _: False)  # type: ignore[assignment, method-assign]


def difference() -> None:
    """A batch is counted by its contents, not by what it changes."""

    async def recorded(connection: Connection, facts: Sequence[Fact]) -> set[Any]:
        return set()

    _record_all_looked_up()
    _replace(drumbeat.engine.store.recording, "_recorded", recorded)


def idempotence() -> None:
    """A batch whose COMMIT lost its answer is inserted again as a new one."""
    insert = queries("facts")["insert_outcomes"]
    assert IDEMPOTENT in insert
    queries("facts")["insert_outcomes"] = insert.replace(IDEMPOTENT, "")
    begin = "CREATE FUNCTION record_outcome_runs"
    end = "\n$$;"
    schema = next(migration.sql for migration in migrations() if begin in migration.sql)
    function = begin + schema.partition(begin)[2].partition(end)[0] + end
    blind, replaced = re.subn(
        r"recorded_runs := ARRAY\(.*?\);", "recorded_runs := '{}';", function, flags=re.DOTALL
    )
    assert replaced == 1
    blind = blind.replace("CREATE", "CREATE OR REPLACE", 1)
    real = drumbeat.engine.app.identify

    async def identify(connection: Connection) -> str:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(1)")
            await connection.execute(blind)
        return await real(connection)

    _replace(drumbeat.engine.app, "identify", identify)


def _record_all_looked_up() -> None:
    """Skip the database's function that looks up what is stored before it inserts."""

    async def record_outcome_runs(
        connection: Connection, outcomes: dict[tuple[int, int], Fact], attempts: Sequence[object]
    ) -> list[Fact]:
        return list(outcomes.values())

    _replace(drumbeat.engine.store.recording, "record_outcome_runs", record_outcome_runs)


SABOTAGES: dict[str, Callable[[], None]] = {
    sabotage.__name__: sabotage
    for sabotage in (watermark, epoch, retries, permit, stop, difference, idempotence)
}


def run() -> None:
    list_tasks_on_signal()
    SABOTAGES[sys.argv.pop(1)]()
    drumbeat.campaigns.cli.main.run()


if __name__ == "__main__":
    run()
