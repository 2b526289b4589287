"""One message of a program: stored and started once for each key, whatever is repeated or killed."""

import asyncio
from typing import Any

import pytest

from drumbeat.campaigns.life import control
from drumbeat.engine.store.database import Pool
from tests.console.conftest import NUMBER, PHONE, Caller, Reply

MESSAGE: dict[str, Any] = {
    "to": f"+{PHONE + 60}",
    "number": NUMBER,
    "template": "order",
    "language": "en",
    "params": ["Ana", "A1"],
}


async def post(caller: Caller, key: str, **changed: Any) -> Reply:
    asked = {**MESSAGE, **changed}
    return await caller("POST", "/api/v1/messages", json=asked, headers={"Idempotency-Key": key})


async def stored(pool: Pool) -> list[tuple[str, int]]:
    rows = await pool.fetch(
        "SELECT state, recipients FROM campaigns WHERE name LIKE 'message-%' ORDER BY name"
    )
    return [(row["state"], row["recipients"]) for row in rows]


async def test_a_repeat_sends_once_and_another_key_another(manager: Caller, pool: Pool) -> None:
    first, again = await post(manager, "a"), await post(manager, "a")
    assert (first.status, again.status) == (201, 201)
    assert first.body["name"] == again.body["name"] and first.body["state"] == "running"
    assert await stored(pool) == [("running", 1)]
    await post(manager, "b")
    assert await stored(pool) == [("running", 1)] * 2
    assert await pool.fetchval(
        "SELECT bool_and(priority = 'urgent') FROM campaigns WHERE name LIKE 'message-%'"
    )


async def test_a_key_is_for_one_message(manager: Caller, pool: Pool) -> None:
    await post(manager, "a")
    other = await post(manager, "a", to=f"+{PHONE + 61}")
    assert (other.status, other.body["key"]) == (422, "name") and await stored(pool) == [("running", 1)]


async def test_a_message_whose_start_was_cut_off_is_not_stored_and_the_repeat_sends_it(
    manager: Caller, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def killed(*_: Any, **__: Any) -> None:
        raise ConnectionResetError

    with monkeypatch.context() as patched:
        patched.setattr(control, "start", killed)
        await post(manager, "a")
    assert await stored(pool) == []
    assert (await post(manager, "a")).status == 201
    assert await stored(pool) == [("running", 1)]


async def test_the_same_message_is_asked_for_several_times_at_once(manager: Caller, pool: Pool) -> None:
    replies = await asyncio.gather(*(post(manager, "a") for _ in range(4)))
    assert {reply.status for reply in replies} <= {201, 409} and 201 in {reply.status for reply in replies}
    assert await stored(pool) == [("running", 1)]


async def test_a_suppressed_person_in_any_spelling_is_skipped(manager: Caller, pool: Pool) -> None:
    short = "551198800001"
    await pool.execute("INSERT INTO suppressions (phone, reason) VALUES ($1, 'said stop')", int(short))
    assert (await post(manager, "a", to="+5511998800001")).status == 201
    row = await pool.fetchrow(
        "SELECT phone, skip_reason, skipped, variables FROM recipients JOIN range_counters USING (range_id)"
        " JOIN campaigns USING (campaign_id) WHERE name LIKE 'message-%'"
    )
    assert row is not None and (row["phone"], row["skip_reason"], row["skipped"]) == (
        5511998800001, "suppressed", 1,
    )  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": "hello"},
        {"template": None},
        {"language": None},
        {"to": "12"},
        {"number": "1"},
        {"params": ["Ana"]},
        {"template": None, "language": None, "params": [], "message": {"type": "song"}},
        {"surprise": 1},
    ],
    ids=str,
)
async def test_what_cannot_be_sent_is_refused_and_stores_nothing(
    manager: Caller, pool: Pool, wrong: dict[str, Any]
) -> None:
    refused = await post(manager, "a", **wrong)
    assert refused.status in (409, 422) and refused.body["remedy"] is not None
    assert await stored(pool) == []


async def test_a_finished_message_is_not_sent_again(manager: Caller, pool: Pool) -> None:
    text: dict[str, Any] = {"template": None, "language": None, "params": [], "text": "Your code is 1234"}
    await post(manager, "a", **text)
    await pool.execute("UPDATE campaigns SET state = 'finished' WHERE name LIKE 'message-%'")
    assert (await post(manager, "a", **text)).body["state"] == "finished"
