"""The changes that were kept because their number was not known. They are read again once it is."""

from drumbeat.engine.core.events.origin import Ours
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.unsettled import AT_ONCE, forget_held, take_held
from drumbeat.engine.webhooks.body_group import BodyGroup, write


async def read_held(connection: Connection, product: str, accounts: Ours) -> int:
    """Read changes again whose number has become known, and return how many. `accounts` has no numbers."""
    await forget_held(connection)
    read = 0
    while read < AT_ONCE and await _read_next_held(connection, product, accounts):
        read += 1
    return read


async def _read_next_held(connection: Connection, product: str, accounts: Ours) -> bool:
    """Read one change in a transaction of its own: it keeps the lock of opt-outs for no other change."""
    async with connection.transaction():
        body = await take_held(connection)
        if body is None:
            return False
        group = BodyGroup(product, accounts)
        group.add(body)
        await write(connection, group)
    return True
