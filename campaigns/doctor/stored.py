"""The checks of the database, and of what is stored in it."""

import time

from drumbeat.campaigns.account.tier_warnings import tier_warnings
from drumbeat.campaigns.doctor.finding import Finding, clock, ok, warn
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.disk_space import MIB
from drumbeat.engine.process.disk_space import free_bytes
from drumbeat.engine.process.settings import Settings
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.notifications import undelivered

BYTES_PER_RECIPIENT = 470  # with its outcome and events: `docs/operate/postgres.md`


async def check_database(pool: Pool) -> list[Finding]:
    """Check version, clock and durability of the migrated database, and what was synced into it."""
    row = await pool.fetchrow(statements("doctor")["database"])
    assert row is not None
    skew_s = abs(row["now"].timestamp() - time.time())
    return [
        ok("database", f"Postgres {row['version']}, migration {row['migration']:04}"),
        _durable(row["durable"]),
        clock("clock of the database", skew_s),
        _synced("numbers", row["numbers"]),
        _synced("templates", row["templates"]),
    ]


async def check_messaging_limits(pool: Pool) -> list[Finding]:
    """Warn of messaging limits that the service does not say in a word that is known."""
    remedy = "run `drumbeat numbers sync`; a newer version may know the word"
    return [warn("messaging limit", warning, remedy) for warning in await tier_warnings(pool)]


async def check_room(pool: Pool, settings: Settings) -> list[Finding]:
    """Check whether what is still to send fits on the disk, if the database is on this machine."""
    disk = settings.disk()
    if disk is None:
        return []
    recipients = await pool.fetchval(statements("doctor")["still_to_send"])
    return [room(free_bytes(disk.directory), recipients)]


def room(free: int, recipients: int) -> Finding:
    """Return whether the campaigns that have not ended fit into the free bytes."""
    needed = recipients * BYTES_PER_RECIPIENT
    found = (
        f"campaigns that have not ended take up to {needed // MIB:,} MiB, and {free // MIB:,} MiB are free"
    )
    if needed <= free:
        return ok("room", found)
    return warn("room", found, "run `drumbeat db prune`, or move the database to a larger disk")


async def check_deliveries(pool: Pool) -> list[Finding]:
    """Warn of notifications that could not be delivered in the last week."""
    return [
        warn(
            f"notifications by {each.channel}",
            f"{each.waiting} wait for another attempt and {each.given_up} were given up: {each.problem}",
            "`drumbeat notify test` shows whether it works now",
        )
        for each in await undelivered(pool)
    ]


def _durable(durable: bool) -> Finding:
    if durable:
        return ok("durability of the database", "fsync and full_page_writes are on")
    remedy = "set fsync and full_page_writes to on, or people may get a message twice after a crash"
    return warn("durability of the database", "a crash of its machine may lose committed data", remedy)


def _synced(subject: str, count: int) -> Finding:
    if count:
        return ok(subject, f"{count} stored")
    return warn(subject, "none stored", f"run `drumbeat {subject} sync`")
