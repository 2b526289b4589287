"""What could not be read takes nothing with it, and can be read again."""

from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drumbeat.campaigns.doctor.receiving import check_receiving
from drumbeat.engine.core.events.origin import Ours
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.webhooks import parse
from drumbeat.engine.webhooks.body_group import BodyGroup, write
from drumbeat.engine.webhooks.reread import reread
from tests.webhooks.conversation import PRODUCT, change_body, status, statuses_body

ACCOUNTS = frozenset({"1"})
NEW_WORD = statuses_body(status("wamid.1", "warmed"), status("wamid.2", "delivered"))
NO_ID = change_body("messages", {"messages": [{"type": "text", "text": {"body": "STOP"}}]})
names = st.sampled_from(
    ["id", "from", "status", "timestamp", "type", "text", "body", "errors", "code", "pricing", "wa_id", "x"]
)
odd = st.sampled_from(["", "\x00", "a\x00b", "sent", "STOP", "9" * 30, "😀", "x" * 600])
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False), odd),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=4)),
    max_leaves=12,
)


async def store(connection: Connection, body: bytes) -> None:
    group = BodyGroup(PRODUCT, Ours(ACCOUNTS))
    group.add(body)
    await write(connection, group)


async def set_aside(pool: Pool) -> int:
    count: int = await pool.fetchval("SELECT count(*) FROM unreadable_events")
    return count


@pytest.mark.parametrize("body", [NEW_WORD, NO_ID])
async def test_what_an_upgrade_understands_is_applied(
    pool: Pool, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The upgrade: `warmed` is a status, and a message needs no sender."""
    async with pool.acquire() as connection:
        await store(connection, body)
    received_at = await pool.fetchval("SELECT received_at FROM unreadable_events")
    before = await reread(pool, PRODUCT, ACCOUNTS)
    assert (before.read, sum(before.left.values()), await set_aside(pool)) == (0, 1, 1)
    assert await pool.fetchval("SELECT received_at FROM unreadable_events") == received_at
    (finding,) = [each for each in await check_receiving(pool) if each.subject == "set aside"]
    assert finding.found.startswith("1 event could not be read: a ")

    monkeypatch.setitem(parse._STATUSES, "warmed", parse._STATUSES["delivered"])
    monkeypatch.setattr(parse, "sender_of", lambda *_: "")
    monkeypatch.setattr(parse, "read_identifier", lambda given: given or "wamid.in")
    shown = await reread(pool, PRODUCT, ACCOUNTS, dry_run=True)
    assert (shown.read, await set_aside(pool)) == (1, 1)
    after = await reread(pool, PRODUCT, ACCOUNTS)
    assert (after.read, dict(after.left), await set_aside(pool)) == (1, {}, 0)
    rows = await pool.fetchval(
        "SELECT (SELECT count(*) FROM waiting_events WHERE wamid = 'wamid.1' AND status = 4)"
        " + (SELECT count(*) FROM incoming_messages)"
    )
    assert rows == 1
    assert (await reread(pool, PRODUCT, ACCOUNTS)).read == 0


async def test_what_the_store_refused_stays_until_it_can_be_stored(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from drumbeat.engine.webhooks import body_group

    real = body_group.write_together

    async def refuse(connection: Connection, parsed: Any, flow: Any) -> None:
        if parsed.messages:
            raise ValueError("an odd message")
        await real(connection, parsed, flow)

    body = change_body("messages", {"messages": [{"id": "m", "from": "5511900000009", "type": "text"}]})
    with monkeypatch.context() as patched:
        patched.setattr(body_group, "write_together", refuse)
        async with pool.acquire() as connection:
            await store(connection, body)
        shown = await reread(pool, PRODUCT, ACCOUNTS, dry_run=True)
        found = await reread(pool, PRODUCT, ACCOUNTS)
        assert shown == found
        assert dict(found.left) == {"the store refused it: an odd message": 1}
    assert (await reread(pool, PRODUCT, ACCOUNTS)).read == 1
    assert await pool.fetchval("SELECT count(*) FROM incoming_messages") == 1


@pytest.mark.parametrize("part", ["statuses", "messages"])
def test_what_is_kept_of_a_change_reads_as_the_same_part(part: str) -> None:
    value = {"metadata": {"phone_number_id": "7"}, "contacts": [{"wa_id": "1"}], part: [{"type": "x"}, 5]}
    parsed = parse.parse(change_body("messages", value, time=1780000000), PRODUCT)
    assert len(parsed.unreadable) == 2
    for kept in parsed.unreadable:
        entry = orjson.loads(kept.part)["entry"][0]
        assert (entry["id"], entry["time"]) == ("1", 1780000000)
        assert entry["changes"][0]["value"]["metadata"] == {"phone_number_id": "7"}
        again = parse.parse(kept.part, PRODUCT)
        assert [each.problem for each in again.unreadable] == [kept.problem]
        assert again.unreadable[0].part == kept.part, "or each reading would set aside another part"


_numbers = iter(range(10**9))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    statuses=st.lists(values, max_size=3),
    messages=st.lists(values, max_size=3),
    changes=st.lists(values, max_size=2),
    beside=st.dictionaries(names, values, max_size=3),
)
async def test_whatever_stands_beside_them_a_status_is_stored_and_a_stop_holds(
    connection: Connection,
    statuses: list[Any],
    messages: list[Any],
    changes: list[Any],
    beside: dict[str, Any],
) -> None:
    number = next(_numbers)
    wamid, phone = f"wamid.good.{number}", 5511900000000 + number
    stop = {"id": f"wamid.in.{number}", "from": f"+{phone}", "type": "text", "text": {"body": "STOP"}}
    value = {
        **beside,
        "statuses": [*statuses, status(wamid, "delivered")],
        "messages": [*messages, stop],
        "contacts": beside,
    }
    change = {"field": "messages", "value": value}
    entry = {"id": "1", "changes": [*changes, change]}
    body = orjson.dumps({"object": f"{PRODUCT}_business_account", "entry": [*changes, entry]})
    await store(connection, body)
    assert await connection.fetchval("SELECT count(*) FROM waiting_events WHERE wamid = $1", wamid) == 1
    assert await connection.fetchval("SELECT count(*) FROM suppressions WHERE phone = $1", phone) == 1
