"""Recipients in doubt: listed with their reason, settled by a person or a policy, audited, and never sent to twice."""

import pytest

from drumbeat.engine.core.states import CampaignEvent
from drumbeat.engine.core.tag import Tag
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store.campaign_states import apply_event
from drumbeat.engine.store.closing import close_ranges
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.in_doubt import (
    POLICY_RESENDS_MAX,
    assume_sent,
    resend,
    resend_by_policy,
    summarise_in_doubt,
)
from drumbeat.engine.store.leases import Lease
from drumbeat.engine.store.ranges import HeldRange
from drumbeat.engine.store.recording import record
from drumbeat.engine.store.retry_claims import Postponed, claim_retries, due_retries, postpone_retries
from drumbeat.engine.store.status_applier import apply_statuses
from tests.kit.planted import (
    FIRST_RANGE,
    NUMBER,
    age,
    installation,
    plant_campaign,
    put_in_doubt,
    put_in_inbox,
    range_counters,
    recount,
    state_of,
    status_event,
)


async def campaign_state(connection: Connection, campaign: int) -> str:
    state: str = await connection.fetchval("SELECT state FROM campaigns WHERE campaign_id = $1", campaign)
    return state


async def finish(connection: Connection, campaign: int) -> None:
    await connection.execute("UPDATE ranges SET state = 'done', phone_number_id = NULL")
    await connection.execute("UPDATE campaigns SET state = 'finished' WHERE campaign_id = $1", campaign)


async def test_recipients_in_doubt_are_counted_by_reason_and_age(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await put_in_doubt(connection, FIRST_RANGE, 1, 2, 3)
    await connection.execute("UPDATE pending_attempts SET reason = 'reset' WHERE seq = 3")
    found = await summarise_in_doubt(connection, campaign)
    assert [(group.reason, group.recipients, group.probably_not_sent) for group in found.groups] == [
        ("its sender ended", 2, 0),
        ("reset", 1, 0),
    ]
    await age(connection, 1000)
    await connection.execute("INSERT INTO event_flow VALUES ('another number', now())")
    assert (await summarise_in_doubt(connection, campaign)).probably_not_sent == 3
    await connection.execute("UPDATE event_flow SET last_event_at = now() - interval '500 seconds'")
    assert (await summarise_in_doubt(connection, campaign)).probably_not_sent == 0, (
        "a number without events says nothing about its messages"
    )


async def test_resend_reopens_and_repeats_without_effect(connection: Connection) -> None:
    campaign = await plant_campaign(connection, ranges=3)
    for range_id in range(FIRST_RANGE, FIRST_RANGE + 3):
        await put_in_doubt(connection, range_id, 1, 2)
    await finish(connection, campaign)
    assert await resend(connection, campaign, "ana") == 6
    assert await resend(connection, campaign, "ana") == 0
    assert await range_counters(connection) == await recount(connection)
    assert await campaign_state(connection, campaign) == "running"
    assert (
        await connection.fetchval("SELECT count(*) FROM ranges WHERE state = 'open' AND due_at <= now()") == 3
    )
    rows = await connection.fetch("SELECT state, reason, due_at <= now() AS due FROM pending_attempts")
    assert {tuple(row) for row in rows} == {("deferred", "resend", True)}
    audit = await connection.fetch("SELECT actor, action, campaign_id, detail FROM audit")
    assert [tuple(row) for row in audit] == [("ana", "resend", campaign, {"recipients": 6})]


async def test_a_resend_waits_for_nobody_who_is_deferred_longer(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await connection.execute("UPDATE ranges SET due_at = now() + interval '1 hour'")
    await put_in_doubt(connection, FIRST_RANGE, 1)
    await connection.execute("UPDATE pending_attempts SET due_at = now() + interval '1 hour'")
    assert await resend(connection, campaign, "ana") == 1
    assert await connection.fetchval("SELECT due_at <= now() FROM ranges")
    assert await connection.fetchval("SELECT due_at <= now() FROM pending_attempts")


async def test_a_persons_decision_applies_to_every_range(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drumbeat.engine.store.in_doubt.RANGES_PER_TRANSACTION", 2)
    campaign = await plant_campaign(connection, ranges=5)
    for range_id in range(FIRST_RANGE, FIRST_RANGE + 5):
        await put_in_doubt(connection, range_id, 1)
    assert await resend(connection, campaign, "ana") == 5
    await connection.execute("UPDATE pending_attempts SET state = 'unknown', resend = false")
    await connection.execute("UPDATE range_counters SET unknown = 1, deferred = 0")
    assert await assume_sent(connection, campaign, "bob") == 5
    assert await range_counters(connection) == await recount(connection)
    rows = await connection.fetch(
        "SELECT actor, action, sum((detail ->> 'recipients')::int) FROM audit GROUP BY 1, 2"
    )
    assert {tuple(row) for row in rows} == {("ana", "resend", 5), ("bob", "assume-sent", 5)}
    assert await connection.fetchval("SELECT DISTINCT phone_number_id FROM outcomes") == NUMBER


async def test_an_event_after_the_resend_still_settles(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await put_in_doubt(connection, FIRST_RANGE, 1)
    await resend(connection, campaign, "ana")
    tag = Tag(await installation(connection), FIRST_RANGE, 1, 1, 1)
    await put_in_inbox(connection, status_event("w", 2, tag))
    await apply_statuses(connection)
    assert await state_of(connection, 1) == "sent"
    assert await connection.fetchval("SELECT count(*) FROM pending_attempts") == 0
    assert await range_counters(connection) == await recount(connection)


@pytest.mark.parametrize("state", ["cancelled", "expired"])
async def test_an_ended_campaign_sends_nothing_again_but_can_be_closed(
    connection: Connection, state: str
) -> None:
    campaign = await plant_campaign(connection, state=state)
    await put_in_doubt(connection, FIRST_RANGE, 1)
    with pytest.raises(UsageError, match=state):
        await resend(connection, campaign, "ana")
    assert await assume_sent(connection, campaign, "ana") == 1
    assert await state_of(connection, 1) == "accepted"


async def test_assumed_sent_is_accepted_without_a_wamid_until_a_status_brings_it(
    connection: Connection,
) -> None:
    campaign = await plant_campaign(connection)
    await put_in_doubt(connection, FIRST_RANGE, 1, 2)
    assert await assume_sent(connection, campaign, "ana") == 2
    assert await assume_sent(connection, campaign, "ana") == 0
    assert await range_counters(connection) == await recount(connection)
    row = await connection.fetchrow("SELECT kind, status, wamid, reason FROM outcomes")
    assert tuple(row) == (1, 1, None, "assumed sent")
    tag = Tag(await installation(connection), FIRST_RANGE, 1, 1, 1)
    await put_in_inbox(connection, status_event("w", 4, tag))
    await apply_statuses(connection)
    assert await state_of(connection, 1) == "delivered"
    assert await connection.fetchval("SELECT wamid FROM outcomes WHERE seq = 1") == "w"
    assert await range_counters(connection) == await recount(connection)


async def test_a_later_attempt_in_doubt_is_assumed_sent_as_that_attempt(connection: Connection) -> None:
    """Its status comes with that attempt's tag, and a refusal of an earlier one says nothing about it."""
    campaign = await plant_campaign(connection)
    await put_in_doubt(connection, FIRST_RANGE, 1)
    await connection.execute("UPDATE pending_attempts SET attempt_no = 2")
    assert await assume_sent(connection, campaign, "ana") == 1
    late = Fact(campaign, FIRST_RANGE, 1, 2, 1, NUMBER, FactKind.ACCEPTED, "w")
    await record(connection, [late])
    assert [tuple(row) for row in await connection.fetch("SELECT attempt_no, wamid FROM outcomes")] == [
        (2, "w")
    ]


async def test_nobody_reached_is_sent_again(connection: Connection) -> None:
    """A recipient whom an earlier attempt reached is not in doubt, though a later attempt is."""
    campaign = await plant_campaign(connection)
    await put_in_doubt(connection, FIRST_RANGE, 1)
    await connection.execute("UPDATE pending_attempts SET attempt_no = 2")
    await connection.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id)"
        " VALUES ($1, 1, 1, 1, 1, 2, $2)",
        FIRST_RANGE,
        NUMBER,
    )
    await connection.execute("UPDATE range_counters SET unknown = 0, sent = 1")
    await finish(connection, campaign)
    assert (await summarise_in_doubt(connection, campaign)).recipients == 0
    assert await resend(connection, campaign, "ana") == 0
    assert await assume_sent(connection, campaign, "ana") == 0
    assert await connection.fetchval("SELECT count(*) FROM audit") == 0
    assert await campaign_state(connection, campaign) == "finished"
    assert await range_counters(connection) == await recount(connection)


async def test_policies_resend_what_they_declare(connection: Connection) -> None:
    hold = await plant_campaign(connection, on_unknown="hold")
    silent = await plant_campaign(connection, on_unknown="resend-silent", first_range=FIRST_RANGE + 10)
    at_once = await plant_campaign(connection, on_unknown="resend", first_range=FIRST_RANGE + 20)
    for range_id in (FIRST_RANGE, FIRST_RANGE + 10, FIRST_RANGE + 20):
        await put_in_doubt(connection, range_id, 1)
    await finish(connection, at_once)
    await connection.execute("UPDATE campaigns SET expires_at = now() + interval '1 day'")
    assert await resend_by_policy(connection) == 1
    assert await campaign_state(connection, at_once) == "running"
    await age(connection, 1000)
    assert await resend_by_policy(connection) == 1
    assert await state_of(connection, 1, FIRST_RANGE + 10) == "deferred"
    assert (await summarise_in_doubt(connection, hold)).recipients == 1
    assert (await summarise_in_doubt(connection, silent)).recipients == 0
    assert await range_counters(connection) == await recount(connection)


async def test_a_pause_ends_no_policy_and_a_release_is_needed(connection: Connection) -> None:
    """A resend waits for the resume. A campaign that was never started sends nothing."""
    for index, state in enumerate(("paused", "draft", "scheduled")):
        first_range = FIRST_RANGE + 10 * index
        await plant_campaign(connection, on_unknown="resend", state=state, first_range=first_range)
        await put_in_doubt(connection, first_range, 1)
    assert await resend_by_policy(connection) == 1
    assert [await state_of(connection, 1, FIRST_RANGE + 10 * index) for index in range(3)] == [
        "deferred", "unknown", "unknown",
    ]  # fmt: skip


async def test_a_policy_leaves_whom_it_has_sent_to_often_enough_beside_others(connection: Connection) -> None:
    await plant_campaign(connection, on_unknown="resend")
    await put_in_doubt(connection, FIRST_RANGE, 1, 2)
    await connection.execute(
        "UPDATE pending_attempts SET transient_failures = $1 WHERE seq = 2", POLICY_RESENDS_MAX
    )
    assert await resend_by_policy(connection) == 1
    assert [await state_of(connection, seq) for seq in (1, 2)] == ["deferred", "unknown"]


async def test_a_policy_resends_a_limited_number_of_times(connection: Connection) -> None:
    campaign = await plant_campaign(connection, on_unknown="resend")
    await put_in_doubt(connection, FIRST_RANGE, 1)
    for _ in range(POLICY_RESENDS_MAX):
        assert await resend_by_policy(connection) == 1
        await connection.execute(
            "UPDATE pending_attempts SET state = 'unknown', resend = false, attempt_no = attempt_no + 1"
        )
        await connection.execute("UPDATE range_counters SET unknown = 1, deferred = 0")
    assert await resend_by_policy(connection) == 0
    assert await resend(connection, campaign, "ana") == 1


async def test_an_unknown_campaign(connection: Connection) -> None:
    for settle in (resend, assume_sent):
        with pytest.raises(LookupError):
            await settle(connection, 404, "ana")


async def test_what_is_over_is_not_sent_again(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await put_in_doubt(connection, FIRST_RANGE, 1)
    await finish(connection, campaign)
    await connection.execute("UPDATE campaigns SET expires_at = now() - interval '1 day'")
    with pytest.raises(UsageError, match="time is over"):
        await resend(connection, campaign, "ana")
    assert await state_of(connection, 1) == "unknown"
    assert await campaign_state(connection, campaign) == "finished"


async def test_a_recipient_in_doubt_who_was_to_be_sent_to_again_is_in_doubt_when_the_campaign_ends(
    connection: Connection,
) -> None:
    """The message may have been sent; the state skipped would hide that."""
    campaign = await plant_campaign(connection)
    await put_in_doubt(connection, FIRST_RANGE, 1)
    assert await resend(connection, campaign, "ana") == 1
    deferred = Fact(campaign, FIRST_RANGE, 2, 1, 1, NUMBER, FactKind.DEFERRED, reason="throttled")
    await record(connection, [deferred])
    await apply_event(connection, campaign, CampaignEvent.CANCEL, "by hand")
    await close_ranges(connection, campaign, "cancelled")
    assert [await state_of(connection, seq) for seq in (1, 2)] == ["unknown", "skipped"]
    assert await range_counters(connection) == await recount(connection)
    (group,) = (await summarise_in_doubt(connection, campaign)).groups
    assert group.reason == "cancelled before it was sent again"


@pytest.mark.parametrize("guarded", [True, False])
async def test_a_recipient_in_doubt_whose_resend_was_refused_is_in_doubt_when_the_campaign_ends(
    connection: Connection, guarded: bool
) -> None:
    """Only the later attempt was certainly not accepted, or the guard deferred it and it was never made."""
    campaign = await plant_campaign(connection)
    await put_in_doubt(connection, FIRST_RANGE, 1)
    assert await resend(connection, campaign, "ana") == 1
    due = await due_retries(connection, [HeldRange(FIRST_RANGE, campaign, 10, 10, "open")], 10)
    if guarded:
        await postpone_retries(connection, [Postponed(due[0], 6.0, "pair rate")])
    else:
        await claim_retries(connection, Lease(NUMBER, 1, 0.0), due, [])
        later = Fact(campaign, FIRST_RANGE, 1, 2, 1, NUMBER, FactKind.DEFERRED, reason="130429", wait_s=6.0)
        await record(connection, [later])
    assert await connection.fetchval("SELECT state = 'deferred' AND due_at > now() FROM pending_attempts")
    await apply_event(connection, campaign, CampaignEvent.CANCEL, "by hand")
    await close_ranges(connection, campaign, "cancelled")
    assert await state_of(connection, 1) == "unknown"
    assert await range_counters(connection) == await recount(connection)


@pytest.mark.parametrize("reason", ["opted out", "expired"])
async def test_a_recipient_in_doubt_whom_a_guard_refuses_stays_in_doubt_and_a_late_reply_counts(
    connection: Connection, reason: str
) -> None:
    """The state skipped would hide that the message may have been sent, and occupy the row of its outcome."""
    campaign = await plant_campaign(connection)
    await put_in_doubt(connection, FIRST_RANGE, 1, 2)
    assert await resend(connection, campaign, "ana") == 2
    deferred = Fact(campaign, FIRST_RANGE, 3, 1, 1, NUMBER, FactKind.DEFERRED, reason="throttled")
    await record(connection, [deferred])
    guarded = [
        Fact(campaign, FIRST_RANGE, seq, 1, 1, NUMBER, FactKind.SKIPPED, reason=reason) for seq in (1, 3)
    ]
    assert await claim_retries(connection, Lease(NUMBER, 1, 0.0), [], guarded) == {}
    assert [await state_of(connection, seq) for seq in (1, 2, 3)] == ["unknown", "deferred", "skipped"]
    (group,) = (await summarise_in_doubt(connection, campaign)).groups
    assert group.reason == f"{reason} before it was sent again"
    await record(connection, [Fact(campaign, FIRST_RANGE, 1, 1, 1, NUMBER, FactKind.ACCEPTED, "w")])
    assert await state_of(connection, 1) == "accepted"
    assert await range_counters(connection) == await recount(connection)
