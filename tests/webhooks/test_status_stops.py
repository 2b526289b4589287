"""Failed statuses stop campaigns, numbers and the account, once, and never what a person released since."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from drumbeat.campaigns.life.control import resume
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.refusal_runs import IN_A_ROW_MAX
from drumbeat.engine.core.tag import Tag
from drumbeat.engine.store import status_stops
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.recording import record
from drumbeat.engine.store.status_applier import apply_statuses
from drumbeat.engine.store.status_stops import carry_out_stops
from drumbeat.engine.webhooks import reconciler
from drumbeat.engine.webhooks.metrics import Metrics
from drumbeat.engine.webhooks.reconciler import Intervals, Reconciler
from tests.kit.planted import (
    FIRST_RANGE,
    NUMBER,
    installation,
    plant_campaign,
    put_in_inbox,
    range_counters,
    recount,
    state_of,
    status_event,
)
from tests.kit.waiting import until_reads

SENT, FAILED, DELIVERED = 2, 3, 4
LATER = datetime.now(UTC) + timedelta(hours=1)  # after every release of a test
BEFORE = datetime(2026, 1, 1, tzinfo=UTC)


async def plant(
    connection: Connection, *, recipients: int = 60, first_range: int = FIRST_RANGE, **others: str
) -> int:
    campaign = await plant_campaign(connection, recipients=recipients, first_range=first_range, **others)
    await connection.execute(
        "UPDATE campaigns SET planned_at = now(), recipients = $2 WHERE campaign_id = $1",
        campaign,
        recipients,
    )
    return campaign


async def accept(
    connection: Connection,
    campaign: int,
    seqs: Sequence[int],
    *,
    at: datetime = LATER,
    range_id: int = FIRST_RANGE,
) -> None:
    await record(
        connection,
        [
            Fact(
                campaign, range_id, seq, 1, 1, NUMBER, FactKind.ACCEPTED, f"wamid.{range_id}.{seq}",
                attempted_us=int(at.timestamp() * 1e6),
            )
            for seq in seqs
        ],
    )  # fmt: skip


async def report(
    connection: Connection,
    seqs: Sequence[int],
    code: int | None = None,
    rank: int = FAILED,
    *,
    range_id: int = FIRST_RANGE,
    tagged: bool = True,
) -> None:
    """Statuses of these recipients arrive, are applied, and what they ask for is done."""
    own = await installation(connection)
    await put_in_inbox(
        connection,
        *[
            status_event(
                f"wamid.{range_id}.{seq}",
                rank,
                Tag(own, range_id, seq, 1, 1) if tagged else None,
                code=code,
                detail="refused" if rank == FAILED else None,
            )
            for seq in seqs
        ],
    )
    await apply_statuses(connection)
    await carry_out_stops(connection)
    assert await range_counters(connection) == await recount(connection)


async def states(connection: Connection) -> list[tuple[str, str | None, str | None]]:
    rows = await connection.fetch("SELECT state, reason, reason_code FROM campaigns ORDER BY campaign_id")
    return [tuple(row) for row in rows]


RUNNING = ("running", "", None)


@pytest.mark.parametrize("tagged", [True, False])
@pytest.mark.parametrize(
    ("code", "reason_code"),
    [(131031, "account_refused"), (131042, "account_refused"), (10, "permission_missing")],
)
async def test_a_code_of_the_account_pauses_every_campaign_that_sends_or_will(
    connection: Connection, code: int, reason_code: str, tagged: bool
) -> None:
    campaign = await plant(connection)
    await plant(connection, first_range=FIRST_RANGE + 1)
    await plant(connection, first_range=FIRST_RANGE + 2, state="scheduled")
    await plant(connection, first_range=FIRST_RANGE + 3, state="finished")
    await accept(connection, campaign, range(1, 4))
    await report(connection, range(1, 4), code, tagged=tagged)
    paused = ("paused", f"refused ({code})", reason_code)
    assert await states(connection) == [paused] * 3 + [("finished", "", None)]
    assert await state_of(connection, 1) == "failed"
    assert await connection.fetchval("SELECT count(*) FROM status_stops") == 0


async def test_a_code_of_the_template_pauses_its_campaigns_and_no_others(connection: Connection) -> None:
    first, other = await plant(connection), await plant(connection, first_range=FIRST_RANGE + 1)
    await plant(connection, first_range=FIRST_RANGE + 2)
    await connection.execute(
        'UPDATE campaigns SET template = \'{"name": "news", "language": "de"}\' WHERE campaign_id = $1', other
    )
    await accept(connection, first, [1])
    await report(connection, [1], 132015)
    paused = ("paused", "refused (132015)", "template_refused")
    assert await states(connection) == [paused, RUNNING, paused]


async def test_failures_of_campaigns_that_ended_cost_no_further_batch(connection: Connection) -> None:
    """Each batch of statuses looks for failures while some are counted."""
    campaign = await plant(connection)
    await accept(connection, campaign, range(1, 6))
    await report(connection, range(1, 6), 131053)
    assert await connection.fetchval("SELECT count(*) FROM status_failure_runs") > 0
    await connection.execute("UPDATE campaigns SET state = 'finished', finished_at = now()")
    await report(connection, [6], rank=SENT)
    assert await connection.fetchval("SELECT count(*) FROM status_failure_runs") == 0


async def test_the_template_is_the_one_that_the_recipient_got(connection: Connection) -> None:
    first = await plant(connection)
    await plant(connection, first_range=FIRST_RANGE + 1)
    await connection.execute(
        'UPDATE campaigns SET template = template || \'{"others": [{"name": "offer", "language": "de"}]}\''
        " WHERE campaign_id = $1",
        first,
    )
    await connection.execute("UPDATE recipients SET template_index = 1 WHERE range_id = $1", FIRST_RANGE)
    await accept(connection, first, [1])
    await report(connection, [1], 132016)
    assert [state for state, _, _ in await states(connection)] == ["paused", "running"]


async def number_row(connection: Connection) -> tuple[bool, bool, str | None]:
    row = await connection.fetchrow(
        "SELECT stopped, coalesce(suspended_until > now(), false), suspended_reason FROM numbers"
    )
    assert row is not None
    return tuple(row)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (131045, (True, False, "refused (131045)")),
        (133010, (True, False, "refused (133010)")),
        (131048, (False, True, "refused (131048)")),
    ],
)
async def test_a_code_of_the_number_stops_it(
    connection: Connection, code: int, expected: tuple[bool, bool, str]
) -> None:
    campaign = await plant(connection)
    await accept(connection, campaign, [1, 2], at=datetime.now(UTC) + timedelta(seconds=1))
    await report(connection, [1, 2], code)
    assert await number_row(connection) == expected
    assert await states(connection) == [RUNNING]


@pytest.mark.parametrize("code", [131045, 131048])
async def test_a_number_that_a_person_resumed_goes_on(connection: Connection, code: int) -> None:
    campaign = await plant(connection)
    await accept(connection, campaign, range(1, 4), at=datetime.now(UTC) + timedelta(milliseconds=1))
    await asyncio.sleep(0.002)
    await report(connection, [1], code)
    await connection.execute(statements("numbers")["resume"], NUMBER)
    await report(connection, [2, 3], code)
    assert await number_row(connection) == (False, False, None)


async def test_a_rest_that_is_over_does_not_come_back(connection: Connection) -> None:
    """The service repeats events for up to seven days, and a rest for spam takes one."""
    campaign = await plant(connection)
    await connection.execute("UPDATE campaigns SET released_at = '-infinity'")
    await connection.execute("UPDATE numbers SET resumed_at = '-infinity'")
    await accept(connection, campaign, [1], at=datetime.now(UTC) - timedelta(hours=25))
    await report(connection, [1], 131048)
    assert await number_row(connection) == (False, False, None)


async def test_a_repeated_status_changes_nothing_after_a_person_resumed(connection: Connection) -> None:
    campaign = await plant(connection)
    await accept(connection, campaign, [1, 2], at=datetime.now(UTC) + timedelta(milliseconds=1))
    await asyncio.sleep(0.002)
    await report(connection, [1], 131031)
    name = await connection.fetchval("SELECT name FROM campaigns")
    await resume(connection, name)
    await report(connection, [1], 131031)  # a repetition
    await report(connection, [2], 131031)  # of a message that was written before the resume
    assert await states(connection) == [RUNNING]
    await accept(connection, campaign, [3], at=LATER)
    await report(connection, [3], 131031)
    assert (await states(connection))[0][0] == "paused", "the account is still locked"
    assert await state_of(connection, 2) == "failed"


async def test_a_campaign_that_was_started_later_goes_on(connection: Connection) -> None:
    """Its account was locked, and is not any more."""
    campaign = await plant(connection)
    await accept(connection, campaign, [1], at=LATER)
    await plant(connection, first_range=FIRST_RANGE + 1)
    await connection.execute("UPDATE campaigns SET released_at = $1 WHERE campaign_id <> $2", LATER, campaign)
    await report(connection, [1], 131031)
    assert [state for state, _, _ in await states(connection)] == ["paused", "running"]


async def test_failures_in_a_row_pause_the_campaign_over_batches_and_processes(
    connection: Connection,
) -> None:
    campaign = await plant(connection)
    await accept(connection, campaign, range(1, 60))
    await report(connection, range(1, IN_A_ROW_MAX), 131053)
    assert await states(connection) == [RUNNING]
    await report(connection, range(1, IN_A_ROW_MAX), 131053)  # repetitions count for nobody
    assert await states(connection) == [RUNNING]
    await report(connection, [40], 131053)
    ((state, reason, reason_code),) = await states(connection)
    assert (state, reason_code) == ("paused", "recipients_refused")
    assert reason == (
        f"{IN_A_ROW_MAX} recipients in a row were refused: refused (131053); check its type and size"
    )
    assert (
        await connection.fetchval("SELECT count(*) FROM status_failure_runs WHERE campaign_id IS NOT NULL")
        == 0
    )


async def test_a_message_that_reached_a_phone_ends_a_run(connection: Connection) -> None:
    campaign = await plant(connection)
    await accept(connection, campaign, range(1, 60))
    for first in (1, 21):
        await report(connection, range(first, first + IN_A_ROW_MAX - 1), 131053)
        await report(connection, [first + IN_A_ROW_MAX - 1], rank=SENT)
        await report(connection, [first + IN_A_ROW_MAX - 1], rank=DELIVERED)
    assert await states(connection) == [RUNNING]
    assert await connection.fetchval("SELECT count(*) FROM status_failure_runs") == 0


@pytest.mark.parametrize("code", [131026, 131049])
async def test_failures_of_recipients_stop_nothing(connection: Connection, code: int) -> None:
    campaign = await plant(connection)
    await accept(connection, campaign, range(1, 60))
    await report(connection, range(1, 60), code)
    assert await states(connection) == [RUNNING]
    assert await number_row(connection) == (False, False, None)


async def test_a_status_before_the_reply_is_stored_stops_too(connection: Connection) -> None:
    await plant(connection)
    await connection.execute("UPDATE campaigns SET released_at = '2026-06-30'")
    await report(connection, [1], 131031)
    assert (await states(connection))[0][0] == "paused"


async def test_a_pause_that_a_status_asked_for_is_told(connection: Connection) -> None:
    campaign = await plant(connection)
    await accept(connection, campaign, [1])
    await report(connection, [1], 131031)
    told = await connection.fetch("SELECT * FROM notifications")
    assert len(told) == 1


async def test_a_process_that_is_killed_between_loses_no_stop(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cut(_: Connection) -> int:
        raise ZeroDivisionError

    async with pool.acquire() as connection:
        campaign = await plant(connection)
        await accept(connection, campaign, [1])
        tag = Tag(await installation(connection), FIRST_RANGE, 1, 1, 1)
        await put_in_inbox(connection, status_event("w", FAILED, tag, code=131031))
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(reconciler, "carry_out_stops", cut)
        async with asyncio.timeout(15):
            await Reconciler(pool, Metrics(), asyncio.Event()).run(asyncio.Event())
    async with pool.acquire() as connection:
        await apply_statuses(connection)
        assert (await states(connection))[0][0] == "running"
    stop = asyncio.Event()
    often = Intervals(gather_s=0.0, apply_s=0.05, act_s=0.05, policy_s=0.05)
    running = asyncio.create_task(Reconciler(pool, Metrics(), asyncio.Event(), often).run(stop))
    await until_reads(pool, "SELECT state FROM campaigns", "paused")
    stop.set()
    await running


async def test_a_stop_that_fails_is_carried_out_again(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = await plant(connection)
    await accept(connection, campaign, [1])

    async def cut(*_: object) -> None:
        raise ConnectionResetError

    with monkeypatch.context() as patch, pytest.raises(ConnectionResetError):
        patch.setattr(status_stops, "apply_if_allowed", cut)
        await report(connection, [1], 131031)
    await carry_out_stops(connection)
    assert (await states(connection))[0][0] == "paused"
