"""The stops of campaigns, numbers and the account for which statuses ask as a refused reply would.

Law: a stop is stored in the transaction that applies the statuses, so a crash loses no stop. It is carried
out in a transaction of its own, which locks no range counters. A repeated status asks for nothing, and a stop
changes nothing that a person resumed after its last message was written.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import asyncpg

from drumbeat.engine.core.error_codes import QUIET_CODES
from drumbeat.engine.core.refusal_runs import RefusalRuns, Sender
from drumbeat.engine.core.states import CampaignEvent, ReasonCode
from drumbeat.engine.core.status_stops import Reported, StatusStop, stops_of
from drumbeat.engine.core.stops import AccountStop, CampaignPause, NumberRest
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.store.campaign_states import apply_if_allowed, pause_campaigns_of_template
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.number_rests import let_rest
from drumbeat.engine.store.queries import queries

_log = get_logger(__name__)


async def note_stops(connection: Connection, group_ids: Sequence[int], bounds: asyncpg.Record) -> int:
    """Store the stops that the statuses of a batch ask for, before they are applied. Return how many.

    The range counters of the batch are locked. `bounds` are the first and the last of its ranges.
    """
    sql = queries("status_stops")
    runs = await _read_runs(connection)
    before = dict(runs.lengths)
    rows = await connection.fetch(
        sql["reported"],
        group_ids,
        QUIET_CODES,
        bool(before),
        bounds["first_range_id"],
        bounds["last_range_id"],
    )
    stops = stops_of((Reported(*row) for row in rows), runs)
    if runs.lengths != before:
        await _store_runs(connection, runs)
    if stops:
        await connection.executemany(sql["add_stop"], [_stop_row(stop) for stop in stops])
    return len(stops)


async def _read_runs(connection: Connection) -> RefusalRuns:
    runs = RefusalRuns()
    for row in await connection.fetch(queries("status_stops")["runs"]):
        runs.lengths[Sender(row["campaign_id"], row["phone_number_id"])] = row["failures"]
    return runs


async def _store_runs(connection: Connection, runs: RefusalRuns) -> None:
    rows = [(*sender, length) for sender, length in runs.lengths.items()]
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    await connection.execute(queries("status_stops")["clear_runs"])
    await connection.execute(queries("status_stops")["add_runs"], *map(list, columns))


def _stop_row(asked: StatusStop) -> tuple[Any, ...]:
    """Return the columns of `add_stop`."""
    template = asked.template or (None, None)
    match asked.stop:
        case CampaignPause(campaign_id, reason, code):
            return asked.attempted_at, reason, code, campaign_id, *template, None, None
        case AccountStop(reason, code):
            return asked.attempted_at, reason, code, None, None, None, None, None
        case NumberRest(number, reason, wait_s):
            until = None if wait_s is None else asked.attempted_at + timedelta(seconds=wait_s)
            return asked.attempted_at, reason, None, None, None, None, number, until


async def carry_out_stops(connection: Connection) -> int:
    """Carry out every stored stop, one in each transaction. Return how many."""
    done = 0
    while await _carry_out_next(connection):
        done += 1
    return done


async def _carry_out_next(connection: Connection) -> bool:
    async with connection.transaction():
        row = await connection.fetchrow(queries("status_stops")["take_stop"])
        if row is None:
            return False
        if row["phone_number_id"] is not None:
            await _stop_number(connection, row)
        elif row["template_name"] is not None:
            await _pause_template(connection, row)
        else:
            await _pause_campaigns(connection, row)
    return True


async def _stop_number(connection: Connection, row: asyncpg.Record) -> None:
    number, rest_s = row["phone_number_id"], row["rest_s"]
    is_over = rest_s is not None and rest_s <= 0
    if is_over or not await connection.fetchval(
        queries("status_stops")["may_stop_number"], number, row["attempted_at"]
    ):
        return
    await let_rest(connection, NumberRest(number, row["reason"], rest_s))


async def _pause_template(connection: Connection, row: asyncpg.Record) -> None:
    name, language, reason = row["template_name"], row["template_language"], row["reason"]
    written_at: datetime = row["attempted_at"]
    paused = await pause_campaigns_of_template(connection, name, language, reason, written_at)
    if paused:
        _log.warning("template_stopped", template=name, language=language, campaigns=paused, reason=reason)


async def _pause_campaigns(connection: Connection, row: asyncpg.Record) -> None:
    """Pause the campaign of the stop, or every campaign if it names none."""
    reason, code = row["reason"], ReasonCode(row["reason_code"])
    campaigns = await connection.fetch(
        queries("status_stops")["campaigns_to_stop"], row["attempted_at"], row["campaign_id"]
    )
    for campaign in campaigns:
        campaign_id = campaign["campaign_id"]
        if await apply_if_allowed(connection, campaign_id, CampaignEvent.PAUSE, reason, code) is not None:
            _log.warning("campaign_paused", campaign=campaign["name"], campaign_id=campaign_id, reason=reason)
