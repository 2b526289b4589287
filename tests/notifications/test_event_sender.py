"""Programs hear what happened to recipients: in order, and all of it, whatever fails in between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from drumbeat.campaigns.life.forget import forget_person
from drumbeat.engine.core.recipient_event import WINDOW
from drumbeat.engine.core.tag import Tag
from drumbeat.engine.notifications import event_sender
from drumbeat.engine.notifications.event_sender import EventSender, Pauses, sending_events
from drumbeat.engine.store import recipient_events
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.opting_out import suppress_for_good
from drumbeat.engine.store.recipient_events import EventPage, event_page, number_events
from drumbeat.engine.store.recording import record
from drumbeat.engine.store.status_applier import apply_statuses
from tests.kit.planted import (
    FIRST_RANGE,
    NOON,
    NUMBER,
    installation,
    microseconds,
    plant_campaign,
    put_in_inbox,
    status_event,
)
from tests.kit.ports import free_port
from tests.kit.waiting import until
from tests.notifications.test_webhook import documented_verify

SENT, FAILED, DELIVERED, READ = 2, 3, 4, 5
FAST = Pauses(look_s=0.02)
SECRET = "a secret of ours"


@dataclass
class Program:
    """A program that takes events, or answers with `statuses` first, one for each request."""

    port: int
    statuses: list[int] = field(default_factory=list)
    hangs: int = 0
    taken: list[dict[str, Any]] = field(default_factory=list)
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/events"

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.requests.append((dict(request.headers), body))
        if self.hangs:
            self.hangs -= 1
            await asyncio.sleep(60)
        status = self.statuses.pop(0) if self.statuses else 200
        if status == 200:
            self.taken += (await request.json())["events"]
        return web.Response(status=status)

    def of(self, phone: str) -> list[str]:
        """The kinds of a recipient's events in the order in which they came first."""
        return list(dict.fromkeys(event["kind"] for event in self.taken if event["phone"] == phone))


@asynccontextmanager
async def program(**options: Any) -> AsyncIterator[Program]:
    found = Program(free_port(), **options)
    application = web.Application()
    application.router.add_post("/events", found.take)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", found.port).start()
    try:
        yield found
    finally:
        await runner.cleanup()


async def subscribe(connection: Connection, url: str | None, **columns: Any) -> None:
    given = {"name": "crm", "url": url, "secret": SECRET if url else None, "through_id": 0, **columns}
    places = ", ".join(f"${place}" for place in range(1, len(given) + 1))
    await connection.execute(
        f"INSERT INTO subscriptions ({', '.join(given)}) VALUES ({places})",
        *given.values(),
    )


async def accept(connection: Connection, campaign: int, *seqs: int, range_id: int = FIRST_RANGE) -> None:
    attempted = microseconds(NOON)
    await record(
        connection,
        [
            Fact(campaign, range_id, seq, 1, 1, NUMBER, FactKind.ACCEPTED, f"wamid.{seq}", attempted_us=attempted)
            for seq in seqs
        ],
    )  # fmt: skip


async def happen(connection: Connection, *statuses: tuple[int, int]) -> None:
    """Statuses (seq, rank) arrive together and are applied."""
    own = await installation(connection)
    await put_in_inbox(
        connection,
        *(
            status_event(f"wamid.{seq}", rank, Tag(own, FIRST_RANGE, seq, 1, 1), code=131026 if rank == FAILED else None)
            for seq, rank in statuses
        ),
    )  # fmt: skip
    await apply_statuses(connection)


async def all_events(connection: Connection, after: int = 0, limit: int = 1000, **filters: Any) -> EventPage:
    await number_events(connection)
    return await event_page(connection, after, limit, **filters)


def told(page: EventPage) -> list[tuple[int, str, str | None]]:
    return [(event.id, event.kind.value, event.phone) for event in page.events]


async def test_each_status_that_rises_is_an_event_and_a_repetition_is_none(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await subscribe(connection, None)
    await accept(connection, campaign, 1, 2)
    await happen(connection, (1, SENT), (2, SENT), (2, DELIVERED))
    await happen(connection, (1, SENT), (2, READ), (1, FAILED))
    await happen(connection, (1, DELIVERED), (2, SENT))
    page = await all_events(connection)
    assert told(page) == [
        (1, "sent", "+5511900000001"), (2, "sent", "+5511900000002"), (3, "delivered", "+5511900000002"),
        (4, "failed", "+5511900000001"), (5, "read", "+5511900000002"), (6, "delivered", "+5511900000001"),
    ]  # fmt: skip
    failed = page.events[3]
    assert (failed.code, failed.wamid, failed.campaign is not None) == (131026, "wamid.1", True)
    assert failed.at == NOON
    assert (page.next, page.more, page.lost) == (6, False, 0)


async def test_statuses_before_the_reply_and_of_an_attempt_in_doubt_are_events(
    connection: Connection,
) -> None:
    campaign = await plant_campaign(connection)
    await subscribe(connection, None)
    await happen(connection, (3, SENT), (3, DELIVERED))  # no reply is stored yet
    await connection.execute(
        "INSERT INTO pending_attempts (range_id, seq, attempt_no, state, epoch, phone_number_id, reason)"
        " VALUES ($1, 4, 1, 'unknown', 1, $2, 'its sender ended')", FIRST_RANGE, NUMBER,
    )  # fmt: skip
    await connection.execute("UPDATE range_counters SET unknown = 1")
    await happen(connection, (4, DELIVERED))
    await accept(connection, campaign, 3)
    await happen(connection, (4, DELIVERED), (4, READ))
    assert [each[1:] for each in told(await all_events(connection))] == [
        ("sent", "+5511900000003"), ("delivered", "+5511900000003"), ("delivered", "+5511900000004"),
        ("read", "+5511900000004"),
    ]  # fmt: skip


async def test_a_refusal_is_one_event_also_if_its_batch_is_stored_again(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await subscribe(connection, None)
    refused = Fact(
        campaign, FIRST_RANGE, 1, 1, 1, NUMBER, FactKind.FAILED, code=131026, reason="no such phone",
        attempted_us=microseconds(NOON),
    )  # fmt: skip
    other = refused._replace(seq=2, suppress=True, code=131050, reason="opted out")
    for _ in range(2):
        await record(connection, [refused, other])
    page = await all_events(connection)
    assert sorted((event.kind.value, event.phone, event.code) for event in page.events if event.kind != "opted_out") == [
        ("failed", "+5511900000001", 131026), ("failed", "+5511900000002", 131050),
    ]  # fmt: skip
    assert {event.reason for event in page.events} >= {"no such phone"}
    assert "+5511900000002" in {event.phone for event in page.events if event.kind == "opted_out"}


async def test_nothing_is_noted_while_nobody_listens(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await accept(connection, campaign, 1)
    await happen(connection, (1, SENT), (1, READ))
    await suppress_for_good(connection, [(5511900000001, "said stop")])
    assert await connection.fetchval("SELECT count(*) FROM event_groups") == 0


async def test_a_page_has_the_events_of_one_campaign_and_of_some_kinds(connection: Connection) -> None:
    one = await plant_campaign(connection)
    other = await plant_campaign(connection, first_range=FIRST_RANGE + 10, first_phone=5511700000000)
    await subscribe(connection, None)
    await accept(connection, one, 1)
    await accept(connection, other, 1, range_id=FIRST_RANGE + 10)
    await happen(connection, (1, SENT), (1, READ))
    await suppress_for_good(connection, [(5511900000001, "said stop")])
    assert [each[1] for each in told(await all_events(connection, campaign_id=one))] == ["sent", "read"]
    assert [each[1] for each in told(await all_events(connection, campaign_id=other))] == []
    assert [each[1] for each in told(await all_events(connection, kinds=[READ, 9]))] == ["read", "opted_out"]
    first = await all_events(connection, limit=2)
    assert (len(first.events), first.next, first.more) == (2, 2, True)


async def test_a_filter_that_fits_nothing_moves_on(connection: Connection) -> None:
    await subscribe(connection, None)
    many = WINDOW // 1000 + 1
    for _ in range(many):
        await connection.execute(
            "SELECT note_events(array_fill(1::bigint, ARRAY[1000]), array_fill(1, ARRAY[1000]),"
            " array_fill(2::smallint, ARRAY[1000]), array_fill(now(), ARRAY[1000]), array_fill(0, ARRAY[1000]))"
        )
    page = await all_events(connection, kinds=[READ])
    assert (page.events, page.next, page.more) == ([], WINDOW, True)
    page = await all_events(connection, after=page.next, kinds=[READ])
    assert (page.events, page.next, page.more) == ([], many * 1000, False)


async def test_what_is_committed_late_is_not_skipped(pool: Pool) -> None:
    """A transaction notes first and commits last: a reader that went on meanwhile still gets its event."""
    async with pool.acquire() as slow, pool.acquire() as quick:
        await plant_campaign(quick)
        await subscribe(quick, None)
        note = "SELECT note_events(ARRAY[$1::bigint], ARRAY[$2::integer], '{2}', ARRAY[now()], '{NULL}')"
        began = slow.transaction()
        await began.start()
        await slow.execute(note, FIRST_RANGE, 1)
        await quick.execute(note, FIRST_RANGE, 2)
        first = await all_events(quick)
        assert [event.phone for event in first.events] == ["+5511900000002"]
        await began.commit()
        later = await all_events(quick, after=first.next)
        assert [event.phone for event in later.events] == ["+5511900000001"]


async def test_what_is_posted_is_signed(pool: Pool) -> None:
    async with program() as crm:
        async with pool.acquire() as connection:
            campaign = await plant_campaign(connection)
            await subscribe(connection, crm.url)
            await accept(connection, campaign, 1)
            await happen(connection, (1, SENT))
        async with sending_events(pool, FAST):
            await until(lambda: crm.taken)
    headers, body = crm.requests[0]
    is_genuine = documented_verify()
    assert callable(is_genuine)
    assert is_genuine(body, headers["Drumbeat-Signature"], SECRET, time.time())
    assert not is_genuine(body, headers["Drumbeat-Signature"], "another secret", time.time())
    assert headers["Drumbeat-Subscription"] == "crm"
    assert {**crm.taken[0], "campaign": None} == {
        "id": 1, "kind": "sent", "at": "2026-07-01T12:00:00Z", "campaign": None, "external_id": None,
        "phone": "+5511900000001", "wamid": "wamid.1", "code": None, "reason": None,
    }  # fmt: skip


async def test_a_program_that_fails_gets_everything_in_order(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers 500 and hangs, the sender is killed in a request, and statuses go on meanwhile."""
    monkeypatch.setattr(event_sender, "POSTED_MAX", 3)
    monkeypatch.setattr(event_sender, "event_wait_s", lambda _: 0.05)
    monkeypatch.setattr(recipient_events, "LEASE_S", 0.2)
    async with program(statuses=[500, 200, 503, 404], hangs=1) as crm, pool.acquire() as connection:
        campaign = await plant_campaign(connection)
        await subscribe(connection, crm.url)
        await accept(connection, campaign, *range(1, 9))
        await happen(connection, *((seq, SENT) for seq in range(1, 9)))
        killed = asyncio.create_task(EventSender(pool, FAST).run(asyncio.Event()))
        await until(lambda: crm.requests)
        killed.cancel()
        await asyncio.gather(killed, return_exceptions=True)
        async with sending_events(pool, FAST), sending_events(pool, FAST):
            await happen(connection, *((seq, DELIVERED) for seq in range(1, 9)))
            await until(lambda: crm.taken)
            await happen(connection, *((seq, READ) for seq in range(1, 9)))
            await until(lambda: {event["id"] for event in crm.taken} == set(range(1, 25)))
    for seq in range(1, 9):
        assert crm.of(f"+551190000000{seq}") == ["sent", "delivered", "read"]
    firsts = list(dict.fromkeys(event["id"] for event in crm.taken))
    assert firsts == sorted(firsts)


async def test_an_opted_out_person_who_is_erased_is_erased_from_the_events(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await subscribe(connection, None)
        await suppress_for_good(connection, [(5511900000001, "said stop"), (5511900000002, "said stop")])
        await forget_person(connection, [5511900000001], actor="")
        assert [event.phone for event in (await all_events(connection)).events] == [None, "+5511900000002"]


async def test_old_events_are_deleted_and_a_program_that_was_away_is_told(
    connection: Connection, pool: Pool
) -> None:
    campaign = await plant_campaign(connection)
    await subscribe(connection, None)
    await accept(connection, campaign, 1, 2)
    await happen(connection, (1, SENT))
    await number_events(connection)
    await connection.execute("UPDATE event_groups SET noted_at = now() - interval '8 days'")
    await happen(connection, (2, SENT))
    await number_events(connection)
    await recipient_events.delete_old(connection)
    page = await all_events(connection)
    assert (told(page), page.lost) == ([(2, "sent", "+5511900000002")], 1)
