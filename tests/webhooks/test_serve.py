"""The process `drumbeat webhooks serve`: announces itself, keeps what it answered 200, ends as asked."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import pytest
from pydantic import SecretStr

from drumbeat.engine.store.database import Pool, open_pool
from drumbeat.engine.webhooks import intake, server
from drumbeat.engine.webhooks.receiver import Secrets
from drumbeat.engine.webhooks.server import serve
from drumbeat.engine.webhooks.signature import sign
from tests.kit.waiting import until, until_reads
from tests.webhooks.conversation import (
    PRODUCT,
    SECRET,
    TOKEN,
    Peer,
    ask,
    get,
    post,
    status,
    statuses_body,
)

pytestmark = pytest.mark.usefixtures("warm_starts")


@asynccontextmanager
async def serving(database_url: str, *arguments: str, **settings: str) -> AsyncIterator[Process]:
    environment = {
        **os.environ,
        "DRUMBEAT_DATABASE_URL": database_url,
        "DRUMBEAT_APP_SECRET": SECRET.decode(),
        "DRUMBEAT_VERIFY_TOKEN": TOKEN,
        **settings,
    }
    command = (sys.executable, "-m", "drumbeat.campaigns.cli", "webhooks", "serve", *arguments)
    process = await asyncio.create_subprocess_exec(
        *command,
        env={name: value for name, value in environment.items() if value},
        stdout=PIPE,
        stderr=PIPE,
        cwd=Path(__file__).parents[2],
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def announced(process: Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(30):
        line = orjson.loads(await process.stdout.readline())
    assert line["event"] == "listening"
    url: str = line["url"]
    return url


async def ended(process: Process) -> tuple[int, str]:
    async with asyncio.timeout(30):
        _, errors = await process.communicate()
    assert process.returncode is not None
    return process.returncode, errors.decode()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
async def test_a_signal_ends_it_cleanly(database_url: str, number: signal.Signals, code: int) -> None:
    async with serving(database_url, "--port", "0") as process:
        url = await announced(process)
        idle = await Peer.connect(url)
        assert (await ask(url, get("/readyz"))).status == 200
        process.send_signal(number)
        exit_code, errors = await ended(process)
        idle.close()
    assert exit_code == code, errors
    assert "Traceback" not in errors
    assert SECRET.decode() not in errors


async def test_the_receiver_applies_events_itself(database_url: str, pool: Pool) -> None:
    async with serving(database_url, "--port", "0") as process:
        url = await announced(process)
        assert (await ask(url, post(statuses_body(status("wamid.alien"))))).status == 200
        await until_reads(pool, "SELECT bool_and(matches_tried > 0) FROM waiting_events")


async def test_the_products_word_is_that_of_the_settings(database_url: str, pool: Pool) -> None:
    async with serving(database_url, "--port", "0", DRUMBEAT_PRODUCT="talk") as process:
        url = await announced(process)
        ours = statuses_body(status("wamid.talk")).replace(b"chat_business", b"talk_business")
        for body in (ours, statuses_body(status("wamid.chat"))):
            assert (await ask(url, post(body))).status == 200
        assert await pool.fetchval("SELECT array_agg(wamid) FROM waiting_events") == ["wamid.talk"]
        assert await pool.fetchval("SELECT count(*) FROM unreadable_events") == 1


async def test_200_means_committed_whenever_it_is_killed(database_url: str, pool: Pool) -> None:
    async with serving(database_url, "--port", "0") as process:
        url = await announced(process)
        acknowledged: list[str] = []

        async def post_until_killed(lane: int) -> None:
            peer = await Peer.connect(url)
            try:
                for n in range(100_000):
                    wamid = f"wamid.{lane}.{n}"
                    await peer.send(post(statuses_body(status(wamid))))
                    if (await peer.reply()).status == 200:
                        acknowledged.append(wamid)
            except (ConnectionError, asyncio.IncompleteReadError):
                peer.close()

        lanes = [asyncio.create_task(post_until_killed(lane)) for lane in range(16)]
        async with asyncio.timeout(30):
            await until(lambda: len(acknowledged) >= 500 or all(lane.done() for lane in lanes))
            process.kill()
            await asyncio.gather(*lanes)
    stored = {row["wamid"] for row in await pool.fetch("SELECT wamid FROM waiting_events")}
    assert set(acknowledged) <= stored


async def test_a_lost_database_is_logged_in_lines_without_tracebacks(
    server_url: str, database_url: str
) -> None:
    name = urlsplit(database_url).path[1:]
    async with serving(database_url, "--port", "0") as process, open_pool(server_url, size=1) as server:
        url = await announced(process)
        assert (await ask(url, post(statuses_body(status("w1"))))).status == 200
        await server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        await server.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1", name
        )
        for _ in range(3):
            assert (await ask(url, post(statuses_body(status("w2"))))).status == 503
        async with asyncio.timeout(30):
            while (await ask(url, get("/readyz"))).status != 503:
                await asyncio.sleep(0)
            await server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
            while (await ask(url, post(statuses_body(status("w2"))))).status != 200:
                await asyncio.sleep(0)
        process.send_signal(signal.SIGTERM)
        _, errors = await ended(process)
    events = [orjson.loads(line) for line in errors.splitlines()]
    assert all("exception" not in event for event in events), errors
    logged = Counter(event["event"] for event in events)
    assert logged["events_not_stored"] == logged["events_stored_again"] == 1, errors
    assert logged["statuses_not_applied"] <= 1, errors
    assert logged.keys() <= {
        "callback_refused",
        "recipient_events_not_read", "recipient_events_read_again",
            "events_not_stored", "events_stored_again", "statuses_not_applied", "statuses_applied_again",
    }, errors  # fmt: skip


async def test_a_bug_in_the_commit_ends_the_service(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the process ends, its supervisor restarts it. Without an end it would answer nothing and report itself ready."""

    async def write(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(intake, "write", write)
    url: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    secrets = Secrets(SecretStr(SECRET.decode()), SecretStr(TOKEN))
    service = asyncio.create_task(
        serve(
            pool,
            secrets,
            PRODUCT,
            host="127.0.0.1",
            port=0,
            stop=asyncio.Event(),
            on_listening=url.set_result,
        )
    )
    assert (await ask(await url, post(statuses_body(status("w1"))))).status == 503
    async with asyncio.timeout(30):
        with pytest.raises(ZeroDivisionError):
            await service


async def test_a_bug_in_the_reading_of_new_secrets_ends_the_service(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reread() -> Secrets:
        raise ZeroDivisionError

    monkeypatch.setattr(server, "REREAD_S", 0.001)
    secrets = Secrets(SecretStr(SECRET.decode()), SecretStr(TOKEN))
    async with asyncio.timeout(30):
        with pytest.raises(ZeroDivisionError):
            await serve(
                pool,
                secrets,
                PRODUCT,
                host="127.0.0.1",
                port=0,
                stop=asyncio.Event(),
                on_listening=lambda _: None,
                reread=reread,
            )


@pytest.mark.parametrize("missing", ["DRUMBEAT_APP_SECRET", "DRUMBEAT_VERIFY_TOKEN"])
async def test_a_missing_secret_is_named(database_url: str, missing: str) -> None:
    async with serving(database_url, **{missing: ""}) as process:
        exit_code, errors = await ended(process)
    assert exit_code == 78
    assert missing in errors


async def test_new_secrets_in_their_files_are_taken_up_without_a_restart(
    database_url: str, tmp_path: Path
) -> None:
    secret, word = tmp_path / "secret", tmp_path / "word"
    secret.write_bytes(SECRET)
    word.write_text(TOKEN)
    files = {"DRUMBEAT_APP_SECRET_FILE": str(secret), "DRUMBEAT_VERIFY_TOKEN_FILE": str(word)}
    given = {"DRUMBEAT_APP_SECRET": "", "DRUMBEAT_VERIFY_TOKEN": ""}
    body = statuses_body(status("w1"))
    by_new = post(body, signature=sign(body, b"new secret"))
    shaken = get("/webhook?hub.mode=subscribe&hub.verify_token=new-word")
    async with serving(database_url, "--port", "0", **files, **given) as process:
        url = await announced(process)
        assert [(await ask(url, asked)).status for asked in (post(body), by_new, shaken)] == [200, 403, 403]
        secret.write_text("new secret")
        word.write_text("new-word")
        async with asyncio.timeout(30):
            for asked in (by_new, shaken):
                while (await ask(url, asked)).status != 200:
                    await asyncio.sleep(0.05)
        assert (await ask(url, post(body))).status == 403
        process.send_signal(signal.SIGTERM)
        _, errors = await ended(process)
    assert errors.count("secret_replaced") == 2
    for hidden in (SECRET.decode(), TOKEN, "new secret", "new-word"):
        assert hidden not in errors


async def test_a_port_in_use_is_named(database_url: str) -> None:
    async with serving(database_url, "--port", "0") as first:
        port = urlsplit(await announced(first)).port
        async with serving(database_url, "--port", str(port)) as second:
            exit_code, errors = await ended(second)
    assert exit_code == 78
    assert f"port {port} is in use" in errors
