"""Ranges of owners that are gone: whoever looks first names their doubts and gives the ranges back."""

from collections.abc import Sequence
from contextlib import suppress

from engine.process.identity import ProcessIdentity, is_proven_dead
from engine.store.claims import release_ranges, take_over_ranges
from engine.store.database import Connection
from engine.store.leases import NumberHeld, release, take
from engine.store.queries import queries

# An owner that cannot be proven dead may only be slow: its number is left to those who want to send with it.
SILENT_S = 60.0


async def recover_abandoned(
    connection: Connection, owner: ProcessIdentity, ours: Sequence[str] = ()
) -> list[str]:
    """Take each number whose owner is dead or long silent, name its doubts, and give everything back.

    For the states of every campaign, ended ones included: a cancelled campaign whose sender was killed has
    doubts too. `ours`: numbers of the caller, left alone. Returns the numbers that were looked after.
    """
    recovered = []
    for row in await connection.fetch(queries("claims")["holders"], list(ours), SILENT_S):
        if row["long_gone"] or is_proven_dead(row["owner_process"]):
            with suppress(NumberHeld):
                lease = await take(connection, row["phone_number_id"], owner)
                await release_ranges(connection, lease, await take_over_ranges(connection, lease))
                await release(connection, lease)
                recovered.append(lease.phone_number_id)
    return recovered
