"""An event without a tag settles an attempt in doubt by number and recipient, if it can be about no other message."""

import asyncio
from typing import Any

import pytest

from drumbeat.engine.process.identity import this_process
from drumbeat.engine.store import status_applier
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.in_doubt import resend
from drumbeat.engine.store.leases import take_lease
from drumbeat.engine.store.ranges import take_over_ranges
from drumbeat.engine.store.recording import record
from drumbeat.engine.store.status_applier import apply_statuses
from tests.kit.planted import (
    FIRST_RANGE,
    NOON,
    NUMBER,
    make_all_due,
    microseconds,
    plant_campaign,
    put_in_doubt,
    put_in_inbox,
    range_counters,
    recount,
    state_of,
    status_event,
)
from tests.kit.waiting import until_blocked
from tests.store.test_apply_statuses import READ, SENT, accepted, apply_all

PHONE = 5511912345678


async def plant_pair(connection: Connection, **others: object) -> int:
    """A campaign whose first recipient is PHONE."""
    return await plant_campaign(connection, first_phone=PHONE - 1, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize("spelled", [PHONE, 551112345678, 551192345678])
async def test_the_only_attempt_in_doubt_is_settled_by_number_and_recipient(
    connection: Connection, spelled: int
) -> None:
    await plant_campaign(connection, first_phone=5511992345678 - 1)
    await put_in_doubt(connection, FIRST_RANGE, 1)
    await put_in_inbox(connection, status_event("wamid.p", SENT, recipient=str(spelled)))
    await apply_all(connection)
    matches = spelled == 551192345678
    assert await state_of(connection, 1) == ("sent" if matches else "unknown")


OTHER_RANGE = FIRST_RANGE + 50


async def test_two_attempts_in_doubt_of_a_pair_are_not_settled(connection: Connection) -> None:
    await plant_pair(connection)
    await plant_pair(connection, first_range=OTHER_RANGE)
    await put_in_doubt(connection, FIRST_RANGE, 1)
    await put_in_doubt(connection, OTHER_RANGE, 1)
    await put_in_inbox(connection, status_event("wamid.p", SENT, recipient=str(PHONE)))
    assert (await apply_all(connection)).returned == 1


async def test_an_attempt_that_is_to_be_sent_again_counts_as_another_candidate(
    connection: Connection,
) -> None:
    """The event may be about its first attempt, whose reply never came."""
    await plant_pair(connection)
    other = await plant_pair(connection, first_range=OTHER_RANGE)
    await put_in_doubt(connection, FIRST_RANGE, 1)
    await put_in_doubt(connection, OTHER_RANGE, 1)
    assert await resend(connection, other, "ana") == 1
    await put_in_inbox(connection, status_event("wamid.p", SENT, recipient=str(PHONE)))
    assert (await apply_all(connection)).returned == 1
    assert await state_of(connection, 1) == "unknown"


async def test_nothing_is_settled_until_an_attempt_of_the_pair_under_way_is_recorded(
    connection: Connection,
) -> None:
    await plant_pair(connection)
    other = await plant_pair(connection, first_range=OTHER_RANGE)
    await put_in_doubt(connection, FIRST_RANGE, 1)
    await put_in_inbox(connection, status_event("wamid.p", SENT, recipient=str(PHONE)))
    assert (await apply_all(connection)).returned == 1
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
    assert (await apply_all(connection)).matched == 1
    assert await state_of(connection, 1) == "sent"
    assert await state_of(connection, 1, OTHER_RANGE) == "accepted"


async def test_nothing_is_settled_while_a_later_attempt_of_the_pair_is_under_way(
    connection: Connection,
) -> None:
    await plant_pair(connection)
    await plant_pair(connection, first_range=OTHER_RANGE)
    await put_in_doubt(connection, FIRST_RANGE, 1)
    await put_in_doubt(connection, OTHER_RANGE, 1)
    await connection.execute(
        "UPDATE pending_attempts SET state = 'claimed', attempt_no = 2 WHERE range_id = $1", OTHER_RANGE
    )
    await put_in_inbox(connection, status_event("wamid.p", SENT, recipient=str(PHONE)))
    assert (await apply_statuses(connection)).returned == 1
    assert await state_of(connection, 1) == "unknown"


@pytest.mark.parametrize("fate", ["deferred", "refused", "pending", "skipped"])
async def test_a_recipient_who_got_nothing_in_another_campaign_is_no_other_candidate(
    connection: Connection, fate: str
) -> None:
    await plant_pair(connection)
    other = await plant_pair(
        connection, first_range=OTHER_RANGE, claimed_through=0 if fate == "pending" else None
    )
    await put_in_doubt(connection, FIRST_RANGE, 1)
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


async def test_a_message_of_another_number_to_the_recipient_is_another_message(
    connection: Connection,
) -> None:
    await plant_pair(connection)
    await put_in_doubt(connection, FIRST_RANGE, 1)
    await put_in_inbox(
        connection,
        status_event("wamid.p", SENT, recipient=str(PHONE)),
        status_event("wamid.q", READ, recipient=str(PHONE), phone_number_id="another"),
    )
    applied = await apply_all(connection)
    assert (applied.matched, applied.returned) == (1, 1)
    assert await state_of(connection, 1) == "sent"


async def test_two_messages_to_a_pair_settle_nothing(connection: Connection) -> None:
    """One of them is another program's; which one is unknown."""
    await plant_pair(connection)
    await put_in_doubt(connection, FIRST_RANGE, 1)
    events = [status_event(wamid, SENT, recipient=str(PHONE)) for wamid in ("wamid.p", "wamid.q")]
    await put_in_inbox(connection, *events)
    assert (await apply_all(connection)).returned == 2
    assert await state_of(connection, 1) == "unknown"


@pytest.mark.parametrize("came", [True, False])
async def test_a_message_of_another_program_to_a_pair_is_another_message(
    connection: Connection, came: bool
) -> None:
    """Its event settles nothing, and does not hide an event that settles."""
    await plant_pair(connection)
    await put_in_doubt(connection, FIRST_RANGE, 1)
    foreign = status_event("wamid.q", READ, recipient=str(PHONE), installation="")
    own = status_event("wamid.p", SENT, recipient=str(PHONE))
    await put_in_inbox(connection, foreign, *[own] * came)
    assert (await apply_all(connection)).returned == 1
    assert await state_of(connection, 1) == ("sent" if came else "unknown")


async def test_a_reply_that_comes_between_leaves_another_message_unmatched(pool: Pool) -> None:
    """The attempt in doubt was the only candidate when it was looked up. Its lock was granted after its reply was stored."""
    async with pool.acquire() as first, pool.acquire() as second:
        campaign = await plant_pair(first)
        await put_in_doubt(first, FIRST_RANGE, 1)
        await put_in_inbox(first, status_event("wamid.another", READ, recipient=str(PHONE)))
        async with first.transaction():
            await record(first, [accepted(1, campaign)])
            applying = asyncio.create_task(apply_statuses(second))
            await until_blocked(pool, second)
        assert (await applying).returned == 1
        assert await state_of(first, 1) == "accepted"
        assert await range_counters(first) == await recount(first)


async def test_a_reply_between_the_two_lookups_is_no_other_message(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wamid was unknown at the first lookup. The reply of another campaign brings it before the second."""
    async with pool.acquire() as first, pool.acquire() as second:
        await plant_pair(first)
        other = await plant_pair(first, first_range=OTHER_RANGE)
        await put_in_doubt(first, FIRST_RANGE, 1)
        await put_in_inbox(first, status_event("wamid.p", SENT, recipient=str(PHONE)))
        matched = status_applier._match

        async def match(connection: Connection) -> None:
            """The real function, with a reply stored between its statements."""

            class Between:
                execute = staticmethod(connection.execute)

                @staticmethod
                async def fetch(*asked: Any) -> Any:
                    reply = Fact(other, OTHER_RANGE, 1, 1, 1, NUMBER, FactKind.ACCEPTED, "wamid.p")
                    await record(second, [reply])
                    return await connection.fetch(*asked)

            await matched(Between())  # type: ignore[arg-type]

        monkeypatch.setattr(status_applier, "_match", match)
        assert (await apply_statuses(first)).returned == 1
        assert [await state_of(first, 1, of) for of in (FIRST_RANGE, OTHER_RANGE)] == ["unknown", "accepted"]


async def test_nothing_is_settled_beside_an_attempt_that_was_assumed_sent(connection: Connection) -> None:
    await plant_pair(connection)
    other = await plant_pair(connection, first_range=OTHER_RANGE)
    await put_in_doubt(connection, FIRST_RANGE, 1)
    fact = Fact(other, OTHER_RANGE, 1, 1, 1, NUMBER, FactKind.ACCEPTED, None, reason="assumed sent")
    await record(connection, [fact])
    await put_in_inbox(connection, status_event("wamid.p", SENT, recipient=str(PHONE)))
    assert (await apply_all(connection)).returned == 1


@pytest.mark.parametrize("attempt_no", [1, 2])
@pytest.mark.parametrize(
    ("from_seq", "epoch"), [(1, 1), (2, 5)], ids=["of others before", "by a number that sent nothing"]
)
async def test_an_event_older_than_the_claim_settles_nothing(
    connection: Connection, from_seq: int, epoch: int, attempt_no: int
) -> None:
    """Whatever else of the range was claimed before the event."""
    await plant_campaign(connection, first_phone=PHONE - 2)
    await put_in_doubt(connection, FIRST_RANGE, 2)
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
    assert (await apply_all(connection)).returned == 2


async def test_a_waiting_event_settles_an_attempt_as_soon_as_it_is_put_in_doubt(
    connection: Connection,
) -> None:
    """Its next turn may be an hour away. Events of other numbers and other programs keep their turn."""
    await plant_pair(connection, claimed_through=1)
    await put_in_inbox(
        connection,
        status_event("wamid.p", SENT, recipient=str(PHONE)),
        status_event("wamid.q", SENT, recipient=str(PHONE), installation=""),
        status_event("wamid.r", SENT, recipient=str(PHONE), phone_number_id="another"),
    )
    assert (await apply_all(connection)).returned == 3
    await connection.execute("UPDATE inbox SET due_at = now() + interval '1 hour'")
    await take_over_ranges(connection, await take_lease(connection, NUMBER, this_process()))
    applied = await apply_all(connection)
    assert (applied.taken, applied.matched) == (1, 1)
    assert await state_of(connection, 1) == "sent"


async def test_a_later_attempt_in_doubt_is_settled_by_number_and_recipient(connection: Connection) -> None:
    await plant_pair(connection)
    await put_in_doubt(connection, FIRST_RANGE, 1)
    await connection.execute("UPDATE pending_attempts SET attempt_no = 2")
    await put_in_inbox(connection, status_event("wamid.p", SENT, recipient=str(PHONE)))
    assert (await apply_all(connection)).matched == 1
    assert await state_of(connection, 1) == "sent"
