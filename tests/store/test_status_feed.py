"""The feed of applied statuses: each is in it, in the order of its application, and its place can be kept."""

import asyncio
from uuid import uuid4

import pytest

from drumbeat.engine.core.states import EvidenceRank
from drumbeat.engine.core.tag import Tag
from drumbeat.engine.store import status_feed
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.status_applier import apply_statuses
from drumbeat.engine.store.status_feed import Place, delete_old, end_turn, read_feed, read_place, take_turn
from tests.kit.planted import FIRST_RANGE, installation, plant_campaign, put_in_inbox, status_event

SENT, FAILED, DELIVERED, READ = (
    int(rank) for rank in (EvidenceRank.SENT, EvidenceRank.FAILED, EvidenceRank.DELIVERED, EvidenceRank.READ)
)
FIRST_PHONE = 5511980000000


async def tagged(connection: Connection, seq: int, rank: int, **others: object) -> None:
    tag = Tag(await installation(connection), FIRST_RANGE, seq, 1, 1)
    await put_in_inbox(connection, status_event(f"w{seq}", rank, tag, **others))


async def plant(connection: Connection) -> None:
    await plant_campaign(connection, first_phone=FIRST_PHONE, recipients=10)
    await connection.execute("UPDATE campaigns SET external_id = 'crm-1'")


async def test_statuses_are_read_in_order_and_read_on_from_any_place(connection: Connection) -> None:
    await plant(connection)
    for seq, rank in ((1, SENT), (2, SENT), (1, DELIVERED)):
        await tagged(connection, seq, rank)
        await apply_statuses(connection, feeds=True)
    await tagged(connection, 2, FAILED, code=131026)
    await apply_statuses(connection, feeds=True)
    fed = await read_feed(connection, Place(), 100)
    found = [(each.phone, each.status, each.code, each.external_id) for each in fed.statuses]
    first, second = str(FIRST_PHONE + 1), str(FIRST_PHONE + 2)
    assert found == [
        (first, "sent", None, "crm-1"), (second, "sent", None, "crm-1"),
        (first, "delivered", None, "crm-1"), (second, "failed", 131026, "crm-1"),
    ]  # fmt: skip
    one_by_one, place = [], Place()
    while (page := await read_feed(connection, place, 1)).statuses:
        one_by_one += page.statuses
        place = read_place(str(page.next))
    assert one_by_one == fed.statuses
    assert page.next == place == fed.next


async def test_a_status_without_a_tag_is_in_it_and_one_of_another_program_is_not(
    connection: Connection,
) -> None:
    await plant(connection)
    await tagged(connection, 1, SENT)
    await apply_statuses(connection, feeds=True)
    await connection.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid)"
        " VALUES ($1, 3, 1, 1, 1, 1, '7', 'known')",
        FIRST_RANGE,
    )
    await connection.execute("UPDATE range_counters SET accepted = accepted + 1")
    await put_in_inbox(connection, status_event("known", READ), status_event("strange", READ))
    await apply_statuses(connection, feeds=True)
    fed = await read_feed(connection, Place(), 100)
    assert [(each.phone, each.status) for each in fed.statuses] == [
        (str(FIRST_PHONE + 1), "sent"), (str(FIRST_PHONE + 3), "read")
    ]  # fmt: skip


async def test_nothing_is_kept_unless_it_is_asked_for(connection: Connection) -> None:
    await plant(connection)
    await tagged(connection, 1, SENT)
    await apply_statuses(connection)
    assert await connection.fetchval("SELECT count(*) FROM status_feed") == 0


async def test_one_process_posts_and_another_one_when_it_is_gone(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with pool.acquire() as connection, pool.acquire() as other:
        turns = await asyncio.gather(take_turn(connection, uuid4()), take_turn(other, uuid4()))
        (turn,) = [each for each in turns if each is not None]
        await connection.execute("UPDATE status_feed_position SET leased_until = now()")
        again = await take_turn(other, uuid4())
        assert again is not None and again.place == Place()
        await end_turn(connection, turn, Place(9, 9), 0.0)  # too late: another one has it
        await end_turn(other, again, Place(3, 1), 0.0)
        later = await take_turn(connection, uuid4())
        assert later is not None and (later.place, later.attempts) == (Place(3, 1), 0)
        await end_turn(connection, later, None, 60.0)
        assert await take_turn(other, uuid4()) is None


async def test_old_ones_go(connection: Connection) -> None:
    await plant(connection)
    for seq in (1, 2):
        await tagged(connection, seq, SENT)
        await apply_statuses(connection, feeds=True)
    await connection.execute(
        "UPDATE status_feed SET applied_at = now() - make_interval(secs => $1) WHERE feed_id = 1",
        status_feed.KEPT_S + 1,
    )
    await delete_old(connection)
    assert [each.place.feed_id for each in (await read_feed(connection, Place(), 9)).statuses] == [2]


@pytest.mark.parametrize("text", ["", "12", "12.", ".5", "a.5", "-1.5", "1.5.2", "9" * 19 + ".1"])
def test_a_place_has_one_form(text: str) -> None:
    with pytest.raises(ValueError, match=r"looks like 12\.5"):
        read_place(text)
