"""A new access token in its file is taken up by a running sender, without a restart and without a pause."""

import asyncio
from pathlib import Path

import pytest
from pydantic import SecretStr

from drumbeat.emulator.identity import Token
from drumbeat.emulator.testing import Emulator
from drumbeat.engine.clock import monotonic_ns
from drumbeat.engine.process import secret_file
from drumbeat.engine.process.secret_file import SecretFile
from drumbeat.engine.sending import access_token
from drumbeat.engine.sending.access_token import AccessToken
from drumbeat.engine.store.database import Pool
from tests.sending.planted import SLOW, campaign_row, plant_campaign, plant_numbers, planted
from tests.sending.running import assert_each_once, serving, started, until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "token"


def put(path: Path, token: str) -> None:
    path.write_text(token)


def issue(emulator: Emulator, value: str) -> None:
    emulator.service.tokens.add(Token(value, app_id=emulator.service.config.app_id))


async def test_a_token_that_is_replaced_and_revoked_during_a_run_pauses_nothing(
    pool: Pool, path: Path
) -> None:
    """The service refuses requests that are under way with the former token; they are made again."""
    campaign = await planted(pool, 400, rate_per_s=300)
    async with serving() as emulator:
        old = emulator.service.config.token
        put(path, old)
        async with started(pool, emulator, campaign, access_token_file=path) as runner:
            await until(lambda: len(emulator.service.ledger) >= 60)
            issue(emulator, "new-token")
            put(path, "new-token")
            emulator.service.tokens.revoke(old)
            assert (await runner.end()).state == "finished"
        assert_each_once(emulator, campaign)


async def test_a_worker_whose_token_was_refused_sends_again_with_the_one_in_the_file(
    pool: Pool, path: Path
) -> None:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 300})
        campaign = await plant_campaign(connection, recipients=300)
    async with serving() as emulator:
        old = emulator.service.config.token
        put(path, old)
        async with started(pool, emulator, access_token_file=path):
            await until(lambda: len(emulator.service.ledger) >= 60)
            emulator.service.tokens.revoke(old)

            async def state() -> tuple[str, str]:
                async with pool.acquire() as connection:
                    return await campaign_row(connection, campaign.campaign_id)

            async def is_in(wanted: str) -> bool:
                return (await state())[0] == wanted

            await until(lambda: is_in("paused"))
            assert (
                "(190); put a valid token into the file of DRUMBEAT_ACCESS_TOKEN_FILE" in (await state())[1]
            )
            issue(emulator, "new-token")
            put(path, "new-token")
            await pool.execute("UPDATE campaigns SET state = 'running', reason = ''")
            await until(lambda: is_in("finished"))
        assert_each_once(emulator, campaign)


async def test_the_file_is_looked_at_without_a_refusal(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_token, "REREAD_S", 0.001)
    put(path, "second")
    used: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    token = AccessToken(SecretFile("access_token", SecretStr("first"), path), used.set_result)
    watching = asyncio.create_task(token.watch())
    try:
        assert await asyncio.wait_for(used, 30) == "second"
    finally:
        watching.cancel()


def test_only_requests_from_before_the_new_token_carried_the_former_one(path: Path) -> None:
    put(path, "first")
    token = AccessToken(SecretFile("access_token", SecretStr("first"), path), lambda _: None)
    before_ns = monotonic_ns()
    assert not token.is_replaced_since(before_ns)
    put(path, "second")
    assert token.is_replaced_since(before_ns)
    assert token.is_replaced_since(before_ns)
    assert not token.is_replaced_since(monotonic_ns())


def test_who_has_no_file_is_told_to_restart() -> None:
    token = AccessToken(SecretFile("access_token", SecretStr("first"), None), lambda _: None)
    assert "restart" in token.cure
    assert secret_file.REREAD_S <= 1, "documented"
