"""The ownership of numbers: one owner at a time, fenced by an epoch that no other owner ever had.

All times are the database's. `engine.core.lease` says who may take a number over, and how long the new owner
waits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg

from drumbeat.engine.core.lease import FormerOwner
from drumbeat.engine.errors import ConfigurationError, TryLater
from drumbeat.engine.process.identity import ProcessIdentity, is_proven_dead
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.notifications import add_of_number
from drumbeat.engine.store.queries import queries

LEASE_S = 5.0  # with the next owner's wait of 3 s, a killed owner's number sends again within 10 s


@dataclass(frozen=True, slots=True)
class Lease:
    """A number that this process owns. `wait_s` is the time without sending after the number was taken."""

    phone_number_id: str
    epoch: int
    wait_s: float


@dataclass(frozen=True, slots=True)
class Renewal:
    """The stored state of an owned number. `rests`: it is stopped or suspended, and must not send.

    `outdated`: the number changed at the service, as an event said, and must be read again.
    """

    phone_number_id: str
    limit_per_s: float
    rests: bool
    suspended_reason: str | None
    outdated: bool = False


class NumberHeld(TryLater):
    """A number that another living owner has."""


async def take_lease(
    connection: Connection, phone_number_id: str, owner: ProcessIdentity, only_campaign: int | None = None
) -> Lease:
    """Take a number, for all campaigns or for a single one.

    Raises NumberHeld, which names the owner, or ConfigurationError if it is unknown.
    """
    sql = queries("leases")
    async with connection.transaction():
        row = await connection.fetchrow(sql["lock_number"], phone_number_id)
        if row is None:
            raise ConfigurationError(
                f"no number {phone_number_id} in the database", remedy="run `drumbeat numbers sync`"
            )
        former = _former_owner(row)
        if former.holds:
            raise NumberHeld(
                f"number {phone_number_id} is sending for {row['owner']}",
                remedy="stop it, or try again when it has ended",
            )
        epoch = await connection.fetchval(
            sql["take_over"],
            phone_number_id,
            owner.name,
            owner.stored(),
            LEASE_S,
            former.may_claim,
            only_campaign,
        )
    return Lease(phone_number_id, epoch, former.wait_s)


def _former_owner(row: asyncpg.Record) -> FormerOwner:
    fields = dict(row)
    process, _ = fields.pop("owner_process"), fields.pop("owner")
    return FormerOwner(dead=not fields["released"] and is_proven_dead(process), **fields)


async def begin_wait(connection: Connection, lease: Lease) -> None:
    """Begin the wait for the claims of former owners, if there is one: the ranges are fenced."""
    await connection.execute(
        queries("leases")["begin_wait"], lease.phone_number_id, lease.epoch, lease.wait_s
    )


async def renew_leases(
    connection: Connection,
    leases: Sequence[Lease],
    rates_per_s: Sequence[float],
    achieved_per_s: Sequence[float] = (),
    slowed: Sequence[bool] = (),
) -> list[Renewal]:
    """Renew all leases of a process. A number missing from the answer is lost and must stop at once.

    `rates_per_s` is what each number may send now, `achieved_per_s` what it sent lately, if measured.
    `slowed`: throttles keep it below its limit.
    """
    rows = await connection.fetch(
        queries("leases")["renew"],
        [lease.phone_number_id for lease in leases],
        [lease.epoch for lease in leases],
        LEASE_S,
        list(rates_per_s),
        list(achieved_per_s),
        list(slowed),
    )
    return [Renewal(**dict(row)) for row in rows]


async def release_lease(connection: Connection, lease: Lease) -> None:
    """Release a number. Call it only after its outcomes are stored and its ranges released."""
    await connection.execute(queries("leases")["release"], lease.phone_number_id, lease.epoch)


async def suspend(
    connection: Connection, phone_number_id: str, wait_s: float, reason: str, *, for_quota: bool = False
) -> None:
    """Let a number rest for `wait_s` seconds, whoever owns it.

    `for_quota`: a new messaging limit ends the rest.
    """
    await connection.execute(queries("leases")["suspend"], phone_number_id, wait_s, reason, for_quota)


async def stop(connection: Connection, phone_number_id: str, reason: str) -> None:
    """Let a number rest until a person resumes it, whoever owns it.

    A number that is stopped already stays so, with the new reason; people are notified only of the first
    stop.
    """
    async with connection.transaction():
        if await connection.fetchval(queries("leases")["stop"], phone_number_id, reason):
            await add_of_number(connection, phone_number_id, reason)
