"""An event without a tag settles a doubt by number and recipient: only where it can be about nothing else."""

import asyncio
from typing import Any

import pytest

from engine.process.identity import this_process
from engine.store.database import Connection, Pool
from engine.store.facts import Fact, FactKind
from engine.store.in_doubt import resend
from engine.store.leases import take_lease
from engine.store.ranges import take_over_ranges
from engine.store.recording import record
from engine.webhooks import status_applier as folder
from engine.webhooks.status_applier import apply_statuses
from tests.store.test_apply_statuses import READ, SENT, accepted, fold_all
from tests.webhooks.planted import (
    FIRST_RANGE,
    NOON,
    NUMBER,
    doubt,
    make_all_due,
    microseconds,
    plant_campaign,
    put_in_inbox,
    range_counters,
    recount,
    state_of,
    status_event,
)

PHONE = 5511912345678


async def plant_pair(connection: Connection, **others: object) -> int:
    """A campaign whose first recipient is PHONE."""
    return await plant_campaign(connection, first_phone=PHONE - 1, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize("spelled", [PHONE, 551112345678, 551192345678])
async def test_a_sole_doubt_is_settled_by_number_and_recipient(connection: Connection, spelled: int) -> None:
    await plant_campaign(connection, first_phone=5511992345678 - 1)
    await doubt(connection, FIRST_RANGE, 1)
    await put_in_inbox(connection, status_event("wamid.p", SENT, recipient=str(spelled)))
    await fold_all(connection)
    matches = spelled == 551192345678
    assert await state_of(connection, 1) == ("sent" if matches else "unknown")


OTHER_RANGE = FIRST_RANGE + 50


async def test_two_doubts_of_a_pair_settle_nothing(connection: Connection) -> None:
    await plant_pair(connection)
    await plant_pair(connection, first_range=OTHER_RANGE)
    await doubt(connection, FIRST_RANGE, 1)
    await doubt(connection, OTHER_RANGE, 1)
    await put_in_inbox(connection, status_event("wamid.p", SENT, recipient=str(PHONE)))
    assert (await fold_all(connection)).returned == 1


async def test_a_doubt_that_is_to_be_sent_again_keeps_another_from_being_the_only_one(
    connection: Connection,
) -> None:
    """The event may be about its first attempt, which nobody has a reply of."""
    await plant_pair(connection)
    other = await plant_pair(connection, first_range=OTHER_RANGE)
    await doubt(connection, FIRST_RANGE, 1)
    await doubt(connection, OTHER_RANGE, 1)
    assert await resend(connection, other, "ana") == 1
    await put_in_inbox(connection, status_event("wamid.p", SENT, recipient=str(PHONE)))
    assert (await fold_all(connection)).returned == 1
    assert await state_of(connection, 1) == "unknown"


async def test_an_attempt_of_the_pair_under_way_settles_nothing_until_it_is_recorded(
    connection: Connection,
) -> None:
    await plant_pair(connection)
    other = await plant_pair(connection, first_range=OTHER_RANGE)
    await doubt(connection, FIRST_RANGE, 1)
    await put_in_inbox(connection, status_event("wamid.p", SENT, recipient=str(PHONE)))
    assert (await fold_all(connection)).returned == 1
    fact = Fact(
        other,
        OTHER_RANGE,
        1,
        1,
        1,
        NUMBER,
        FactKind.ACCEPTED,
        "wamid.other",
        attempted_us=int(NOON.timestamp() * 1e6),
    )
    await record(connection, [fact])
    await make_all_due(connection)
    assert (await fold_all(connection)).matched == 1
    assert await state_of(connection, 1) == "sent"
    assert await state_of(connection, 1, OTHER_RANGE) == "accepted"


async def test_a_later_try_of_the_pair_under_way_settles_nothing(connection: Connection) -> None:
    await plant_pair(connection)
    await plant_pair(connection, first_range=OTHER_RANGE)
    await doubt(connection, FIRST_RANGE, 1)
    await doubt(connection, OTHER_RANGE, 1)
    await connection.execute(
        "UPDATE pending_attempts SET state = 'claimed', attempt_no = 2 WHERE range_id = $1", OTHER_RANGE
    )
    await put_in_inbox(connection, status_event("wamid.p", SENT, recipient=str(PHONE)))
    assert (await apply_statuses(connection)).returned == 1
    assert await state_of(connection, 1) == "unknown"


@pytest.mark.parametrize("fate", ["deferred", "refused", "pending", "skipped"])
async def test_who_got_nothing_in_another_campaign_keeps_no_doubt_open(
    connection: Connection, fate: str
) -> None:
    await plant_pair(connection)
    other = await plant_pair(
        connection, first_range=OTHER_RANGE, claimed_through=0 if fate == "pending" else None
    )
    await doubt(connection, FIRST_RANGE, 1)
    kinds = {"deferred": FactKind.DEFERRED, "refused": FactKind.FAILED}
    if fate in kinds:
        await record(connection, [Fact(other, OTHER_RANGE, 1, 1, 1, NUMBER, kinds[fate], reason="throttled")])
    elif fate == "skipped":
        await connection.execute(
            "UPDATE recipients SET skip_reason = 'suppressed' WHERE range_id = $1", OTHER_RANGE
        )
    await put_in_inbox(connection, status_event("wamid.p", SENT, recipient=str(PHONE)))
    assert (await apply_statuses(connection)).matched == 1
    assert await state_of(connection, 1) == "sent"


async def test_what_another_number_sent_to_that_person_is_another_message(connection: Connection) -> None:
    await plant_pair(connection)
    await doubt(connection, FIRST_RANGE, 1)
    await put_in_inbox(
        connection,
        status_event("wamid.p", SENT, recipient=str(PHONE)),
        status_event("wamid.q", READ, recipient=str(PHONE), phone_number_id="another"),
    )
    folded = await fold_all(connection)
    assert (folded.matched, folded.returned) == (1, 1)
    assert await state_of(connection, 1) == "sent"


async def test_two_messages_to_a_pair_settle_nothing(connection: Connection) -> None:
    """One of them is another program's, and nobody knows which."""
    await plant_pair(connection)
    await doubt(connection, FIRST_RANGE, 1)
    events = [status_event(wamid, SENT, recipient=str(PHONE)) for wamid in ("wamid.p", "wamid.q")]
    await put_in_inbox(connection, *events)
    assert (await fold_all(connection)).returned == 2
    assert await state_of(connection, 1) == "unknown"


@pytest.mark.parametrize("came", [True, False])
async def test_what_another_program_sent_to_a_pair_is_another_message(
    connection: Connection, came: bool
) -> None:
    """It settles no doubt, and hides no event that does."""
    await plant_pair(connection)
    await doubt(connection, FIRST_RANGE, 1)
    foreign = status_event("wamid.q", READ, recipient=str(PHONE), installation="")
    own = status_event("wamid.p", SENT, recipient=str(PHONE))
    await put_in_inbox(connection, foreign, *[own] * came)
    assert (await fold_all(connection)).returned == 1
    assert await state_of(connection, 1) == ("sent" if came else "unknown")


async def waits_for_a_lock(pool: Pool, process: int) -> None:
    async with pool.acquire() as looking, asyncio.timeout(30):
        while not await looking.fetchval("SELECT cardinality(pg_blocking_pids($1)) > 0", process):
            await asyncio.sleep(0.01)


async def test_a_reply_that_comes_between_leaves_another_message_unmatched(pool: Pool) -> None:
    """The doubt was the only candidate when it was looked up; its lock was given after its reply was stored."""
    async with pool.acquire() as first, pool.acquire() as second:
        campaign = await plant_pair(first)
        await doubt(first, FIRST_RANGE, 1)
        await put_in_inbox(first, status_event("wamid.another", READ, recipient=str(PHONE)))
        async with first.transaction():
            await record(first, [accepted(1, campaign)])
            folding = asyncio.create_task(apply_statuses(second))
            await waits_for_a_lock(pool, second.get_server_pid())
        assert (await folding).returned == 1
        assert await state_of(first, 1) == "accepted"
        assert await range_counters(first) == await recount(first)


async def test_a_reply_that_comes_between_two_looks_is_no_other_message(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event found no wamid yet; when it is asked whose it may be, the reply of another campaign has brought it."""
    async with pool.acquire() as first, pool.acquire() as second:
        await plant_pair(first)
        other = await plant_pair(first, first_range=OTHER_RANGE)
        await doubt(first, FIRST_RANGE, 1)
        await put_in_inbox(first, status_event("wamid.p", SENT, recipient=str(PHONE)))
        matched = folder._match

        async def match(connection: Connection) -> None:
            """As it is, but for the reply between its statements."""

            class Between:
                execute = staticmethod(connection.execute)

                @staticmethod
                async def fetch(*asked: Any) -> Any:
                    reply = Fact(other, OTHER_RANGE, 1, 1, 1, NUMBER, FactKind.ACCEPTED, "wamid.p")
                    await record(second, [reply])
                    return await connection.fetch(*asked)

            await matched(Between())  # type: ignore[arg-type]

        monkeypatch.setattr(folder, "_match", match)
        assert (await apply_statuses(first)).returned == 1
        assert [await state_of(first, 1, of) for of in (FIRST_RANGE, OTHER_RANGE)] == ["unknown", "accepted"]


async def test_a_try_that_was_only_assumed_to_be_sent_settles_nothing(connection: Connection) -> None:
    await plant_pair(connection)
    other = await plant_pair(connection, first_range=OTHER_RANGE)
    await doubt(connection, FIRST_RANGE, 1)
    fact = Fact(other, OTHER_RANGE, 1, 1, 1, NUMBER, FactKind.ACCEPTED, None, reason="assumed sent")
    await record(connection, [fact])
    await put_in_inbox(connection, status_event("wamid.p", SENT, recipient=str(PHONE)))
    assert (await fold_all(connection)).returned == 1


@pytest.mark.parametrize("attempt_no", [1, 2])
@pytest.mark.parametrize(
    ("from_seq", "epoch"), [(1, 1), (2, 5)], ids=["of others before", "by a number that sent nothing"]
)
async def test_an_event_older_than_the_claim_settles_nothing(
    connection: Connection, from_seq: int, epoch: int, attempt_no: int
) -> None:
    """Whatever was claimed of the range before the event."""
    await plant_campaign(connection, first_phone=PHONE - 2)
    await doubt(connection, FIRST_RANGE, 2)
    await connection.execute("UPDATE pending_attempts SET attempt_no = $1", attempt_no)
    await connection.execute("UPDATE claims SET from_seq = 2")
    await connection.execute(
        "INSERT INTO claims SELECT range_id, $1, $2, 'another', claimed_at - interval '2 hours' FROM claims",
        from_seq,
        epoch,
    )
    before = NOON.replace(hour=11)
    await put_in_inbox(
        connection,
        status_event("wamid.p", SENT, recipient=str(PHONE), status_us=microseconds(before)),
        status_event("wamid.p", READ, recipient=str(PHONE), status_us=microseconds(NOON)),
    )
    assert (await fold_all(connection)).returned == 2


async def test_an_event_that_waits_settles_a_doubt_as_soon_as_it_is_named(connection: Connection) -> None:
    """Its next look may be an hour away; events of other numbers and other programs keep their time."""
    await plant_pair(connection, claimed_through=1)
    await put_in_inbox(
        connection,
        status_event("wamid.p", SENT, recipient=str(PHONE)),
        status_event("wamid.q", SENT, recipient=str(PHONE), installation=""),
        status_event("wamid.r", SENT, recipient=str(PHONE), phone_number_id="another"),
    )
    assert (await fold_all(connection)).returned == 3
    await connection.execute("UPDATE inbox SET due_at = now() + interval '1 hour'")
    await take_over_ranges(connection, await take_lease(connection, NUMBER, this_process()))
    folded = await fold_all(connection)
    assert (folded.taken, folded.matched) == (1, 1)
    assert await state_of(connection, 1) == "sent"


async def test_a_doubt_of_a_later_try_is_settled_by_number_and_recipient(connection: Connection) -> None:
    await plant_pair(connection)
    await doubt(connection, FIRST_RANGE, 1)
    await connection.execute("UPDATE pending_attempts SET attempt_no = 2")
    await put_in_inbox(connection, status_event("wamid.p", SENT, recipient=str(PHONE)))
    assert (await fold_all(connection)).matched == 1
    assert await state_of(connection, 1) == "sent"
