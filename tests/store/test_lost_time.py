"""After a restore: whoever may have been sent to in the lost time is in doubt, the others stay pending."""

import pytest

from drumbeat.engine.core.states import CampaignEvent, ReasonCode
from drumbeat.engine.core.tag import Tag
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store.campaign_states import apply_event
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.in_doubt import assume_sent, resend, resend_by_policy, summarise_in_doubt
from drumbeat.engine.store.installation import ROLLBACK_DETECTED
from drumbeat.engine.store.lost_time import LOST, doubt_lost_time
from drumbeat.engine.store.recording import record
from drumbeat.engine.store.status_applier import apply_statuses
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

RATE_PER_S = 5
RECIPIENTS = 10  # of a range
RESTS_REACHED = 2 * RECIPIENTS  # of ranges that the number may have left unfinished


async def rolled_back(connection: Connection, *, ranges: int = 10, on_unknown: str = "hold") -> int:
    """A campaign whose number held the first range up to its fourth recipient at the restored moment."""
    campaign = await plant_campaign(
        connection,
        ranges=ranges,
        recipients=RECIPIENTS,
        claimed_through=0,
        state="running",
        on_unknown=on_unknown,
    )
    await connection.execute("UPDATE ranges SET phone_number_id = NULL WHERE ordinal > 0")
    await connection.execute("UPDATE ranges SET claimed_through = 4 WHERE ordinal = 0")
    await connection.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid)"
        " SELECT $1, seq, 1, 1, 1, 1, $2, 'wamid.' || seq FROM generate_series(1, 4) AS seq",
        FIRST_RANGE,
        NUMBER,
    )
    await connection.execute("UPDATE range_counters SET accepted = 4 WHERE range_id = $1", FIRST_RANGE)
    await connection.execute("UPDATE numbers SET service_limit_per_s = $1", RATE_PER_S)
    event, code = CampaignEvent.PAUSE, ReasonCode.DATABASE_ROLLED_BACK
    await apply_event(connection, campaign, event, ROLLBACK_DETECTED, code)
    return campaign


async def unknown_by_range(connection: Connection) -> list[int]:
    rows = await connection.fetch("SELECT unknown FROM range_counters ORDER BY range_id")
    return [row["unknown"] for row in rows]


async def test_as_many_as_the_limit_allows_and_the_ranges_under_way(connection: Connection) -> None:
    campaign = await rolled_back(connection)
    reached = RATE_PER_S * (7 + 1) + RESTS_REACHED  # of the free ranges, each of which counts as a whole
    assert await doubt_lost_time(connection, campaign, 7, "ana") == 6 + reached
    assert await unknown_by_range(connection) == [6, *[10] * 6, 0, 0, 0]
    assert await range_counters(connection) == await recount(connection)
    assert await doubt_lost_time(connection, campaign, 7, "ana") == 0, "repeating it changes nothing"
    audits = await connection.fetch("SELECT actor, action, detail FROM audit")
    assert [tuple(audit) for audit in audits] == [("ana", "lost-time", {"recipients": 66, "lost_s": 7})]


async def test_a_long_loss_reaches_everybody(connection: Connection) -> None:
    campaign = await rolled_back(connection)
    assert await doubt_lost_time(connection, campaign, 86_400, "ana") == 96


async def test_who_waited_for_another_attempt_may_have_got_it(connection: Connection) -> None:
    """The attempt in doubt is the next one: the one before was certainly not accepted."""
    campaign = await rolled_back(connection)
    await connection.execute(
        "INSERT INTO pending_attempts (range_id, seq, attempt_no, state, epoch, phone_number_id, reason, due_at)"
        " SELECT $1, seq, 1, 'deferred', 1, $2, 'reset', now() + make_interval(hours => seq - 9)"
        " FROM unnest(ARRAY[8, 10]) AS seq",
        FIRST_RANGE + 9,
        NUMBER,
    )
    await connection.execute("UPDATE range_counters SET deferred = 2 WHERE range_id = $1", FIRST_RANGE + 9)
    await doubt_lost_time(connection, campaign, 1, "ana")
    rows = await connection.fetch(
        "SELECT seq, state, attempt_no FROM pending_attempts WHERE range_id = $1 AND seq IN (8, 10) ORDER BY seq",
        FIRST_RANGE + 9,
    )
    assert [tuple(row) for row in rows] == [(8, "unknown", 2), (10, "deferred", 1)]
    assert await range_counters(connection) == await recount(connection)


async def test_an_owner_that_outlived_its_database_settles_whom_it_knows(connection: Connection) -> None:
    """It raised the watermark over all that it had sent to, and stores the outcomes that it still has."""
    campaign = await rolled_back(connection, ranges=1)
    await connection.execute("UPDATE ranges SET claimed_through = 10")
    await connection.execute(
        "INSERT INTO pending_attempts (range_id, seq, attempt_no, state, epoch, phone_number_id, reason)"
        " VALUES ($1, 7, 2, 'claimed', 1, $2, 'reset')",
        FIRST_RANGE,
        NUMBER,
    )
    assert await doubt_lost_time(connection, campaign, 1, "ana") == 6
    assert await range_counters(connection) == await recount(connection)
    facts = [
        Fact(campaign, FIRST_RANGE, seq, attempt_no, 1, NUMBER, FactKind.ACCEPTED, wamid=f"wamid.{seq}")
        for seq, attempt_no in ((6, 1), (7, 2))
    ]
    await record(connection, facts)
    assert [await state_of(connection, seq) for seq in (5, 6, 7)] == ["unknown", "accepted", "accepted"]
    assert await range_counters(connection) == await recount(connection)


async def test_a_late_event_settles_whoever_got_it(connection: Connection) -> None:
    campaign = await rolled_back(connection)
    await doubt_lost_time(connection, campaign, 1, "ana")
    tag = Tag(
        await installation(connection), FIRST_RANGE, 6, 1, 99
    )  # of an epoch that the database never knew
    await put_in_inbox(connection, status_event("wamid.lost", 5, tag))
    await apply_statuses(connection)
    assert await state_of(connection, 6) == "read"
    assert await range_counters(connection) == await recount(connection)


@pytest.mark.parametrize("policy", ["resend", "resend-silent"])
async def test_no_policy_and_no_silence_sends_again(connection: Connection, policy: str) -> None:
    """The events about them may have come before the loss."""
    campaign = await rolled_back(connection, on_unknown=policy)
    await doubt_lost_time(connection, campaign, 1, "ana")
    await connection.execute("UPDATE pending_attempts SET since = now() - interval '1 day'")
    await connection.execute("INSERT INTO event_flow VALUES ($1, now())", NUMBER)
    assert await resend_by_policy(connection) == 0
    found = await summarise_in_doubt(connection, campaign)
    assert [(group.reason, group.probably_not_sent) for group in found.groups] == [(LOST, 0)]


async def test_a_persons_word_settles_them(connection: Connection) -> None:
    campaign = await rolled_back(connection, ranges=2)
    in_doubt = await doubt_lost_time(connection, campaign, 1, "ana")
    assert await resend(connection, campaign, "ana") == in_doubt
    assert await range_counters(connection) == await recount(connection)
    numbers = await connection.fetch("SELECT DISTINCT attempt_no, state, resend FROM pending_attempts")
    assert [tuple(row) for row in numbers] == [(1, "deferred", True)]


async def test_they_can_be_taken_as_sent(connection: Connection) -> None:
    campaign = await rolled_back(connection, ranges=2)
    in_doubt = await doubt_lost_time(connection, campaign, 1, "ana")
    assert await assume_sent(connection, campaign, "ana") == in_doubt == 16
    assert await state_of(connection, 5) == "accepted"
    assert await range_counters(connection) == await recount(connection)


async def test_only_a_paused_campaign(connection: Connection) -> None:
    campaign = await rolled_back(connection)
    await apply_event(connection, campaign, CampaignEvent.RESUME, "")
    with pytest.raises(UsageError, match="paused"):
        await doubt_lost_time(connection, campaign, 1, "ana")
    assert await unknown_by_range(connection) == [0] * 10
