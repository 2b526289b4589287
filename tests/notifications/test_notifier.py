"""Notifications reach real receivers beside a process' work: once, also after outages and deaths."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pydantic import SecretStr

from drumbeat.engine.core.states import CampaignEvent, ReasonCode
from drumbeat.engine.notifications import notifier as notifying_module
from drumbeat.engine.notifications.notifier import Pauses, notifying
from drumbeat.engine.process.notification_settings import NotificationSettings, WebhookSettings, mail_settings
from drumbeat.engine.store.campaign_states import apply_event
from drumbeat.engine.store.database import Pool
from tests.kit.ports import free_port
from tests.kit.waiting import until, until_reads
from tests.notifications.sinks import Hook, Mailbox, hook, mail_server
from tests.sending.planted import plant_campaign

QUICK = Pauses(look_s=0.02, gather_s=0.0, failures_s=0.02)
PATIENCE_S = 30.0
REASON = "token expired (190)"


def settings(hook_port: int | None = None, mail_port: int | None = None) -> NotificationSettings:
    webhook = mail = None
    if hook_port is not None:
        webhook = WebhookSettings(SecretStr(Hook(hook_port).url), SecretStr("secret"))
    if mail_port is not None:
        mail = mail_settings("ops@example.com", "d@example.com", SecretStr(f"smtp://127.0.0.1:{mail_port}"))
    return NotificationSettings(webhook, mail)


@asynccontextmanager
async def process(
    pool: Pool, channels: NotificationSettings, pauses: Pauses = QUICK
) -> AsyncIterator[asyncio.Event]:
    """A process that delivers; gives its stop."""
    stop = asyncio.Event()
    async with notifying(pool, channels, stop, pauses):
        yield stop


async def pause_one(pool: Pool, reason: str = REASON) -> int:
    async with pool.acquire() as connection:
        campaign = await plant_campaign(connection)
        code = ReasonCode.AUTHENTICATION_FAILED
        await apply_event(connection, campaign.campaign_id, CampaignEvent.PAUSE, reason, code)
        return campaign.campaign_id


async def until_stored(pool: Pool, state: str, deliveries: int) -> None:
    counted = "SELECT count(*) FROM notification_deliveries WHERE state = $1"
    await until_reads(pool, counted, deliveries, state)


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What failed is due again at once."""
    monkeypatch.setattr(notifying_module, "notification_wait_s", lambda attempt_no: 0.0)


async def test_one_cause_is_one_webhook_and_one_mail(pool: Pool) -> None:
    mailbox = Mailbox()
    async with hook() as sink:
        with mail_server(mailbox) as port:
            async with process(pool, settings(sink.port, port)):
                await pause_one(pool)
                await until_stored(pool, "delivered", 2)
    assert [posted.json["reason"] for posted in sink.posted] == [REASON]
    assert len(mailbox.mails) == 1
    assert sink.posted[0].json["id"] in mailbox.mails[0].get_content()


async def test_two_processes_deliver_each_notification_once(pool: Pool) -> None:
    async with hook() as sink, process(pool, settings(sink.port)), process(pool, settings(sink.port)):
        for _ in range(10):
            await pause_one(pool)
        await until_stored(pool, "delivered", 10)
    ids = [posted.json["id"] for posted in sink.posted]
    assert len(ids) == len(set(ids)) == 10


@pytest.mark.usefixtures("no_waits")
async def test_a_receiver_that_is_down_gets_it_when_it_is_back(pool: Pool) -> None:
    port = free_port()
    attempts = "SELECT attempts > 2 FROM notification_deliveries WHERE channel = 'webhook'"
    async with process(pool, settings(port)):
        await pause_one(pool)
        await until_reads(pool, attempts)
        async with hook(port) as sink:
            await until_stored(pool, "delivered", 1)
    assert len(sink.posted) == 1


@pytest.mark.usefixtures("no_waits")
async def test_a_wrong_secret_is_tried_again_and_one_that_is_mended_arrives(pool: Pool) -> None:
    async with hook(status=401) as sink, process(pool, settings(sink.port)):
        await pause_one(pool)
        await until(lambda: len(sink.posted) > 2)
        sink.status = 200
        await until_stored(pool, "delivered", 1)
    assert len({posted.json["id"] for posted in sink.posted}) == 1


async def test_a_receiver_that_is_gone_is_not_asked_again(pool: Pool) -> None:
    async with hook(status=410) as sink, process(pool, settings(sink.port)):
        await pause_one(pool)
        await until_stored(pool, "given_up", 1)
    assert len(sink.posted) == 1


async def test_a_failed_delivery_waits(pool: Pool) -> None:
    async with hook(status=503) as sink, process(pool, settings(sink.port)):
        await pause_one(pool)
        waits = "SELECT problem = 'HTTP 503' AND due_at > now() + interval '5 s' FROM notification_deliveries"
        await until(lambda: pool.fetchval(f"{waits} WHERE channel = 'webhook'"))
    assert len(sink.posted) == 1


async def test_a_process_that_dies_between_sending_and_recording_repeats_it_with_the_same_id(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def die(*_: object) -> None:
        raise asyncio.CancelledError

    async with hook() as sink:
        with monkeypatch.context() as dying:
            dying.setattr(notifying_module, "record", die)
            async with process(pool, settings(sink.port)):
                await pause_one(pool)
                await until(lambda: sink.posted)
        async with process(pool, settings(sink.port)):
            await asyncio.sleep(0)
        assert len(sink.posted) == 1, "a living process would have a minute to record it"
        await pool.execute("UPDATE notification_deliveries SET due_at = now()")
        async with process(pool, settings(sink.port)):
            await until_stored(pool, "delivered", 1)
    first, second = sink.posted
    assert first.json["id"] == second.json["id"]


async def test_what_is_due_at_the_end_is_delivered_without_waiting_for_more(pool: Pool) -> None:
    never = Pauses(look_s=3_600, gather_s=3_600)
    async with hook() as sink, hook() as other:
        async with process(pool, settings(sink.port), never):
            await pause_one(pool)
        assert len(sink.posted) == 1
        async with process(pool, settings(other.port), never):
            pass
        assert other.posted == []


async def test_an_error_of_the_work_ends_as_it_is_and_its_cause_is_told(pool: Pool) -> None:
    async with hook() as sink:
        with pytest.raises(LookupError, match="of the work"):
            async with process(pool, settings(sink.port)):
                await pause_one(pool)
                raise LookupError("of the work")
    assert len(sink.posted) == 1


async def test_a_receiver_that_hangs_does_not_hold_up_a_process_that_is_told_to_stop(pool: Pool) -> None:
    asked = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await reader.read()  # until the client has gone
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    channels, limit_s = settings(server.sockets[0].getsockname()[1]), 5.0  # an attempt alone may take ten
    async with server, asyncio.timeout(limit_s), process(pool, channels) as stop:
        await pause_one(pool)
        await asked.wait()
        stop.set()


async def test_campaigns_with_the_same_cause_are_one_mail_and_a_webhook_each(pool: Pool) -> None:
    mailbox = Mailbox()
    for reason in (REASON, REASON, REASON, "another token expired (190)"):
        await pause_one(pool, reason)
    async with hook() as sink:
        with mail_server(mailbox) as port:
            async with process(pool, settings(sink.port, port)):
                await until_stored(pool, "delivered", 8)
    assert len(sink.posted) == 4
    subjects = sorted(mail["Subject"].rpartition("] ")[2].split()[0] for mail in mailbox.mails)
    assert subjects == ["3", "campaign"]


async def test_failures_above_the_limit_are_noticed(pool: Pool) -> None:
    async with hook() as sink, process(pool, settings(sink.port)):
        async with pool.acquire() as connection:
            await plant_campaign(connection, recipients=10)
            await connection.execute("UPDATE campaigns SET max_failed = '10%'")
            await connection.execute("UPDATE range_counters SET failed = 2")
        await until(lambda: sink.posted)
    assert [posted.json["event"] for posted in sink.posted] == ["failures_exceeded"]


async def test_without_a_channel_nothing_runs(pool: Pool) -> None:
    before = asyncio.all_tasks()
    async with process(pool, NotificationSettings()):
        assert asyncio.all_tasks() == before


async def test_a_fault_of_notifications_does_not_end_the_work(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(notifying_module, "take_due", fail)
    async with process(pool, settings(free_port())):
        await asyncio.sleep(0.05)
    output = capsys.readouterr()
    assert "notifier_failed" in output.out + output.err
