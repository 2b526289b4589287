"""The workers that send now. Each notes every second that it lives, and reads which others live and own
numbers.

All times are the database's, so the clock of a worker's host does not matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg
import orjson

from drumbeat.engine.core.fair_share import SharedNumber
from drumbeat.engine.core.tail import IdleNumber
from drumbeat.engine.process.identity import ProcessIdentity, is_proven_dead
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.leases import LEASE_S
from drumbeat.engine.store.queries import queries


@dataclass(frozen=True, slots=True)
class SharingView:
    """The live workers with the numbers they want, the numbers they divide, and the idle ones of others."""

    wanted: dict[str, frozenset[str]]
    numbers: list[SharedNumber]
    idle_elsewhere: list[IdleNumber]


async def remove_dead_processes(connection: Connection) -> None:
    await connection.execute(queries("sending_processes")["remove_dead"])


async def note_live(
    connection: Connection, process: ProcessIdentity, wanted: Sequence[str], idle: Sequence[str]
) -> None:
    """Note that this worker lives, for as long as a lease lasts."""
    await connection.execute(
        queries("sending_processes")["note"], process.stored(), list(wanted), list(idle), LEASE_S
    )


async def note_end(connection: Connection, processes: Sequence[dict[str, Any]]) -> None:
    """Note that these workers, as they are stored, take no more numbers."""
    await connection.execute(queries("sending_processes")["end"], list(processes))


async def read_sharing(connection: Connection, process: ProcessIdentity) -> SharingView:
    """Return what `process` needs to know to divide the numbers fairly.

    The numbers are read before the workers. A worker that stops in between then has numbers and no row, and
    they are planned for others. In the other order it would have a row and no numbers, and would get some.
    """
    numbers = await connection.fetch(queries("sending_processes")["numbers"])
    workers = await _live(connection)
    wanted = {process_key(row["process"]): frozenset(row["wanted"]) for row in workers}
    idle = {number for row in workers if row["process"] != process.stored() for number in row["idle"]}
    rates_per_s = {row["phone_number_id"]: row["rate_per_s"] for row in numbers}
    return SharingView(
        wanted,
        [shared for row in numbers if (shared := _shared_number(row, wanted)) is not None],
        [IdleNumber(number, rates_per_s[number]) for number in sorted(idle & rates_per_s.keys())],
    )


async def _live(connection: Connection) -> list[asyncpg.Record]:
    """Return the live workers. A process that proves a death notes it for workers on other machines."""
    rows = await connection.fetch(queries("sending_processes")["live"], None)
    dead = [row["process"] for row in rows if is_proven_dead(row["process"])]
    if dead:
        await note_end(connection, dead)
    return [row for row in rows if row["process"] not in dead]


def _shared_number(row: asyncpg.Record, wanted: dict[str, frozenset[str]]) -> SharedNumber | None:
    """Return the number as the workers divide it; None if another process, as a `campaign run`, has it."""
    free = row["free"] or is_proven_dead(row["owner_process"])
    if not (free or row["shared"]):
        return None
    owner = None if free else process_key(row["owner_process"])
    return SharedNumber(row["phone_number_id"], row["limit_per_s"], owner if owner in wanted else None, free)


def process_key(stored: dict[str, Any]) -> str:
    """Return a key for a process as it is stored: the same in every worker."""
    return orjson.dumps(stored, option=orjson.OPT_SORT_KEYS).decode()


async def live_workers(connection: Connection, phone_number_ids: Sequence[str] | None = None) -> list[str]:
    """Return the names of the live workers that want one of these numbers, or of all live workers."""
    wanted = None if phone_number_ids is None else list(phone_number_ids)
    rows = await connection.fetch(queries("sending_processes")["live"], wanted)
    return [ProcessIdentity(**row["process"]).name for row in rows if not is_proven_dead(row["process"])]
