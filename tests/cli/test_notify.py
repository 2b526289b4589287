"""People are told by the processes that operators start, and `notify test` says whether it would work."""

import asyncio
import signal
from pathlib import Path

import pytest

from drumbeat.engine.store.database import Pool
from tests.acceptance.conftest import TEMPLATE
from tests.cli.processes import TOKEN, Done, Drumbeat, Service
from tests.kit.ports import free_port
from tests.notifications.sinks import Hook, Mailbox, hook, mail_server
from tests.notifications.test_notifier import until, until_stored

SECRET = {"notify_secret": "a secret of ours"}


def mail_settings(port: int, password: str = "") -> dict[str, str]:
    user = f"me:{password}@" if password else ""
    return {
        "notify_mail_to": "ops@example.com, boss@example.com",
        "notify_mail_from": "drumbeat@example.com",
        "smtp_url": f"smtp://{user}127.0.0.1:{port}",
    }


async def told(drumbeat: Drumbeat, *words: str, **settings: str) -> Done:
    """A command, while receivers in this loop go on."""
    return await asyncio.to_thread(drumbeat, *words, **settings)


async def test_a_test_message_goes_over_every_channel(drumbeat: Drumbeat) -> None:
    mailbox = Mailbox()
    with mail_server(mailbox) as port:
        async with hook() as sink:
            settings = {**SECRET, "notify_url": sink.url, **mail_settings(port)}
            done = await told(drumbeat, "notify", "test", **settings)
            assert (done.exit_code, done.stdout) == (0, "webhook: delivered\nmail: delivered\n")
            done = await told(drumbeat, "notify", "test", "--json", **settings)
    assert done.json == {
        "schema": 1,
        "channels": [
            {"channel": "webhook", "verdict": "delivered", "problem": ""},
            {"channel": "mail", "verdict": "delivered", "problem": ""},
        ],
    }
    assert [posted.json["event"] for posted in sink.posted] == ["test", "test"]
    assert mailbox.mails[0]["Subject"] == "[drumbeat] notifications: this is a test"


@pytest.mark.parametrize(
    ("status", "exit_code", "line"),
    [
        (401, 77, "webhook: unauthorised: HTTP 401\n"),
        (404, 78, "webhook: refused: HTTP 404\n"),
        (410, 78, "webhook: gone: HTTP 410\n"),
        (503, 69, "webhook: unreachable: HTTP 503\n"),
    ],
)
async def test_a_webhook_that_fails_is_one_line_and_an_exit_code(
    drumbeat: Drumbeat, status: int, exit_code: int, line: str
) -> None:
    async with hook(status=status) as sink:
        done = await told(drumbeat, "notify", "test", **SECRET, notify_url=sink.url)
    assert (done.exit_code, done.stdout) == (exit_code, line)


async def test_nobody_listens(drumbeat: Drumbeat) -> None:
    done = await told(drumbeat, "notify", "test", **SECRET, notify_url=Hook(free_port()).url)
    assert (done.exit_code, done.stdout) == (69, "webhook: unreachable: Connection refused\n")


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
async def test_a_refused_login_is_77_and_shows_no_password(drumbeat: Drumbeat) -> None:
    with mail_server(Mailbox(), login=True) as port:
        done = await told(drumbeat, "notify", "test", **mail_settings(port, "wr0ng-w0rd"))
    assert done.exit_code == 77
    assert done.stdout.startswith("mail: unauthorised: the server refuses user or password: 535")
    assert "wr0ng" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({}, "set DRUMBEAT_NOTIFY_URL, or DRUMBEAT_NOTIFY_MAIL_TO"),
        (
            {"notify_url": "https://hooks.example"},
            "set DRUMBEAT_NOTIFY_SECRET or DRUMBEAT_NOTIFY_SECRET_FILE",
        ),
        ({"notify_mail_to": "a@b.example"}, "set DRUMBEAT_NOTIFY_MAIL_FROM"),
        (
            {"notify_mail_to": "a@b.example", "notify_mail_from": "c@d.example"},
            "set DRUMBEAT_SMTP_URL or DRUMBEAT_SMTP_URL_FILE",
        ),
    ],
)
def test_what_is_missing_is_named(drumbeat: Drumbeat, settings: dict[str, str], part: str) -> None:
    done = drumbeat("notify", "test", **settings)
    assert done.exit_code == 78
    assert part in done.complaint


@pytest.mark.parametrize("words", [("worker",), ("webhooks", "serve", "--port", "0")])
def test_a_process_with_half_a_channel_does_not_start(drumbeat: Drumbeat, words: tuple[str, ...]) -> None:
    done = drumbeat(*words, notify_url="https://hooks.example")
    assert done.exit_code == 78
    assert "DRUMBEAT_NOTIFY_SECRET" in done.complaint


def planned(drumbeat: Drumbeat, audience: Path) -> None:
    columns = ("--param", "name", "--param", "order")
    drumbeat.ok("campaign", "create", "spring", *TEMPLATE, "--audience", audience, *columns, "--number", "1")


async def test_a_worker_tells_once_by_webhook_and_mail_that_the_token_expired(
    drumbeat: Drumbeat, synced: Service, audience: Path, pool: Pool
) -> None:
    planned(drumbeat, audience)
    drumbeat.ok("campaign", "start", "spring")
    synced.post("tokens", {"value": TOKEN, "revoked": True})
    mailbox = Mailbox()
    with mail_server(mailbox) as port:
        async with hook() as sink:
            settings = {**SECRET, "notify_url": sink.url, **mail_settings(port)}
            workers = [drumbeat.start("worker", "--quiet", **settings) for _ in range(2)]
            await until(lambda: sink.posted and mailbox.mails)
            await until_stored(pool, "delivered", 2)
            for worker in workers:
                worker.terminate()
            for worker in workers:
                await asyncio.to_thread(worker.communicate)
    (posted,) = sink.posted
    assert (posted.json["campaign"], posted.json["state"], posted.json["reason_code"]) == (
        "spring", "paused", "authentication_failed",
    )  # fmt: skip
    assert posted.json["counts"]["pending"] + posted.json["counts"]["deferred"] >= 9
    (mail,) = mailbox.mails
    assert mail["Subject"] == "[drumbeat] campaign spring: paused"
    assert "drumbeat campaign resume spring" in mail.get_content()


async def test_a_run_tells_at_its_end_that_it_finished(
    drumbeat: Drumbeat, synced: Service, audience: Path
) -> None:
    planned(drumbeat, audience)
    async with hook() as sink:
        done = await told(drumbeat, "campaign", "run", "spring", "--quiet", **SECRET, notify_url=sink.url)
    assert done.exit_code == 0, done.stderr
    (posted,) = sink.posted
    assert (posted.json["event"], posted.json["recipients"]) == ("campaign_finished", 10)


async def test_a_worker_killed_during_a_delivery_leaves_it_to_another(
    drumbeat: Drumbeat, synced: Service, audience: Path, pool: Pool
) -> None:
    planned(drumbeat, audience)
    drumbeat.ok("campaign", "start", "spring")
    asked: list[bytes] = []

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        await reader.read()  # until the process is dead
        writer.close()

    port = free_port()
    async with await asyncio.start_server(hang, "127.0.0.1", port):
        settings = {**SECRET, "notify_url": Hook(port).url}
        worker = drumbeat.start("worker", "--quiet", **settings)
        await until(lambda: asked)
        worker.send_signal(signal.SIGKILL)
        await asyncio.to_thread(worker.communicate)
    await pool.execute("UPDATE notification_deliveries SET due_at = now()")  # a minute later
    async with hook(port) as sink:
        another = drumbeat.start("worker", "--quiet", **settings)
        await until_stored(pool, "delivered", 1)
        another.terminate()
        await asyncio.to_thread(another.communicate)
    (posted,) = sink.posted
    assert f"Drumbeat-Notification-Id: {posted.json['id']}".encode() in asked[0]


async def test_the_doctor_tells_what_is_set_up_and_what_was_not_delivered(
    drumbeat: Drumbeat, synced: Service, pool: Pool
) -> None:
    done = drumbeat("doctor")
    assert "ok    notifications: not set up: nobody is told" in done.stdout
    await pool.execute(
        "WITH added AS (INSERT INTO notifications (event, reason, occurrence, tell_at)"
        " VALUES ('campaign_paused', '', 1, now()) RETURNING notification_id)"
        " INSERT INTO notification_deliveries (notification_id, channel, attempts, due_at, problem)"
        " SELECT notification_id, 'mail', 3, now(), '535 wrong password' FROM added"
    )
    done = drumbeat("doctor", **SECRET, notify_url="https://hooks.example/t0ken", **mail_settings(25))
    assert done.exit_code == 0
    assert "ok    notifications: by webhook and mail" in done.stdout
    assert (
        "warn  notifications by mail: 1 wait for another attempt and 0 were given up: 535 wrong password"
        in done.stdout
    )
    assert "t0ken" not in done.stdout
    done = drumbeat("doctor", notify_url="https://hooks.example")
    assert done.exit_code == 78
    assert "fail  notifications: the setting notify_secret is missing" in done.stdout
