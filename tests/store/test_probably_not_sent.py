"""When an attempt in doubt is probably not sent: it is old enough, and other events of its number kept arriving."""

import pytest

from drumbeat.engine.core.tag import Tag
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.in_doubt import resend_by_policy, summarise_in_doubt
from drumbeat.engine.store.status_applier import apply_statuses
from tests.kit.planted import (
    FIRST_RANGE,
    age,
    installation,
    make_all_due,
    plant_campaign,
    put_in_doubt,
    put_in_inbox,
    range_counters,
    recount,
    state_of,
    status_event,
)


async def test_an_attempt_is_probably_not_sent_only_when_it_is_in_doubt_for_long_enough(
    connection: Connection,
) -> None:
    """One of two in a range is old enough. Only that range is opened again."""
    await plant_campaign(connection, on_unknown="resend-silent", ranges=2)
    await put_in_doubt(connection, FIRST_RANGE, 1, 2)
    await put_in_doubt(connection, FIRST_RANGE + 1, 2)
    await connection.execute("UPDATE ranges SET state = 'done', phone_number_id = NULL")
    await age(connection, 1000)
    await connection.execute(
        "UPDATE pending_attempts SET since = now() - interval '500 seconds' WHERE seq = 2"
    )
    await connection.execute("UPDATE event_flow SET last_event_at = now() + interval '1 hour'")
    assert await resend_by_policy(connection) == 1
    assert [await state_of(connection, seq) for seq in (1, 2)] == ["deferred", "unknown"]
    assert await connection.fetch("SELECT state FROM ranges ORDER BY range_id") == [("open",), ("done",)]


async def test_an_attempt_is_probably_not_sent_only_if_events_of_its_number_arrive(
    connection: Connection,
) -> None:
    """Another number's events say nothing about the messages of a number without events."""
    await plant_campaign(connection, on_unknown="resend-silent")
    await put_in_doubt(connection, FIRST_RANGE, 1)
    await put_in_doubt(connection, FIRST_RANGE, 2, number="silent")
    await put_in_doubt(connection, FIRST_RANGE, 3, number="unheard")
    await put_in_doubt(connection, FIRST_RANGE, 4, number="heard again")
    await age(connection, 1000)
    await connection.execute("INSERT INTO event_flow VALUES ('silent', now() - interval '900 seconds')")
    await connection.execute(
        "INSERT INTO event_flow VALUES ('heard again', now(), now() - interval '850 seconds')"
    )
    assert await resend_by_policy(connection) == 1
    assert [await state_of(connection, seq) for seq in range(1, 5)] == ["deferred"] + ["unknown"] * 3


async def test_a_receiver_that_was_back_for_a_moment_says_nothing(connection: Connection) -> None:
    """Events came for some seconds after a long gap, an hour ago, and none since."""
    campaign = await plant_campaign(connection, on_unknown="resend-silent")
    await put_in_doubt(connection, FIRST_RANGE, 1)
    await age(connection, 9000)
    await connection.execute(
        "UPDATE event_flow SET flows_since = now() - interval '3605 seconds', last_event_at = now() - interval '3600 seconds'"
    )
    assert (await summarise_in_doubt(connection, campaign)).probably_not_sent == 0
    assert await resend_by_policy(connection) == 0


async def test_after_a_gap_in_the_events_the_wait_starts_again(connection: Connection) -> None:
    """After a gap in receiving, the service repeats events later. Its own may be among them."""
    campaign = await plant_campaign(connection, on_unknown="resend-silent")
    await put_in_doubt(connection, FIRST_RANGE, 1, 2)
    await age(connection, 3600)
    for flows_s, not_sent in ((850, 0), (950, 2)):
        await connection.execute(
            "UPDATE event_flow SET flows_since = now() - make_interval(secs => $1)", flows_s
        )
        assert (await summarise_in_doubt(connection, campaign)).probably_not_sent == not_sent
        assert await resend_by_policy(connection) == not_sent


async def test_the_time_is_told_when_all_of_them_are_probably_not_sent(connection: Connection) -> None:
    """It is that of the last one, and begins anew after a gap; of a number without events nobody can tell."""
    campaign = await plant_campaign(connection)
    await put_in_doubt(connection, FIRST_RANGE, 1, 2)
    await age(connection, 100)
    await connection.execute(
        "UPDATE pending_attempts SET since = now() - interval '50 seconds' WHERE seq = 2"
    )

    async def told_in_s() -> float | None:
        summary = await summarise_in_doubt(connection, campaign)
        (group,) = [group for group in summary.groups if group.phone_number_id != "silent"]
        assert group.all_silent_at is not None
        left: float = await connection.fetchval(
            "SELECT extract(epoch FROM $1::timestamptz - now())::float8", group.all_silent_at
        )
        return left if summary.all_silent_at else None

    assert await told_in_s() == pytest.approx(850, abs=20)
    await connection.execute("UPDATE event_flow SET flows_since = now() - interval '10 seconds'")
    assert await told_in_s() == pytest.approx(890, abs=20)
    await put_in_doubt(connection, FIRST_RANGE, 3, number="silent")
    assert await told_in_s() is None


@pytest.mark.parametrize(
    ("tagged", "recipient"),
    [(True, "5511980000002"), (False, "5511980000002"), (False, "551180000002")],
    ids=["tagged", "untagged", "another spelling"],
)
@pytest.mark.parametrize("returned", [True, False])
async def test_an_attempt_whose_own_event_waits_is_not_sent_again(
    connection: Connection, tagged: bool, recipient: str, returned: bool
) -> None:
    """The event waits in the group that was committed, or alone after it could not be matched."""
    await plant_campaign(connection, recipients=3, on_unknown="resend-silent", first_phone=5511980000000)
    tag = Tag(await installation(connection), FIRST_RANGE, 2, 1, 1) if tagged else None
    event = status_event("w", 2, tag, recipient=recipient)
    if returned:
        await connection.execute("UPDATE ranges SET claimed_through = 0")
    else:
        await put_in_doubt(connection, FIRST_RANGE, 1, 2, 3)
        await age(connection, 1000)
    await put_in_inbox(connection, status_event("another", 2, recipient="5511980000009"), event)
    if returned:
        await connection.execute("UPDATE recipients SET seq = seq + 10")
        assert (await apply_statuses(connection)).returned == 2
        await connection.execute("UPDATE recipients SET seq = seq - 10")
        await connection.execute("UPDATE ranges SET claimed_through = last_seq")
        await put_in_doubt(connection, FIRST_RANGE, 1, 2, 3)
        await age(connection, 1000)
    assert await resend_by_policy(connection) == 2
    assert [await state_of(connection, seq) for seq in (1, 2, 3)] == ["deferred", "unknown", "deferred"]
    await make_all_due(connection)
    await apply_statuses(connection)
    assert await state_of(connection, 2) == "sent"
    assert await resend_by_policy(connection) == 0
    assert await range_counters(connection) == await recount(connection)


async def test_events_of_other_messages_do_not_count_as_its_own(connection: Connection) -> None:
    """An event of another program, of the same seq in another range, without a recipient, and of another number to the
    same recipient.
    """
    await plant_campaign(connection, on_unknown="resend-silent", ranges=2, first_phone=5511980000000)
    await put_in_doubt(connection, FIRST_RANGE, 1, 2)
    await put_in_doubt(connection, FIRST_RANGE, 3, number="another")
    await put_in_doubt(connection, FIRST_RANGE + 1, 2)
    await age(connection, 1000)
    tag = Tag(await installation(connection), FIRST_RANGE + 1, 2, 1, 1)
    for event in (
        status_event("w1", 2, recipient="5511980000001", installation=""),
        status_event("w2", 2, tag),
        status_event("w3", 2),
        status_event("w4", 2, recipient="5511980000001", phone_number_id="another"),
    ):
        await put_in_inbox(connection, event)
    assert await resend_by_policy(connection) == 2
    assert [await state_of(connection, seq) for seq in (1, 2)] == ["deferred", "deferred"]
    assert await state_of(connection, 2, FIRST_RANGE + 1) == "unknown"
