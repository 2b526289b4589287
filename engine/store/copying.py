"""The copy of text into a table by COPY. It ends when the connection ends.

The driver has no time-out while it waits for the server to take more. If the connection is lost meanwhile, as
after the crash of a server whose disk is full, nothing else would end that wait.
"""

import asyncio
from collections.abc import AsyncIterable, Sequence

import asyncpg

from drumbeat.engine.store.database import Connection


async def copy_text(
    connection: Connection, table: str, rows: AsyncIterable[bytes], columns: Sequence[str] | None = None
) -> None:
    """Copy rows in Postgres' text format. If the connection is lost, it raises what a statement would."""
    copying = asyncio.ensure_future(
        connection.copy_to_table(table, source=rows, columns=columns, format="text")
    )
    lost = False

    def end(_: Connection) -> None:
        nonlocal lost
        lost = copying.cancel()

    connection.add_termination_listener(end)
    try:
        await copying
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if lost and task is not None and not task.cancelling():
            raise asyncpg.ConnectionDoesNotExistError("connection was lost in the middle of a COPY") from None
        raise
    finally:
        connection.remove_termination_listener(end)
