"""The ranges of gone owners: the first process that looks puts their claims in doubt and frees them."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress

from drumbeat.engine.process.identity import ProcessIdentity, is_proven_dead
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.leases import NumberHeld, release_lease, take_lease
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.ranges import release_ranges, take_over_ranges

# An owner that is not proven dead may only be slow. Until then, only senders of its number take it over.
UNRENEWED_S = 60.0


async def recover_abandoned_numbers(
    connection: Connection,
    owner: ProcessIdentity,
    ours: Sequence[str] = (),
    contained: Callable[[str], AbstractContextManager[object]] = nullcontext,
) -> list[str]:
    """Take each number whose owner is dead or long gone, put its claims in doubt, and release all of it.

    It does so for campaigns in every state: a cancelled campaign whose sender was killed has recipients in
    doubt too. `ours` are numbers of the caller, which are left alone. `contained` handles the failure of one
    number. Returns the recovered numbers.
    """
    recovered = []
    for row in await connection.fetch(queries("ranges")["owners_of_ranges"], list(ours), UNRENEWED_S):
        if row["long_gone"] or is_proven_dead(row["owner_process"]):
            with suppress(NumberHeld), contained(row["phone_number_id"]):
                lease = await take_lease(connection, row["phone_number_id"], owner)
                await release_ranges(connection, lease, await take_over_ranges(connection, lease))
                await release_lease(connection, lease)
                recovered.append(lease.phone_number_id)
    return recovered
