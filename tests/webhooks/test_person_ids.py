"""A person whom the service named by phone and id before is known when an event names the id alone."""

from typing import Any

import pytest

from drumbeat.campaigns.doctor.receiving import check_receiving
from drumbeat.campaigns.life.forget import forget_person
from drumbeat.engine.core.events.people import user_id_of
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.unsettled import settle_events, settle_messages
from drumbeat.engine.webhooks.body_group import BodyGroup, write
from tests.webhooks.conversation import PRODUCT, change_body

PHONE, OTHER, ID = 5511987654321, 5511987654322, "user.8842"


def message(wamid: str, text: str, **sender: Any) -> dict[str, Any]:
    return {"id": wamid, "type": "text", "text": {"body": text}, "timestamp": "1780000000", **sender}


BY_BOTH = {
    "in the message": ([message("m1", "hello", **{"from": str(PHONE), "from_user_id": ID})], []),
    "in the contact": (
        [message("m1", "hello", **{"from": f"+{PHONE}"})],
        [{"wa_id": str(PHONE), "user_id": ID}],
    ),
}
ALONE = {
    "as the sender": {"from": ID},
    "in a field of its own": {"from_user_id": ID},
}


async def receive(connection: Connection, messages: list[Any], contacts: list[Any] | None = None) -> None:
    group = BodyGroup(PRODUCT)
    group.add(change_body("messages", {"messages": messages, "contacts": contacts or []}))
    await write(connection, group)


async def suppressed(connection: Connection) -> list[int]:
    return [row["phone"] for row in await connection.fetch("SELECT phone FROM suppressions ORDER BY phone")]


@pytest.mark.parametrize("alone", ALONE)
@pytest.mark.parametrize("both", BY_BOTH)
async def test_a_stop_by_the_id_alone_holds(connection: Connection, both: str, alone: str) -> None:
    await receive(connection, *BY_BOTH[both])
    await receive(connection, [message("m2", "STOP", **ALONE[alone])])
    assert PHONE in await suppressed(connection)
    assert await connection.fetchval("SELECT sender FROM incoming_messages WHERE wamid = 'm2'") == str(PHONE)


@pytest.mark.parametrize("alone", ALONE)
@pytest.mark.parametrize("both", BY_BOTH)
async def test_a_stop_that_came_before_the_phone_was_known_holds_then(
    connection: Connection, both: str, alone: str
) -> None:
    await receive(connection, [message("m2", "STOP", **ALONE[alone])])
    while await connection.fetchval(
        "UPDATE incoming_messages SET due_at = now() WHERE due_at IS NOT NULL RETURNING 1"
    ):
        await settle_messages(connection)
        await connection.execute("UPDATE incoming_messages SET due_at = NULL, received_at = '-infinity'")
    assert await suppressed(connection) == []
    await receive(connection, *BY_BOTH[both])
    await settle_messages(connection)
    assert PHONE in await suppressed(connection)


async def test_the_id_of_one_frees_or_stops_no_other(connection: Connection) -> None:
    await receive(connection, *BY_BOTH["in the message"])
    await receive(connection, [message("m2", "STOP", **{"from": "user.9"})])
    assert await suppressed(connection) == []
    await receive(connection, [message("m3", "hi", **{"from": str(OTHER), "from_user_id": ID})])
    await receive(connection, [message("m4", "STOP", **{"from": ID})])
    assert PHONE not in await suppressed(connection) and OTHER in await suppressed(connection), (
        "the latest phone"
    )


CHOICE = {"user_id": ID, "category": "marketing_messages", "timestamp": "1780000100"}
NAMED = {
    "beside a status": (
        "messages",
        {
            "statuses": [{"id": "wamid.1", "status": "delivered", "timestamp": "1780000000"}],
            "contacts": [{"wa_id": str(PHONE), "user_id": ID}],
        },
    ),
    "by another choice": (
        "user_preferences",
        {"user_preferences": [{**CHOICE, "wa_id": f"+{PHONE}", "category": "other", "value": "resume"}]},
    ),
}


async def choose(connection: Connection, value: str, **more: Any) -> None:
    await receive_change(
        connection, "user_preferences", {"user_preferences": [{**CHOICE, "value": value, **more}]}
    )


async def receive_change(connection: Connection, field: str, value: dict[str, Any]) -> None:
    group = BodyGroup(PRODUCT)
    group.add(change_body(field, value))
    await write(connection, group)


@pytest.mark.parametrize("named", NAMED)
@pytest.mark.parametrize("known", ["before", "later"])
async def test_a_choice_in_the_menu_that_names_only_the_id_holds(
    connection: Connection, named: str, known: str
) -> None:
    if known == "before":
        await receive_change(connection, *NAMED[named])
    await choose(connection, "stop")
    if known == "later":
        for _ in range(2):
            await connection.execute("UPDATE opt_out_events SET due_at = now() WHERE due_at IS NOT NULL")
            await settle_events(connection)
        assert await suppressed(connection) == []
        await receive_change(connection, *NAMED[named])
        await settle_events(connection)
    assert PHONE in await suppressed(connection)
    assert await connection.fetchval("SELECT count(*) FROM opt_out_events WHERE user_id IS NOT NULL") == 0
    await choose(connection, "resume", timestamp="1780000200")
    assert await suppressed(connection) == []


async def test_the_last_choice_counts_of_those_that_came_before_the_phone(connection: Connection) -> None:
    await choose(connection, "stop", timestamp=None)
    await choose(connection, "resume", timestamp=None)
    await choose(connection, "stop", timestamp=None)
    await receive_change(connection, *NAMED["beside a status"])
    await settle_events(connection)
    assert PHONE in await suppressed(connection)


async def test_an_older_event_does_not_move_an_id(connection: Connection) -> None:
    await receive(connection, [message("m1", "hi", **{"from": str(OTHER), "from_user_id": ID})])
    older = dict(NAMED["beside a status"][1])
    older["statuses"] = [{**older["statuses"][0], "timestamp": "1779999999"}]
    await receive_change(connection, "messages", older)
    await choose(connection, "stop")
    assert PHONE not in await suppressed(connection) and OTHER in await suppressed(connection)


async def test_doctor_counts_the_stops_of_nobody(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await receive(connection, [message("m1", "STOP", **{"from": ID, "timestamp": None})])
        await receive(connection, [message("m2", "hello", **{"from": ID, "timestamp": None})])
        await choose(connection, "stop", timestamp=None)
    (finding,) = [each for each in await check_receiving(pool) if each.subject == "opt-outs"]
    assert finding.found.startswith("2 opt-outs name no phone")


async def test_a_forgotten_person_has_no_id(connection: Connection) -> None:
    await receive(connection, *BY_BOTH["in the message"])
    await forget_person(connection, (PHONE,), actor="ana")
    assert await connection.fetchval("SELECT count(*) FROM person_ids") == 0


@pytest.mark.parametrize(
    ("message", "contacts", "found"),
    [
        ({"from_user_id": "u"}, None, "u"),
        ({}, [{"user_id": "u", "wa_id": "1"}], "u"),
        ({}, [{"user_id": "u"}, {"user_id": "v"}], None),
        ({"from_user_id": {}}, "x", None),
        ({}, [5, {"user_id": None}], None),
    ],
)
def test_the_id_that_stands_beside_a_phone(message: dict[str, Any], contacts: Any, found: str | None) -> None:
    assert user_id_of(message, contacts) == found
