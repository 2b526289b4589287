"""The links from the recipients of a retry to those of the campaign that it retries."""

import asyncpg

from drumbeat.campaigns.sql import statements
from drumbeat.engine.errors import TryLater
from drumbeat.engine.store.database import Connection


async def link_retry(connection: Connection, campaign_id: int, retried: str, recipients: int) -> None:
    """Link each of the `recipients` of a retry to the earlier message. Without the link, the sender would not
    look at the result of that message before it sends the new one.

    Raise TryLater if another retry of the campaign `retried` has one of them: the database allows one at a
    time.
    """
    try:
        linked = await connection.fetchval(statements("plan")["link_retry"], campaign_id, retried)
    except asyncpg.UniqueViolationError as error:
        raise TryLater(
            f'another retry of "{retried}" was planned meanwhile, for some of the same people',
            remedy="repeat the command: it leaves them out",
        ) from error
    if linked != recipients:
        raise RuntimeError(f"{recipients} recipients retry {linked} of the campaign {retried}")
