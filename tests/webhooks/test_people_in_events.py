"""Every way in which an event says that a person opted out, sent to a receiver as the service sends it."""

import asyncio
import gzip
import itertools
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drumbeat.campaigns.phones.suppression import add_suppressions, remove_suppressions
from drumbeat.campaigns.results.replies import campaign_reply_page, reply_page
from drumbeat.engine.core.events.origin import Ours
from drumbeat.engine.core.events.people import refusal
from drumbeat.engine.core.events.records import AccountEvent, IncomingMessage, OptOutEvent, Parsed
from drumbeat.engine.core.tag import Tag, encode
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.inbox import EventFlow, write_together
from drumbeat.engine.store.opt_out_events import keep_events
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.status_applier import apply_statuses
from drumbeat.engine.store.unsettled import settle_events, settle_messages
from drumbeat.engine.webhooks.account import act
from drumbeat.engine.webhooks.body_group import BodyGroup, write
from drumbeat.engine.webhooks.held_changes import read_held
from drumbeat.engine.webhooks.parse import Reader
from tests.kit.account_events import plant_template, template_body
from tests.kit.planted import (
    FIRST_RANGE,
    NOON,
    NUMBER,
    installation,
    plant_campaign,
    state_of,
    status_event,
)
from tests.webhooks.conftest import Running, running
from tests.webhooks.conversation import PRODUCT, ask, change_body, post, status, statuses_body

T0 = 1780000000
PHONE = 5511900000002  # of the second planted recipient, who got OURS
OURS = "wamid.ours"
OPTED_OUT = [{"code": 131050, "title": "opted out"}]
_ids = itertools.count()


@pytest.fixture
async def open_receiver(pool: Pool) -> AsyncIterator[Running]:
    """A receiver of account 1, and a campaign of ten recipients."""
    async with pool.acquire() as connection:
        await plant_campaign(connection)
        await connection.execute("UPDATE campaigns SET started_at = to_timestamp($1)", float(T0 - 60))
    async with running(pool, accounts=("1",)) as started:  # type: ignore[arg-type]
        yield started


async def know_our_message(pool: Pool) -> None:
    """The reply to the message of PHONE is stored."""
    await pool.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid, attempted_at)"
        " VALUES ($1, 2, 1, 1, 1, 1, $2, $3, to_timestamp($4))",
        FIRST_RANGE, NUMBER, OURS, float(T0 - 30),
    )  # fmt: skip
    await pool.execute("UPDATE range_counters SET accepted = accepted + 1 WHERE range_id = $1", FIRST_RANGE)


async def send(receiver: Running, body: bytes, extra: str = "") -> None:
    assert (await ask(receiver.url, post(body, extra=extra))).status == 200


def message_body(text: str = "STOP", number: str = NUMBER, at: int = T0, **fields: Any) -> bytes:
    contacts = fields.pop("contacts", [])
    message = {
        "id": f"in.{next(_ids)}",
        "timestamp": str(at),
        "type": "text",
        "text": {"body": text},
        **fields,
    }
    value = {"metadata": {"phone_number_id": number}, "contacts": contacts, "messages": [message]}
    return change_body("messages", value)


def preference_body(
    choice: str, at: int | None = T0, phone: str = "14155550140", number: str = NUMBER
) -> bytes:
    part = {"wa_id": phone, "category": "marketing_messages", "value": choice}
    part |= {} if at is None else {"timestamp": str(at)}
    value = {"metadata": {"phone_number_id": number}, "user_preferences": [part]}
    return change_body("user_preferences", value)


def change_of_number_body(old: str, new: str, **system: str) -> bytes:
    told = {"body": f"Ben changed from {old} to {new}", "type": "user_changed_number", **system}
    return message_body(**{"from": old, "type": "system", "system": told})


async def settle(pool: Pool) -> int:
    """Everything that waits is due."""
    async with pool.acquire() as connection:
        await connection.execute("UPDATE opt_out_events SET due_at = now() WHERE due_at IS NOT NULL")
        await connection.execute("UPDATE incoming_messages SET due_at = now() WHERE due_at IS NOT NULL")
        return await settle_messages(connection) + await settle_events(connection)


async def listed(pool: Pool) -> dict[int, str]:
    rows = await pool.fetch("SELECT phone, source FROM suppressions")
    return {row["phone"]: row["source"] for row in rows}


@pytest.mark.parametrize("sender", ["+14155550148", "+1 415 555-0148", 14155550148, "14155550148"])
async def test_a_stop_in_any_spelling_of_the_sender(open_receiver: Running, sender: str | int) -> None:
    await send(open_receiver, message_body(**{"from": sender}))
    assert await listed(open_receiver.pool) == {14155550148: "word"}


async def test_a_stop_that_holds_a_nul(open_receiver: Running) -> None:
    await send(open_receiver, message_body("STOP\x00", **{"from": "14155550148"}))
    assert await listed(open_receiver.pool) == {14155550148: "word"}


async def test_a_contact_tells_the_phone_of_a_user_id(open_receiver: Running) -> None:
    contacts = [{"user_id": "US.1", "wa_id": "14155550101"}, {"user_id": "US.2", "wa_id": "14155550102"}]
    await send(open_receiver, message_body(from_user_id="US.2", contacts=contacts))
    assert set(await listed(open_receiver.pool)) == {14155550102}


@pytest.mark.parametrize(
    "sender", [{"from_user_id": "US.13"}, {"from": "US.13"}, {}, {"from": "120363025000000001"}]
)
@pytest.mark.parametrize("known_first", [True, False])
async def test_a_stop_that_only_quotes_our_message(
    open_receiver: Running, sender: dict[str, str], known_first: bool
) -> None:
    pool = open_receiver.pool
    if known_first:
        await know_our_message(pool)
    await send(open_receiver, message_body(context={"id": OURS}, **sender))
    if not known_first:
        assert not await listed(pool)
        assert await settle(pool) == 1
        await know_our_message(pool)
        assert await settle(pool) == 0
    assert set(await listed(pool)) >= {PHONE}
    assert await pool.fetchval("SELECT sender FROM incoming_messages") == str(PHONE)
    campaign = await pool.fetchval("SELECT campaign_id FROM campaigns")
    (reply,) = (await campaign_reply_page(pool, campaign)).replies
    assert (reply.phone, reply.quotes_message) == (str(PHONE), True)


async def test_a_stop_of_nobody_whom_we_know_is_kept_and_counted_once(open_receiver: Running) -> None:
    pool = open_receiver.pool
    await send(open_receiver, message_body(**{"from": "US.999"}))
    await send(open_receiver, message_body("hello", **{"from": "US.999"}))
    assert [await settle(pool) for _ in range(3)] == [1, 0, 0]
    assert {reply.phone for reply in (await reply_page(pool)).replies} == {"US.999"}
    assert await pool.fetchval("SELECT count(*) FROM incoming_messages WHERE due_at IS NOT NULL") == 0


async def test_a_stop_of_a_user_id_takes_no_status_with_it(open_receiver: Running) -> None:
    value = orjson.loads(message_body(**{"from": "US.999"}))["entry"][0]["changes"][0]["value"]
    body = orjson.loads(statuses_body(*(status(f"wamid.{n}", "delivered") for n in range(6))))
    body["entry"][0]["changes"].append({"field": "messages", "value": value})
    await send(open_receiver, orjson.dumps(body))
    assert await open_receiver.pool.fetchval("SELECT count(*) FROM waiting_events") == 6
    assert await open_receiver.pool.fetchval("SELECT count(*) FROM unreadable_events") == 0


async def test_stop_in_the_app_and_its_resume(open_receiver: Running) -> None:
    pool = open_receiver.pool
    await send(open_receiver, preference_body("stop"))
    assert await listed(pool) == {14155550140: "service"}
    await send(open_receiver, preference_body("resume", T0 + 1))
    assert await listed(pool) == {}
    actions = await pool.fetch("SELECT actor, action FROM audit ORDER BY audit_id")
    assert [tuple(row) for row in actions] == [("service", "opt-out"), ("service", "opt-in")]


@pytest.mark.parametrize("stop_first", [True, False])
async def test_resume_takes_back_neither_a_word_nor_a_person_nor_a_refusal(
    open_receiver: Running, stop_first: bool
) -> None:
    pool, phones = open_receiver.pool, ("14155550101", "14155550102", "14155550103")

    async def stop() -> None:
        for phone in phones:
            await send(open_receiver, preference_body("stop", phone=phone))

    if stop_first:
        await stop()
    await send(open_receiver, message_body(**{"from": phones[0]}))
    async with pool.acquire() as connection:
        await add_suppressions(connection, [f"+{phones[1]}"])
    await send(open_receiver, statuses_body(status("w", "failed", errors=OPTED_OUT, recipient_id=phones[2])))
    if not stop_first:
        await stop()
    for phone in phones:
        await send(open_receiver, preference_body("resume", T0 + 9, phone))
    assert await listed(pool) == dict(zip(map(int, phones), ("word", "hand", "service"), strict=True))


@pytest.mark.parametrize("stop_first", [True, False])
async def test_a_word_does_not_take_back_a_stop_in_the_app(open_receiver: Running, stop_first: bool) -> None:
    pool, phone = open_receiver.pool, "14155550140"
    stops = [preference_body("stop"), message_body(**{"from": phone})]
    for body in stops if stop_first else reversed(stops):
        await send(open_receiver, body)
    await send(open_receiver, message_body("START", at=T0 + 5, **{"from": phone}))
    assert await listed(pool) == {int(phone): "service"}
    await send(open_receiver, preference_body("resume", T0 + 9))
    assert await listed(pool) == {}


@pytest.mark.parametrize(("resumed_at", "is_listed"), [(-1, True), (0, True), (1, False)])
@pytest.mark.parametrize("stop_first", [True, False])
async def test_the_later_choice_counts_in_any_order(
    open_receiver: Running, stop_first: bool, resumed_at: int, is_listed: bool
) -> None:
    bodies = [preference_body("stop"), preference_body("resume", T0 + resumed_at)]
    for body in bodies if stop_first else reversed(bodies):
        await send(open_receiver, body)
    assert bool(await listed(open_receiver.pool)) is is_listed


async def test_a_stop_word_that_comes_late_undoes_no_later_start(open_receiver: Running) -> None:
    start = message_body("START", at=T0 + 5, **{"from": "14155550140"})
    for body in (start, message_body(at=T0, **{"from": "14155550140"})):
        await send(open_receiver, body)
    assert await listed(open_receiver.pool) == {}


REPEATED = [
    preference_body("stop"),
    preference_body("stop", None),
    message_body(**{"from": "+14155550140"}),
    statuses_body(status("w", "failed", errors=OPTED_OUT, recipient_id="+14155550140")),
]


@pytest.mark.parametrize("body", REPEATED)
async def test_a_repeated_event_puts_nobody_back(open_receiver: Running, body: bytes) -> None:
    pool = open_receiver.pool
    await send(open_receiver, body)
    assert set(await listed(pool)) == {14155550140}
    async with pool.acquire() as connection:
        await remove_suppressions(connection, ["+14155550140"])
    await send(open_receiver, body)
    await settle(pool)
    assert await listed(pool) == {}


async def test_a_choice_without_a_time_counts_again_after_the_other_one(open_receiver: Running) -> None:
    stop, resume = (preference_body(choice, None) for choice in ("stop", "resume"))
    counts = []
    for body in (stop, stop, resume, resume, stop, stop, resume):
        await send(open_receiver, body)
        counts.append(len(await listed(open_receiver.pool)))
    assert counts == [1, 1, 0, 0, 1, 1, 0]


async def test_a_change_of_number_without_a_time_counts_once(open_receiver: Running) -> None:
    pool, change = open_receiver.pool, orjson.loads(change_of_number_body("14155550152", "14155550198"))
    del change["entry"][0]["changes"][0]["value"]["messages"][0]["timestamp"]
    for body in (message_body(**{"from": "14155550152"}), orjson.dumps(change)):
        await send(open_receiver, body)
    assert 14155550198 in await listed(pool)
    async with pool.acquire() as connection:
        await remove_suppressions(connection, ["+14155550198"])
    await send(open_receiver, orjson.dumps(change))
    assert 14155550198 not in await listed(pool)


async def test_two_receivers_of_the_same_opt_outs_do_not_wait_for_each_other_for_ever(pool: Pool) -> None:
    """The first holds an event and wants the lock, while the second has a message and the same event."""
    refused = statuses_body(status("w", "failed", errors=OPTED_OUT, recipient_id="14155550140"))
    async with pool.acquire() as connection, pool.acquire() as other:
        first, second = Parsed(), Parsed()
        Reader(first, PRODUCT).read(refused)
        for body in (refused, message_body(**{"from": "14155550148"})):
            Reader(second, PRODUCT).read(body)
        transaction = connection.transaction()
        await transaction.start()
        await keep_events(connection, [refusal(row) for row in first.opted_out])
        waiting = asyncio.create_task(write_together(other, second, EventFlow()))
        await asyncio.sleep(0.3)
        async with asyncio.timeout(3):
            await connection.execute(queries("opt_outs")["lock"])
            await transaction.commit()
            await waiting
    assert set(await listed(pool)) == {14155550148}


@pytest.mark.parametrize(
    "others", [{}, {"recipient_id": None}, {"recipient_id": "US.7"}, {"recipient_user_id": "US.7"}]
)
@pytest.mark.parametrize("known_first", [True, False])
async def test_a_refusal_that_names_only_our_message(
    open_receiver: Running, others: dict[str, Any], known_first: bool
) -> None:
    pool = open_receiver.pool
    if known_first:
        await know_our_message(pool)
    told = status(OURS, "failed", errors=OPTED_OUT) | {"recipient_id": None} | others
    await send(open_receiver, statuses_body(told))
    if not known_first:
        assert await settle(pool) == 1
        await know_our_message(pool)
        await settle(pool)
    assert set(await listed(pool)) >= {PHONE}


@pytest.mark.parametrize("fields", [{"wa_id": "14155550198"}, {"new_wa_id": "+14155550198"}, {}])
@pytest.mark.parametrize("suppressed_first", [True, False])
async def test_the_new_number_of_a_suppressed_person(
    open_receiver: Running, fields: dict[str, str], suppressed_first: bool
) -> None:
    pool, stop = open_receiver.pool, message_body(**{"from": "14155550152"})
    change = change_of_number_body("14155550152", "14155550198", **fields)
    for body in (stop, change) if suppressed_first else (change, stop):
        await send(open_receiver, body)
    assert await listed(pool) == {14155550152: "word", 14155550198: "word"}
    assert await pool.fetchval("SELECT count(*) FROM incoming_messages") == 1
    why = await pool.fetchval("SELECT detail->>'why' FROM audit WHERE actor = 'service'")
    assert why == "changed number"
    async with pool.acquire() as connection:
        await remove_suppressions(connection, ["+14155550198"])
    await send(open_receiver, change)
    assert 14155550198 not in await listed(pool)


async def test_a_new_number_of_somebody_else_suppresses_nobody(open_receiver: Running) -> None:
    await send(open_receiver, change_of_number_body("14155550152", "14155550198"))
    assert await listed(open_receiver.pool) == {}
    assert (await reply_page(open_receiver.pool)).replies == []


async def test_a_sender_of_many_digits_stands_among_the_replies(open_receiver: Running) -> None:
    pool = open_receiver.pool
    for sender in ("120363025000000001", "US.1", "-5", "+14155550148"):
        await send(open_receiver, message_body("hello", **{"from": sender}))
    assert len((await reply_page(pool)).replies) == 4
    campaign = await pool.fetchval("SELECT campaign_id FROM campaigns")
    assert (await campaign_reply_page(pool, campaign)).replies == []


def of_another_account(body: bytes) -> bytes:
    return body.replace(b'"id":"1","changes"', b'"id":"999","changes"')


FOREIGN_BODIES = [
    of_another_account(message_body(**{"from": "14155550148"})),
    of_another_account(preference_body("stop")),
    of_another_account(statuses_body(status("w", "failed", errors=OPTED_OUT, recipient_id="14155550140"))),
    of_another_account(template_body("PAUSED")),
    message_body(number="555", **{"from": "14155550148"}),
    preference_body("stop", number="555"),
    statuses_body(status("w", "failed", errors=OPTED_OUT, recipient_id="14155550140"), number="555"),
]


@pytest.mark.parametrize("body", FOREIGN_BODIES)
async def test_what_is_not_ours_changes_nothing(open_receiver: Running, body: bytes) -> None:
    pool = open_receiver.pool
    async with pool.acquire() as connection:
        await plant_template(connection)
    await open_receiver.intake.look()
    await send(open_receiver, body)
    async with pool.acquire() as connection:
        await act(connection)
        await settle(pool)
    assert await listed(pool) == {}
    assert await pool.fetchval("SELECT count(*) FROM incoming_messages") == 0
    assert await pool.fetchval("SELECT status FROM templates") == "APPROVED"
    assert await pool.fetchval("SELECT state FROM campaigns") == "running"
    counts = open_receiver.metrics.events
    assert counts["other_account"] + counts["unknown_number"] + counts["status"] >= 1


async def test_accounts_in_one_body_count_each_by_itself(open_receiver: Running) -> None:
    ours, theirs = (orjson.loads(message_body(**{"from": f"1415555010{n}"})) for n in (1, 2))
    theirs["entry"][0]["id"] = 999
    await send(open_receiver, orjson.dumps(ours | {"entry": theirs["entry"] + ours["entry"]}))
    assert set(await listed(open_receiver.pool)) == {14155550101}


@pytest.mark.parametrize("tagged", [True, False])
async def test_a_status_of_our_message_is_a_fact_whoever_sends_it(
    open_receiver: Running, tagged: bool
) -> None:
    pool = open_receiver.pool
    await know_our_message(pool)
    async with pool.acquire() as connection:
        tag = encode(Tag(await installation(connection), FIRST_RANGE, 2, 1, 1))
        others = {"biz_opaque_callback_data": tag} if tagged else {}
        told = status(OURS, "failed", errors=OPTED_OUT, recipient_id="14155550140", **others)
        await send(open_receiver, of_another_account(statuses_body(told, number="555")))
        await apply_statuses(connection)
        assert await state_of(connection, 2) == "failed"
    assert PHONE in await listed(pool) and 14155550140 not in await listed(pool)


async def test_what_came_for_a_number_before_it_was_known_counts_later(open_receiver: Running) -> None:
    pool = open_receiver.pool
    await open_receiver.intake.look()
    await send(open_receiver, message_body(number="555", **{"from": "14155550148"}))
    await send(open_receiver, preference_body("stop", number="555"))
    async with pool.acquire() as connection:
        assert await read_held(connection, PRODUCT, Ours(frozenset({"1"}))) == 0
        await connection.execute("INSERT INTO numbers (phone_number_id) VALUES ('555')")
        assert await read_held(connection, PRODUCT, Ours(frozenset({"1"}))) == 2
    assert set(await listed(pool)) == {14155550148, 14155550140}
    assert await pool.fetchval("SELECT count(*) FROM unreadable_events") == 0


@pytest.mark.parametrize(
    ("word", "status_after"),
    [("REINSTATED", "APPROVED"), ("UNLOCKED", "APPROVED"), ("FLAGGED", "PAUSED"), ("NEW_WORD", "PAUSED")],
)
async def test_a_word_of_a_template_event(connection: Connection, word: str, status_after: str) -> None:
    await plant_template(connection)
    await connection.execute("UPDATE templates SET status = 'PAUSED', status_reason = 'quality'")
    group = BodyGroup(PRODUCT)
    group.add(template_body(word))
    await write(connection, group)
    await act(connection)
    row = await connection.fetchrow("SELECT status, status_reason, compare_at FROM templates")
    assert row["status"] == status_after and row["compare_at"] is not None
    assert row["status_reason"] == ("quality" if status_after == "PAUSED" else None)


@pytest.mark.parametrize(
    ("packed", "coding", "answer"),
    [
        (gzip.compress(message_body(**{"from": "14155550108"})), "gzip", 200),
        (message_body(**{"from": "14155550108"}), "identity", 200),
        (gzip.compress(message_body(**{"from": "14155550108"}))[:-9], "gzip", 415),
        (gzip.compress(message_body(**{"from": "14155550108"})) + gzip.compress(b" "), "gzip", 415),
        (b"no gzip", "gzip", 415),
        (b"{}", "br", 415),
        (gzip.compress(b" " * 40_000_000), "gzip", 413),
    ],
)
async def test_a_packed_body(open_receiver: Running, packed: bytes, coding: str, answer: int) -> None:
    reply = await ask(open_receiver.url, post(packed, extra=f"Content-Encoding: {coding}\r\n"))
    assert reply.status == answer
    assert set(await listed(open_receiver.pool)) == ({14155550108} if answer == 200 else set())
    assert await open_receiver.pool.fetchval("SELECT count(*) FROM unreadable_events") == 0


ODD = st.sampled_from(
    ["\x00", "\ud800", "x\x00y", 10**40, -(2**63) - 1, 2**64, 1e300, "1" * 18, "+1", "US.1", "stop", "system",
     "failed", "marketing_messages", "user_changed_number", True, None, [], {}, "99999999999999999999"]
)  # fmt: skip
KEYS = st.sampled_from(
    ["id", "from", "from_user_id", "type", "text", "body", "context", "timestamp", "system", "wa_id", "status",
     "errors", "code", "recipient_id", "biz_opaque_callback_data", "value", "category", "user_id", "metadata",
     "phone_number_id", "messages", "statuses", "contacts", "user_preferences", "field", "changes", "time"]
)  # fmt: skip
TREES = st.recursive(
    ODD | st.text(max_size=5) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=12,
)
FIELDS = st.sampled_from(["messages", "user_preferences", "message_template_status_update", "account_update"])


@given(
    beside=st.lists(TREES, max_size=3),
    messages=TREES,
    values=st.lists(st.tuples(FIELDS, TREES), max_size=3),
    entries=st.lists(TREES, max_size=2),
    extra=TREES,
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_whatever_stands_beside_a_good_status_it_is_kept(
    pool: Pool, beside: list[Any], messages: Any, values: list[Any], entries: list[Any], extra: Any
) -> None:
    await pool.execute("TRUNCATE inbox, inbox_groups, incoming_messages, unreadable_events, opt_out_events")
    value = {
        "messages": messages,
        "contacts": extra,
        "statuses": [*beside, status("good", "delivered"), *beside],
    }
    changes = [{"field": field, "value": odd} for field, odd in values]
    good = {"changes": [*changes, {"field": "messages", "value": value}, extra], "time": extra}
    body = json.dumps({"object": f"{PRODUCT}_business_account", "entry": [*entries, good, *entries]}).encode()
    group = BodyGroup(PRODUCT)
    group.add(body)
    async with pool.acquire() as connection:
        for _ in range(2):
            await write(connection, group)
        await settle(pool)
        await act(connection)
    assert await pool.fetchval("SELECT count(*) FROM waiting_events WHERE wamid = 'good'") == 2
    await reply_page(pool)


@pytest.mark.parametrize("refused", ["statuses", "messages", "account", "opted_out", "opt_outs"])
async def test_a_part_that_the_store_refuses_takes_no_other_with_it(
    connection: Connection, refused: str
) -> None:
    """Whatever a later fault lets through to the store."""
    group = BodyGroup(PRODUCT)
    group.add(statuses_body(*(status(f"w{n}") for n in range(5))))
    group.add(message_body(**{"from": "14155550148"}))
    whole = group.parsed
    bad = {
        "statuses": status_event("\ud800", 2),
        "messages": IncomingMessage("m", None, "\x00", "text", NOON, "{}"),
        "account": AccountEvent("f", "no json", "s", None),
        "opted_out": status_event("\ud800", 3),
        "opt_outs": OptOutEvent("k", "stop", 2**70, None, None, None, None, None, None, NOON),
    }[refused]
    getattr(whole, refused).append(bad)

    class OneBody(BodyGroup):
        def apart(self) -> Iterator[tuple[bytes, Parsed]]:
            yield b"the body", whole

    together = OneBody(PRODUCT)
    together.parsed = whole
    await write(connection, together)
    assert await connection.fetchval("SELECT count(*) FROM waiting_events") == 5
    assert await connection.fetchval("SELECT count(*) FROM suppressions") == 1
    assert await connection.fetchval("SELECT body FROM unreadable_events") == b"the body"
