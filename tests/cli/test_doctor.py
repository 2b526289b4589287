"""The doctor's findings about the database, and about the service, direct or through a proxy."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from drumbeat.campaigns.doctor.at_service import check_service
from drumbeat.campaigns.doctor.finding import Finding, Level
from drumbeat.campaigns.doctor.machine import check_variables
from drumbeat.campaigns.doctor.stored import check_database
from drumbeat.campaigns.sql import statements
from drumbeat.engine.process.settings import Settings
from drumbeat.engine.store.database import Pool
from tests.api.loopback import Conversation, Script, Server, serving
from tests.kit.ports import free_port


def test_a_misspelt_variable_is_reported_with_the_likely_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "ACCESS_TOKEN_FILE", "LOG_LEVEL", "DATABSE_URL", "baseurl", "PORT_8080_TCP"):
        monkeypatch.setenv(f"DRUMBEAT_{name}", "x")
    found = {finding.subject: finding for finding in check_variables()}
    assert {name: finding.remedy for name, finding in found.items()} == {
        "DRUMBEAT_DATABSE_URL": "did you mean DRUMBEAT_DATABASE_URL?",
        "DRUMBEAT_PORT_8080_TCP": "remove it",
        "DRUMBEAT_baseurl": "did you mean DRUMBEAT_BASE_URL?",
    }
    assert {finding.level for finding in found.values()} == {Level.WARN}


async def test_a_database_that_may_forget_commits_is_warned_of(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server of the tests runs without fsync."""
    found = {finding.subject: finding for finding in await check_database(pool)}
    durability = found["durability of the database"]
    assert (durability.level, durability.exit_code) == (Level.WARN, 0)
    assert "fsync" in durability.remedy
    durable = statements("doctor")["database"].replace("current_setting('fsync')", "'on'")
    durable = durable.replace("current_setting('full_page_writes')", "'on'")
    monkeypatch.setitem(statements("doctor"), "database", durable)
    found = {finding.subject: finding for finding in await check_database(pool)}
    assert found["durability of the database"].level is Level.OK


async def test_commits_are_waited_for_whatever_the_servers_default(pool: Pool) -> None:
    """Here the server's is off."""
    assert await pool.fetchval("SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'") == "on"
    assert await pool.fetchval("SHOW synchronous_commit") == "on"


def dated(date: str) -> Script:
    """Answers everything with an empty list, and such a date."""

    async def answer(server: Server, conversation: Conversation) -> None:
        while await server.read(conversation):
            await conversation.answer(200, b'{"data": []}', f"Date: {date}")

    return answer


async def findings_of(tmp_path: Path, base_url: str, proxy: str | None = None) -> dict[str, Finding]:
    settings = Settings(
        home=tmp_path,
        base_url=base_url,
        access_token=SecretStr("t"),
        waba_id="1",
        proxy_url=None if proxy is None else SecretStr(proxy),
    )
    return {finding.subject: finding for finding in await check_service(settings)}


@pytest.mark.parametrize(
    ("date", "level"),
    [
        ("Mon, 23 Nov 2020 06:00:00 GMT", Level.WARN),
        ("Mon, 23 Nov 2020 06:00:00 -0000", None),
        ("yesterday", None),
        ("", None),
    ],
)
async def test_a_service_whose_clock_cannot_be_read_is_still_checked(
    tmp_path: Path, date: str, level: Level | None
) -> None:
    async with serving(dated(date)) as server:
        found = await findings_of(tmp_path, server.base_url)
    assert (found["service"].level, found["token"].level) == (Level.OK, Level.OK)
    clock = found.get("clock of the service")
    assert (None if clock is None else clock.level) is level


async def test_a_service_behind_a_proxy_is_checked_through_it(tmp_path: Path) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    async with serving(dated("")) as proxy:
        found = await findings_of(tmp_path, nobody, proxy.base_url)
    assert (found["service"].level, found["token"].level) == (Level.OK, Level.OK)
    called = [request.partition(b" ")[2].partition(b"/v")[0] for request in proxy.requests][1:]
    assert len(called) == 2 and set(called) == {nobody.encode()}  # for the token, and for the subscription


async def test_a_proxy_that_refuses_is_named_without_its_password(tmp_path: Path) -> None:
    async def refuse(server: Server, conversation: Conversation) -> None:
        await server.read(conversation)
        await conversation.answer(407, b"")

    async with serving(refuse) as proxy:
        with_password = proxy.base_url.replace("//", "//me:s3cret@")
        found = (await findings_of(tmp_path, f"https://127.0.0.1:{free_port()}", with_password))["service"]
    assert (found.level, found.exit_code) == (Level.FAIL, 69)
    assert "407" in found.found
    assert "s3cret" not in f"{found.found}{found.remedy}"


async def test_a_service_without_tls_is_warned_of_unless_it_is_this_machine(tmp_path: Path) -> None:
    async with serving(dated("")) as proxy:
        for address, is_plain in (("http://service.example", True), ("http://127.0.0.1:9", False)):
            found = await findings_of(tmp_path, address, proxy.base_url)
            assert ("encryption" in found) is is_plain
        assert (await findings_of(tmp_path, "http://service.example", proxy.base_url))[
            "encryption"
        ].level is Level.WARN
