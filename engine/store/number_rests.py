"""The rests of numbers, stored and logged, whoever owns the number or found out that it must rest."""

from datetime import UTC, datetime, timedelta

from drumbeat.engine.core.stops import NumberRest
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.leases import stop, suspend

log = get_logger(__name__)


async def let_rest(connection: Connection, rest: NumberRest) -> None:
    """Stop the number until a person resumes it, or let it rest for its time."""
    number, reason = rest.phone_number_id, rest.reason
    if rest.wait_s is None:
        log.warning("number_stopped", number=number, until="a person resumes", reason=reason)
        await stop(connection, number, reason)
    else:
        log.warning("number_suspended", number=number, until=_moment_in(rest.wait_s), reason=reason)
        await suspend(connection, number, rest.wait_s, reason, for_quota=rest.for_quota)


def _moment_in(wait_s: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=wait_s)).isoformat(timespec="seconds")
