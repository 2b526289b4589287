"""A start that two people make: one asks, another one approves what was asked for."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from drumbeat.campaigns.console.web.operations import PREFIX
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.users import add_token, store_user
from drumbeat.campaigns.life import approval
from drumbeat.campaigns.life.approval import StartRequest, Verdict, decide, release_by_two
from drumbeat.campaigns.life.release import Released
from drumbeat.engine.core.states import CampaignEvent
from drumbeat.engine.errors import TryLater
from drumbeat.engine.process.settings import Settings
from drumbeat.engine.store.database import Pool
from tests.console.conftest import NUMBER, PHONE, Caller, console
from tests.console.test_steering import SPRING, upload

REQUEST = StartRequest("as it is", "ana", "ana", datetime(2030, 1, 1, tzinfo=UTC), None)
OF_A_PROGRAM = StartRequest("as it is", "token cron", "ana", datetime(2030, 1, 1, tzinfo=UTC), None)
APPROVED = StartRequest("as it is", "ana", "ana", datetime(2030, 1, 1, tzinfo=UTC), "bo")


@pytest.mark.parametrize(
    ("request_", "content", "name", "is_person", "verdict"),
    [
        (None, "as it is", "ana", True, Verdict.ASK),
        (REQUEST, "as it is", "ana", True, Verdict.WAIT),
        (REQUEST, "as it is", "bo", True, Verdict.APPROVE),
        (REQUEST, "as it is", "token x", False, Verdict.WAIT),
        (OF_A_PROGRAM, "as it is", "ana", True, Verdict.WAIT),
        (OF_A_PROGRAM, "as it is", "bo", True, Verdict.APPROVE),
        (REQUEST, "another list", "bo", True, Verdict.ASK),
        (APPROVED, "as it is", "ana", True, Verdict.RELEASE),
        (APPROVED, "another list", "ana", True, Verdict.ASK),
    ],
)
def test_a_start_needs_a_second_person(
    request_: StartRequest | None, content: str, name: str, is_person: bool, verdict: Verdict
) -> None:
    assert decide(request_, content, name, is_person=is_person) is verdict


@pytest.mark.parametrize("change", [{"priority": "high"}, {"param": ["order", "name"]}], ids=["row", "plan"])
async def test_an_edit_between_approval_and_release_stops_the_release(
    manager: Caller, pool: Pool, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    await upload(manager, "autumn", f"+{PHONE + 40},Ana,A1\n")
    real = approval.start_checked

    async def edit_first(*arguments: Any, **named: Any) -> Released:
        edited = await manager("PATCH", f"{PREFIX}/campaigns/autumn", json={"changes": change})
        assert edited.status == 200 and not edited.body["unchanged"], edited.text
        return await real(*arguments, **named)

    async def ask(name: str) -> None:
        await release_by_two(
            pool, Settings(), "autumn", CampaignEvent.START, actor=name, person=name, is_person=True
        )

    await ask("ana")
    monkeypatch.setattr(approval, "start_checked", edit_first)
    with pytest.raises(TryLater, match="was changed meanwhile"):
        await ask("bo")
    assert await pool.fetchval("SELECT state FROM campaigns WHERE name = 'autumn'") == "draft"


async def test_what_was_approved_is_changed_only_after_a_pause(
    pool: Pool, database_url: str, campaign: str, tmp_path: Path
) -> None:
    await store_user(pool, "ana", Role.SEND, None, actor="test")
    async with console(pool, database_url, tmp_path, console_approval=True) as url:
        manager = Caller(url, await add_token(pool, "manager", Role.MANAGE, actor="test"))
        await upload(manager, "autumn", f"+{PHONE + 40},Ana,A1\n", start_at="2099-01-01T09:00:00+00:00")
        autumn = f"{PREFIX}/campaigns/autumn"
        for name in ("ana", "bo"):
            await release_by_two(
                pool, Settings(), "autumn", CampaignEvent.START, actor=name, person=name, is_person=True
            )
        assert await pool.fetchval("SELECT state FROM campaigns WHERE name = 'autumn'") == "scheduled"
        change = {"changes": {"priority": "high"}}
        shown = (await manager.get("/campaigns/autumn/edit")).text
        assert "To change it, pause it first" in shown and 'name="priority"' not in shown
        refused = await manager("PATCH", autumn, json=change)
        assert refused.status == 409 and "pause it" in refused.text
        assert (await manager.post(f"{autumn}/pause")).status == 200
        assert (await manager("PATCH", autumn, json=change)).status == 200
        again = await release_by_two(
            pool, Settings(), "autumn", CampaignEvent.RESUME, actor="ana", person="ana", is_person=True
        )
        assert again.changes[0].state == "paused"


@pytest.fixture
async def url(pool: Pool, database_url: str, campaign: str, tmp_path: Path) -> AsyncIterator[str]:
    """A console where a start needs two people. A proxy names them: ana and bo."""
    for name in ("ana", "bo"):
        await store_user(pool, name, Role.SEND, None, actor="test")
    given = {"console_user_header": "X-User", "console_proxies": "127.0.0.1", "console_approval": True}
    async with console(pool, database_url, tmp_path, **given) as url:
        yield url


async def submitted(url: str, name: str, page: str, address: str, **fields: str) -> str:
    """Send a form of a page as this user; the page before."""
    caller = Caller(url)
    caller.headers = {"X-User": name, "Origin": url}
    shown = (await caller.get(page)).text
    csrf = re.findall(r'name="csrf" value="(\w+)"', shown)[0]
    reply = await caller.post(address, data={"csrf": csrf, **fields})
    assert reply.status == 303, reply.text
    return shown


async def test_nobody_starts_alone_where_two_are_needed(pool: Pool, url: str) -> None:
    """Whoever asks cannot approve, by a resume neither; a change has to be asked for again."""
    program = Caller(url, await add_token(pool, "cron", Role.SEND, actor="ana"))

    async def act(name: str, action: str) -> str:
        """Act on the page as this user; the campaign's state afterwards."""
        await submitted(url, name, SPRING, f"{SPRING}/act/{action}")
        return str(await pool.fetchval("SELECT state FROM campaigns"))

    async def launch(name: str) -> str:
        """Resume on the start page, where a campaign that never started is resumed."""
        await submitted(url, name, f"{SPRING}/launch", f"{SPRING}/launch")
        return str(await pool.fetchval("SELECT state FROM campaigns"))

    assert await act("ana", "start") == "draft"
    reason = await pool.fetchrow("SELECT reason_code, reason FROM campaigns")
    assert reason is not None and reason["reason_code"] == "start_approval_needed"
    assert reason["reason"].startswith("ana asked")
    assert await act("ana", "start") == "draft"
    assert (await program.post(f"{PREFIX}{SPRING}/start")).body["changed"] is False
    assert await act("ana", "pause") == "paused"
    assert await launch("ana") == "paused"
    await pool.execute("UPDATE campaigns SET content_hash = 'changed'")
    assert await launch("bo") == "paused"  # it is another campaign now: bo asks
    assert await act("ana", "resume") == "paused"  # it leads to the start page
    assert await launch("ana") == "running"
    assert await act("ana", "pause") == "paused"
    assert await act("ana", "resume") == "running"
    await pool.execute("UPDATE campaigns SET state = 'draft', started_at = NULL, content_hash = 'new'")
    assert (await program.post(f"{PREFIX}{SPRING}/start")).body["changed"] is False
    assert await act("ana", "start") == "draft", "the program is ana's own"
    assert await act("bo", "start") == "running"
    asked = [
        row
        for row in await pool.fetch("SELECT actor, action FROM audit ORDER BY audit_id")
        if "-start" in row["action"]
    ]
    assert [tuple(row) for row in asked] == [
        ("ana", "ask-start"),
        ("bo", "ask-start"),
        ("ana", "approve-start"),
        ("token cron", "ask-start"),
        ("bo", "approve-start"),
    ]


async def test_a_start_is_asked_for_and_approved_where_it_is_launched(pool: Pool, url: str) -> None:
    async def launched(name: str) -> str:
        return await submitted(url, name, f"{SPRING}/launch", f"{SPRING}/launch")

    assert "Ask for the start" in await launched("ana")
    assert "Another person must start it." in await launched("ana")
    assert await pool.fetchval("SELECT state FROM campaigns") == "draft"
    assert "ana asked for the start" in await launched("bo")
    assert await pool.fetchval("SELECT state FROM campaigns") == "running"


async def test_nobody_sends_again_to_people_in_doubt_alone(pool: Pool, url: str) -> None:
    program = Caller(url, await add_token(pool, "cron", Role.SEND, actor="ana"))

    async def settle(name: str) -> str:
        """Send again on the page as this user; the state of the recipient in doubt."""
        await submitted(url, name, f"{SPRING}/settle", f"{SPRING}/settle", action="resend")
        return str(await pool.fetchval("SELECT state FROM pending_attempts"))

    reply = await program.post(f"{PREFIX}{SPRING}/doubts", json={"action": "resend"})
    assert "another person" in reply.body["note"] and reply.body["in_doubt"] == 1
    assert await settle("ana") == "unknown", "the program is ana's own"
    shown = await Caller(url)("GET", f"{SPRING}/settle", headers={"X-User": "bo"})
    assert "token cron asked for this" in shown.text
    assert await settle("bo") != "unknown"
    assert await pool.fetchval("SELECT count(*) FROM approval_requests") == 0, "an approval is used once"


async def test_nobody_raises_a_limit_alone(pool: Pool, url: str) -> None:
    await pool.execute("UPDATE console_users SET role = 'manage'")

    async def limit(name: str, limit_per_s: str) -> float | None:
        await submitted(url, name, "/numbers", f"/numbers/{NUMBER}/limit", limit_per_s=limit_per_s)
        found = await pool.fetchval(
            "SELECT manual_limit_per_s FROM numbers WHERE phone_number_id = $1", NUMBER
        )
        return None if found is None else float(found)

    assert await limit("ana", "5") == 5, "a lower one needs nobody"
    assert await limit("ana", "500") == 5
    assert await limit("ana", "500") == 5
    assert await limit("bo", "600") == 5, "it is another limit"
    assert await limit("bo", "500") == 5
    assert await limit("ana", "500") == 500
    assert await limit("ana", "") == 500, "the service's own may be higher"
    program = Caller(url, await add_token(pool, "cron", Role.MANAGE, actor="bo"))
    reply = await program("PUT", f"{PREFIX}/numbers/{NUMBER}/limit", json={"limit_per_s": 900})
    assert reply.body["changed"] is False and "another person" in reply.body["note"]


async def test_nobody_changes_a_started_campaign_alone(pool: Pool, url: str) -> None:
    program = Caller(url, await add_token(pool, "cron", Role.SEND, actor="ana"))
    await pool.execute("UPDATE campaigns SET state = 'running', started_at = now()")

    async def edit(name: str, priority: str) -> str:
        await submitted(url, name, f"{SPRING}/edit", f"{SPRING}/edit", priority=priority)
        return str(await pool.fetchval("SELECT options ->> 'priority' FROM campaigns"))

    change = {"changes": {"priority": "high"}}
    reply = await program("PATCH", f"{PREFIX}{SPRING}", json=change)
    assert reply.status == 200 and "another person" in reply.body["note"], reply.text
    assert await edit("ana", "high") == "None"
    assert await edit("bo", "low") == "None", "it is another change"
    assert await edit("bo", "high") == "None"
    assert await edit("ana", "high") == "high"
