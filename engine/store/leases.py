"""Owning numbers: one owner at a time, fenced by an epoch that no other start ever had.

Law: time is the database's. Taking over needs the lease to have run out, or the former owner's clean
release, or proof that its process is dead. A claim is a permit of two seconds, so a new owner waits that
long, plus the pace's second, before its first write; after a clean release or a proven death only the second
remains. An owner that ends inside its own wait leaves the rest of it to the next one, and one that ends
before it stamped its ranges leaves all of it: until then the former owner may still claim.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.core.bucket import LIMIT_PER_S_MAX
from engine.errors import ConfigurationError, TryLater
from engine.process import ProcessIdentity, is_proven_dead
from engine.store.database import Connection
from engine.store.queries import queries

LEASE_S = 5.0  # with the 3 s below, a killed owner's number sends again within 10 s
PERMIT_S = 2.0
PACE_WINDOW_S = 1.0


@dataclass(frozen=True, slots=True)
class Lease:
    """A number that this process owns. `wait_s`: no write before, counted from the taking-over."""

    phone_number_id: str
    epoch: int
    wait_s: float


@dataclass(frozen=True, slots=True)
class Renewal:
    """What the database says of an owned number. `suspended_s` is None or <= 0 when it may send.

    `outdated`: an event said that the number changed at the service, so it is to be read again.
    """

    phone_number_id: str
    limit_per_s: float
    suspended_s: float | None
    suspended_reason: str | None
    outdated: bool = False


class NumberHeld(TryLater):
    """Another living owner has the number."""


async def take(connection: Connection, phone_number_id: str, owner: ProcessIdentity) -> Lease:
    """Take a number; NumberHeld names its owner, ConfigurationError an unknown number."""
    sql = queries("leases")
    async with connection.transaction():
        row = await connection.fetchrow(sql["lock_number"], phone_number_id)
        if row is None:
            raise ConfigurationError(
                f"no number {phone_number_id} in the database", remedy="run `drumbeat numbers sync`"
            )
        dead = not row["released"] and is_proven_dead(row["owner_process"])
        if row["lease_runs"] and not row["released"] and not dead:
            raise NumberHeld(
                f"number {phone_number_id} is sending for {row['owner']}",
                remedy="stop it, or try again when it has ended",
            )
        proven = row["released"] or dead or row["epoch"] == 0
        epoch = await connection.fetchval(
            sql["take_over"], phone_number_id, owner.name, owner.stored(), LEASE_S, not proven
        )
    quiet_s = PERMIT_S + PACE_WINDOW_S if row["unstamped"] else row["quiet_s"]
    wait_s = _wait_s(row["released"], dead, row["past_lease_s"], row["epoch"])
    return Lease(phone_number_id, epoch, max(quiet_s, wait_s))


async def begin_wait(connection: Connection, lease: Lease) -> None:
    """The ranges are stamped and no former owner claims: the wait for its permits, if any, begins now."""
    await connection.execute(
        queries("leases")["begin_wait"], lease.phone_number_id, lease.epoch, lease.wait_s
    )


async def takeable(connection: Connection, phone_number_ids: Sequence[str]) -> list[str]:
    """Which of these numbers `take` would probably give now; one statement, so it may be asked often."""
    rows = await connection.fetch(queries("leases")["owners"], list(phone_number_ids))
    return [row["phone_number_id"] for row in rows if row["free"] or is_proven_dead(row["owner_process"])]


def _wait_s(released: bool, dead: bool, past_lease_s: float | None, former_epoch: int) -> float:
    """The wait for the former owner alone; `past_lease_s` tells when it gave the number back."""
    if former_epoch == 0:
        return 0.0
    if released:
        return max(0.0, PACE_WINDOW_S - (past_lease_s or 0.0))
    return PACE_WINDOW_S if dead else PERMIT_S + PACE_WINDOW_S


async def renew(
    connection: Connection, leases: Sequence[Lease], rates_per_s: Sequence[float]
) -> list[Renewal]:
    """Renew all leases of a process; a number missing from the answer is lost and must stop at once."""
    rows = await connection.fetch(
        queries("leases")["renew"],
        [lease.phone_number_id for lease in leases],
        [lease.epoch for lease in leases],
        LEASE_S,
        list(rates_per_s),
    )
    return [Renewal(**{**dict(row), "limit_per_s": min(row["limit_per_s"], LIMIT_PER_S_MAX)}) for row in rows]


async def release(connection: Connection, lease: Lease) -> None:
    """Give a number back: only after its outcomes are stored and its ranges released."""
    await connection.execute(queries("leases")["release"], lease.phone_number_id, lease.epoch)


async def suspend(connection: Connection, phone_number_id: str, wait_s: float, reason: str) -> None:
    """Rest a number for `wait_s` seconds, whoever owns it."""
    await connection.execute(queries("leases")["suspend"], phone_number_id, wait_s, reason)
