"""When a doubt is probably not sent: it is old enough, and other events of its number kept arriving."""

import pytest

from engine.core.tag import Tag
from engine.store.database import Connection
from engine.store.in_doubt import resend_by_policy, summarise_in_doubt
from engine.webhooks.status_applier import apply_statuses
from tests.webhooks.planted import (
    FIRST_RANGE,
    age,
    doubt,
    installation,
    make_all_due,
    plant_campaign,
    put_in_inbox,
    range_counters,
    recount,
    state_of,
    status_event,
)


async def test_a_doubt_is_silent_only_when_it_is_old_enough(connection: Connection) -> None:
    """One of two of a range: the other makes the policy look into it. Only its range is opened again."""
    await plant_campaign(connection, on_unknown="resend-silent", ranges=2)
    await doubt(connection, FIRST_RANGE, 1, 2)
    await doubt(connection, FIRST_RANGE + 1, 2)
    await connection.execute("UPDATE ranges SET state = 'done', phone_number_id = NULL")
    await age(connection, 1000)
    await connection.execute(
        "UPDATE pending_attempts SET since = now() - interval '500 seconds' WHERE seq = 2"
    )
    await connection.execute("UPDATE event_flow SET last_event_at = now() + interval '1 hour'")
    assert await resend_by_policy(connection) == 1
    assert [await state_of(connection, seq) for seq in (1, 2)] == ["deferred", "unknown"]
    assert await connection.fetch("SELECT state FROM ranges ORDER BY range_id") == [("open",), ("done",)]


async def test_silence_is_that_of_a_number_whose_events_come(connection: Connection) -> None:
    """Of a number that is silent itself nobody knows: another number's events say nothing of its messages."""
    await plant_campaign(connection, on_unknown="resend-silent")
    await doubt(connection, FIRST_RANGE, 1)
    await doubt(connection, FIRST_RANGE, 2, number="silent")
    await doubt(connection, FIRST_RANGE, 3, number="unheard")
    await doubt(connection, FIRST_RANGE, 4, number="heard again")
    await age(connection, 1000)
    await connection.execute("INSERT INTO event_flow VALUES ('silent', now() - interval '900 seconds')")
    await connection.execute(
        "INSERT INTO event_flow VALUES ('heard again', now(), now() - interval '850 seconds')"
    )
    assert await resend_by_policy(connection) == 1
    assert [await state_of(connection, seq) for seq in range(1, 5)] == ["deferred"] + ["unknown"] * 3


async def test_after_a_gap_silence_counts_anew(connection: Connection) -> None:
    """Where nobody received events for long, its own may be among those that the service has yet to repeat."""
    campaign = await plant_campaign(connection, on_unknown="resend-silent")
    await doubt(connection, FIRST_RANGE, 1, 2)
    await age(connection, 3600)
    for flows_s, silent in ((850, 0), (950, 2)):
        await connection.execute(
            "UPDATE event_flow SET flows_since = now() - make_interval(secs => $1)", flows_s
        )
        assert (await summarise_in_doubt(connection, campaign)).probably_not_sent == silent
        assert await resend_by_policy(connection) == silent


@pytest.mark.parametrize(
    ("tagged", "recipient"),
    [(True, "5511980000002"), (False, "5511980000002"), (False, "551180000002")],
    ids=["tagged", "untagged", "another spelling"],
)
@pytest.mark.parametrize("returned", [True, False])
async def test_silence_is_none_while_its_own_event_waits(
    connection: Connection, tagged: bool, recipient: str, returned: bool
) -> None:
    """In the group that was committed, and by itself after a fold that could not match it yet."""
    await plant_campaign(connection, recipients=3, on_unknown="resend-silent", first_phone=5511980000000)
    tag = Tag(await installation(connection), FIRST_RANGE, 2, 1, 1) if tagged else None
    event = status_event("w", 2, tag, recipient=recipient)
    if returned:
        await connection.execute("UPDATE ranges SET claimed_through = 0")
    else:
        await doubt(connection, FIRST_RANGE, 1, 2, 3)
        await age(connection, 1000)
    await put_in_inbox(connection, status_event("another", 2, recipient="5511980000009"), event)
    if returned:
        await connection.execute("UPDATE recipients SET seq = seq + 10")
        assert (await apply_statuses(connection)).returned == 2
        await connection.execute("UPDATE recipients SET seq = seq - 10")
        await connection.execute("UPDATE ranges SET claimed_through = last_seq")
        await doubt(connection, FIRST_RANGE, 1, 2, 3)
        await age(connection, 1000)
    assert await resend_by_policy(connection) == 2
    assert [await state_of(connection, seq) for seq in (1, 2, 3)] == ["deferred", "unknown", "deferred"]
    await make_all_due(connection)
    await apply_statuses(connection)
    assert await state_of(connection, 2) == "sent"
    assert await resend_by_policy(connection) == 0
    assert await range_counters(connection) == await recount(connection)


async def test_events_that_are_not_about_a_doubt_leave_its_silence(connection: Connection) -> None:
    """Another program's, another recipient's at the same place of another range, one that names nobody, and what another
    number sent to that person.
    """
    await plant_campaign(connection, on_unknown="resend-silent", ranges=2, first_phone=5511980000000)
    await doubt(connection, FIRST_RANGE, 1, 2)
    await doubt(connection, FIRST_RANGE, 3, number="another")
    await doubt(connection, FIRST_RANGE + 1, 2)
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
