"""What is told is stored with the change itself: one notification for each cause, whoever sees it."""

import asyncio
from collections.abc import Sequence

import pytest

from drumbeat.campaigns.life.control import cancel, pause, pause_all
from drumbeat.campaigns.life.prune import prune
from drumbeat.engine.core.notification import Channel
from drumbeat.engine.core.states import CampaignEvent, ReasonCode
from drumbeat.engine.notifications.text import as_json
from drumbeat.engine.store.campaign_states import apply_event, apply_if_allowed
from drumbeat.engine.store.closing import finish_campaign
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.installation import identify
from drumbeat.engine.store.leases import stop
from drumbeat.engine.store.notifications import (
    Due,
    Result,
    add_of_failures,
    give_up_old,
    record,
    take_due,
    undelivered,
)
from tests.sending.planted import FAST, SLOW, plant_campaign, plant_numbers

TOKEN = (CampaignEvent.PAUSE, "token expired (190)", ReasonCode.AUTHENTICATION_FAILED)
BOTH = list(Channel)


async def taken(connection: Connection, channels: Sequence[Channel] = (Channel.WEBHOOK,)) -> list[Due]:
    return await take_due(connection, list(channels), gather_s=0.0)


async def events(connection: Connection) -> list[str]:
    rows = await connection.fetch("SELECT event FROM notifications ORDER BY notification_id")
    return [row["event"] for row in rows]


async def an_hour_later(connection: Connection, seconds: float = 3_600) -> None:
    """Everything stored is this much older."""
    await connection.execute(
        "UPDATE notifications SET happened_at = happened_at - $1 * interval '1 second',"
        " tell_at = tell_at - $1 * interval '1 second'",
        seconds,
    )
    await connection.execute(
        "UPDATE notification_deliveries SET due_at = due_at - $1 * interval '1 second'", seconds
    )


async def tell_all(connection: Connection) -> list[Due]:
    """Take and deliver what is due on all channels."""
    due = await taken(connection, BOTH)
    await record(
        connection, [Result(each.notification_id, each.channel, "delivered", None, 0.0) for each in due]
    )
    return due


async def test_a_pause_is_told_once_on_each_channel_with_the_present_counts(connection: Connection) -> None:
    campaign = await plant_campaign(connection, recipients=10, skipped=[3])
    await apply_event(connection, campaign.campaign_id, *TOKEN)
    due = await taken(connection, BOTH)
    assert sorted(each.channel for each in due) == ["mail", "webhook"]
    told = due[0].notification
    assert told == due[1].notification
    assert (told.event, told.state, told.reason, told.reason_code) == (
        "campaign_paused", "paused", "token expired (190)", "authentication_failed",
    )  # fmt: skip
    assert told.recipients == 10
    assert told.counts is not None
    assert {state: many for state, many in told.counts.items() if many} == {"pending": 9, "skipped": 1}
    assert await taken(connection, BOTH) == []


async def test_a_change_that_is_rolled_back_is_not_told(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    transaction = connection.transaction()
    await transaction.start()
    await apply_event(connection, campaign.campaign_id, *TOKEN)
    await transaction.rollback()
    assert await events(connection) == []


async def test_several_processes_that_see_a_cause_tell_it_once(pool: Pool) -> None:
    async with pool.acquire() as connection:
        campaign = await plant_campaign(connection)

    async def see() -> object:
        async with pool.acquire() as connection:
            return await apply_if_allowed(connection, campaign.campaign_id, *TOKEN)

    seen = await asyncio.gather(*(see() for _ in range(6)))
    assert len([each for each in seen if each is not None]) == 1
    assert await pool.fetchval("SELECT count(*) FROM notifications") == 1


async def flap(connection: Connection, campaign_id: int, times: int) -> None:
    for _ in range(times):
        await apply_event(connection, campaign_id, *TOKEN)
        await apply_event(connection, campaign_id, CampaignEvent.RESUME, "")


async def test_a_campaign_that_flaps_is_told_once(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await flap(connection, campaign.campaign_id, 20)
    assert len(await tell_all(connection)) == len(BOTH)
    assert await tell_all(connection) == []
    await an_hour_later(connection)
    assert await tell_all(connection) == [], "it runs by then"
    assert await events(connection) == ["campaign_paused"], "what was outdated is gone"


async def test_a_cause_that_came_back_and_lasts_is_told_again_after_an_hour(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await flap(connection, campaign.campaign_id, 20)
    await tell_all(connection)
    await apply_event(connection, campaign.campaign_id, *TOKEN)
    await an_hour_later(connection, 3_500)
    assert await tell_all(connection) == []
    await an_hour_later(connection, 200)
    assert len(await tell_all(connection)) == len(BOTH)


async def test_a_cause_that_comes_back_after_an_hour_is_told_at_once(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await flap(connection, campaign.campaign_id, 1)
    await tell_all(connection)
    await an_hour_later(connection, 4_000)
    await apply_event(connection, campaign.campaign_id, *TOKEN)
    assert len(await tell_all(connection)) == len(BOTH)


async def test_another_cause_is_told_at_once(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await flap(connection, campaign.campaign_id, 1)
    pause = (CampaignEvent.PAUSE, "template paused", ReasonCode.TEMPLATE_REFUSED)
    await apply_event(connection, campaign.campaign_id, *pause)
    codes = sorted(str(each.notification.reason_code) for each in await taken(connection))
    assert codes == ["authentication_failed", "template_refused"]


async def test_what_a_person_orders_is_not_told(connection: Connection) -> None:
    names = []
    for _ in range(3):
        campaign = await plant_campaign(connection)
        name = "SELECT name FROM campaigns WHERE campaign_id = $1"
        names.append(await connection.fetchval(name, campaign.campaign_id))
    await pause(connection, names[0])
    await cancel(connection, names[1])
    await pause_all(connection)
    assert await events(connection) == []


async def test_the_end_is_told_with_who_is_in_doubt_and_whether_a_person_must_act(
    connection: Connection,
) -> None:
    campaign = await plant_campaign(connection)
    await connection.execute("UPDATE ranges SET state = 'done'")
    await connection.execute("UPDATE range_counters SET unknown = 2, accepted = 8")
    assert await finish_campaign(connection, campaign.campaign_id) == 2
    (due,) = await taken(connection)
    told = due.notification
    assert (told.event, told.reason_code, told.needs_person) == ("campaign_finished", "in_doubt", True)
    assert told.counts is not None
    assert told.counts["unknown"] == 2


async def test_an_expiry_is_told(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await apply_event(
        connection, campaign.campaign_id, CampaignEvent.EXPIRE, "its time is over", ReasonCode.EXPIRED
    )
    assert await events(connection) == ["campaign_expired"]


async def test_a_rollback_of_the_database_is_one_notification_for_all_campaigns(pool: Pool) -> None:
    async with pool.acquire() as connection:
        for _ in range(5):
            await plant_campaign(connection)
        await connection.execute("UPDATE installation SET timeline = timeline + 1000")

    async def look() -> None:
        async with pool.acquire() as connection:
            await identify(connection)

    await asyncio.gather(*(look() for _ in range(4)))
    async with pool.acquire() as connection:
        (due,) = await taken(connection)
    assert (due.notification.event, due.notification.campaign) == ("database_rollback_detected", None)
    assert "restored, copied or failed over" in due.notification.reason


async def test_a_stopped_number_is_told_once(connection: Connection) -> None:
    await plant_numbers(connection, **{SLOW: 80, FAST: 1000})
    await plant_campaign(connection, numbers=(SLOW, FAST))
    for reason in ("not registered", "again"):
        await stop(connection, SLOW, reason)
    (due,) = await taken(connection)
    assert (due.notification.event, due.notification.number) == ("number_stopped", SLOW)
    assert due.notification.reason == "not registered"
    assert await events(connection) == ["number_stopped"], "nor is it told again later"


async def test_the_stop_of_a_last_number_is_told_by_the_pause_of_its_campaign(connection: Connection) -> None:
    await plant_numbers(connection, **{SLOW: 80, FAST: 1000})
    await plant_campaign(connection, numbers=(SLOW,))
    await stop(connection, SLOW, "not registered")
    assert await events(connection) == []
    await plant_campaign(connection, numbers=(SLOW, FAST))
    await stop(connection, FAST, "not registered")
    assert await events(connection) == [], "both campaigns are about to be paused"


async def test_a_number_that_no_campaign_uses_now_is_told(connection: Connection) -> None:
    await plant_numbers(connection, **{SLOW: 80})
    await stop(connection, SLOW, "not registered")
    assert await events(connection) == ["number_stopped"]


@pytest.mark.parametrize(("limit", "failed", "told"), [("5", 5, 0), ("5", 6, 1), ("50%", 6, 1), (None, 9, 0)])
async def test_failures_above_the_limit_are_told_once_for_each_campaign(
    pool: Pool, limit: str | None, failed: int, told: int
) -> None:
    async with pool.acquire() as connection:
        await plant_campaign(connection, recipients=10)
        await connection.execute("UPDATE campaigns SET max_failed = $1", limit)
        await connection.execute("UPDATE range_counters SET failed = $1", failed)

    async def look() -> None:
        async with pool.acquire() as connection:
            await add_of_failures(connection)

    await asyncio.gather(*(look() for _ in range(4)))
    async with pool.acquire() as connection:
        assert await events(connection) == ["failures_exceeded"] * told
        await an_hour_later(connection, 4_000)
        await connection.execute("UPDATE range_counters SET failed = 10 WHERE $1::text IS NOT NULL", limit)
        await add_of_failures(connection)
        assert len(await events(connection)) == (1 if limit else 0)


async def test_failures_that_statuses_report_after_the_end_are_told(connection: Connection) -> None:
    await plant_campaign(connection, recipients=10, state="finished")
    await connection.execute("UPDATE campaigns SET max_failed = '0', finished_at = now()")
    await connection.execute("UPDATE range_counters SET failed = 1")
    await add_of_failures(connection)
    (due,) = await taken(connection)
    assert due.notification.reason == "1 of 10 recipients failed, more than the limit of 0"


async def test_two_processes_never_take_the_same_delivery(pool: Pool) -> None:
    async with pool.acquire() as connection:
        for _ in range(20):
            campaign = await plant_campaign(connection)
            await apply_event(connection, campaign.campaign_id, *TOKEN)

    async def take() -> list[int]:
        async with pool.acquire() as connection:
            return [each.notification_id for each in await taken(connection)]

    found = [key for keys in await asyncio.gather(*(take() for _ in range(4))) for key in keys]
    assert len(found) == len(set(found)) == 20


async def test_what_a_killed_process_took_is_due_again_and_counts_its_attempt(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await apply_event(connection, campaign.campaign_id, *TOKEN)
    (first,) = await taken(connection)
    assert await taken(connection) == []
    await an_hour_later(connection, 61)
    (second,) = await taken(connection)
    assert second.notification.public_id == first.notification.public_id
    assert (first.attempt_no, second.attempt_no) == (1, 2)


async def test_a_failed_attempt_waits_and_a_day_ends_it(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await apply_event(connection, campaign.campaign_id, *TOKEN)
    (due,) = await taken(connection)
    await record(connection, [Result(due.notification_id, due.channel, "waiting", "HTTP 503", 10.0)])
    assert await taken(connection) == []
    assert await give_up_old(connection, [Channel.WEBHOOK]) == {}
    (found,) = await undelivered(connection)
    assert (found.channel, found.waiting, found.given_up, found.problem) == ("webhook", 1, 0, "HTTP 503")
    await an_hour_later(connection, 24 * 3600 + 1)
    assert await give_up_old(connection, [Channel.WEBHOOK]) == {Channel.WEBHOOK: "HTTP 503"}
    assert await taken(connection) == []
    (found,) = await undelivered(connection)
    assert (found.waiting, found.given_up) == (0, 1)


async def test_a_channel_that_is_set_up_later_tells_nothing_old(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await apply_event(connection, campaign.campaign_id, *TOKEN)
    await an_hour_later(connection, 24 * 3600 + 1)
    assert await give_up_old(connection, [Channel.MAIL]) == {}, "nobody tried, so nothing is to be reported"
    assert await taken(connection, [Channel.MAIL]) == []
    assert await undelivered(connection) == []


async def test_a_prune_removes_old_notifications(pool: Pool) -> None:
    async with pool.acquire() as connection:
        for age_s in (100 * 24 * 3600, 0):
            campaign = await plant_campaign(connection)
            await apply_event(connection, campaign.campaign_id, *TOKEN)
            await an_hour_later(connection, age_s)
    await prune(pool, older_than_days=90, dry_run=True)
    assert await pool.fetchval("SELECT count(*) FROM notifications") == 2
    await prune(pool, older_than_days=90, dry_run=False)
    assert await pool.fetchval("SELECT count(*) FROM notifications") == 1
    assert await pool.fetchval("SELECT count(*) FROM notification_deliveries") == len(BOTH)


async def test_messages_to_one_person_tell_no_end_and_each_cause_of_a_pause_once(
    connection: Connection,
) -> None:
    messages = [await plant_campaign(connection, priority="urgent") for _ in range(3)]
    await connection.execute("UPDATE campaigns SET external_id = 'reset-' || campaign_id")
    await finish_campaign(connection, messages[0].campaign_id)
    assert await events(connection) == []
    for message in messages[1:]:
        await apply_event(connection, message.campaign_id, *TOKEN)
    (told,) = await taken(connection)
    first = messages[1].campaign_id
    assert told.notification.external_id == f"reset-{first}"
    assert as_json(told.notification)["external_id"] == f"reset-{first}"
    campaign = await plant_campaign(connection)
    await apply_event(connection, campaign.campaign_id, *TOKEN)
    assert await events(connection) == ["campaign_paused"] * 2
