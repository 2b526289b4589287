"""Campaigns that programs make of a file by the interface: dry runs, plans, options, lists that are corrected first."""

import json
from pathlib import Path

import aiohttp
import pytest

from drumbeat.campaigns.console.web.operations import PREFIX
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.users import add_token
from drumbeat.campaigns.options.table import OPTIONS
from drumbeat.engine.store.database import Pool
from tests.console.conftest import PHONE, Caller, console
from tests.console.test_interface import (
    CORRECTION,
    KEY,
    SPEC,
    audience,
    form,
    require_documented,
)


async def test_a_dry_run_stores_nothing_and_lists_the_bad_rows(
    manager: Caller, pool: Pool, tmp_path: Path
) -> None:
    reply = await manager.post(f"{PREFIX}/campaigns", data=form({**SPEC, "dry_run": True}))
    assert (reply.body["recipients"], reply.body["rejected"]) == (1, 1)
    assert [(row["line"], row["code"]) for row in reply.body["rejects"]] == [(3, "phone_malformed")]
    assert await pool.fetchval("SELECT count(*) FROM campaigns") == 1
    assert list((tmp_path / "uploads").iterdir()) == []


async def test_plans_say_what_a_campaign_costs_before_and_after_it_is_stored(
    pool: Pool, database_url: str, campaign: str, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.csv"
    prices.write_text("country,category,price,currency,date\nBR,UTILITY,0.5,XTS,2026-01-01\n")
    caller_token = await add_token(pool, "planner", Role.SEND, actor="test")
    async with console(pool, database_url, tmp_path, prices=prices) as url:
        caller = Caller(url, caller_token)
        dry = await caller.post(f"{PREFIX}/campaigns", data=form({**SPEC, "dry_run": True}))
        stored = await caller.get(f"{PREFIX}/campaigns/spring/plan")
    require_documented("POST", "/campaigns", dry)
    require_documented("GET", "/campaigns/{name}/plan", stored)
    assert (dry.body["plan"]["cost"]["totals"], dry.body["plan"]["cost_problem"]) == ({"XTS": "0.5"}, "")
    assert stored.body["cost"]["totals"] == {"XTS": "5.0"}


async def test_every_option_of_a_manifest_is_a_member(manager: Caller, pool: Pool) -> None:
    options = {
        "quiet_hours": "20:00-09:00",
        "cap": "2/7d",
        "canary_minutes": 5,
        "priority": "high",
        "share": 40,
    }
    given = {**SPEC, **options, "default": {"name": "friend"}, "days": "mon-fri"}
    assert (await manager.post(f"{PREFIX}/campaigns", data=form(given))).body["remedy"] == "add canary 500"
    del given["canary_minutes"]
    assert (await manager.post(f"{PREFIX}/campaigns", data=form(given))).status == 200
    stored = await pool.fetchval("SELECT options FROM campaigns WHERE name = 'autumn'")
    options = {key: value for key, value in stored.items() if key in OPTIONS}
    assert options == {**given, "default": ["name=friend"], "audience": "people.csv"}
    refused = await manager.post(f"{PREFIX}/campaigns", data=form({**SPEC, "exclude": ["/etc/passwd"]}))
    assert refused.status == 422 and "is no campaign" in refused.text


async def test_errors_name_the_file_as_its_owner_does(manager: Caller) -> None:
    reply = await manager.post(f"{PREFIX}/campaigns", data=form({**SPEC, "phone_column": "mobile"}))
    assert reply.status == 422 and "people.csv" in reply.text and "uploads" not in reply.text


async def test_a_list_is_corrected_and_becomes_a_campaign(
    manager: Caller, pool: Pool, tmp_path: Path
) -> None:
    added = (await manager.post(f"{PREFIX}/lists", data=audience("people.csv"))).body
    assert added["columns"] == ["phone", "name", "order"]
    path = f"{PREFIX}/lists/{added['reference']}"
    found = (await manager.post(f"{path}/check", json={"param": ["name"]})).body["found"]
    assert (found["good"], [(row["line"], row["cells"]) for row in found["bad_rows"]]) == (
        1,
        [(3, ["not a number", "Bo", "A2"])],
    )
    await manager.post(f"{path}/corrections", json=CORRECTION)
    assert (await manager.post(f"{path}/check", json={})).body["found"]["good"] == 2
    created = await manager.post(f"{path}/campaign", json=SPEC, headers=KEY)
    assert (created.status, created.body["recipients"]) == (200, 2)
    assert (await manager.post(f"{path}/campaign", json=SPEC, headers=KEY)).body == created.body
    assert list((tmp_path / "uploads").iterdir()) == []


@pytest.mark.parametrize("content", [b"\x89PNG\r\n", b"%PDF-1.7"])
async def test_what_is_no_table_is_refused_and_not_kept(
    manager: Caller, content: bytes, tmp_path: Path
) -> None:
    data = aiohttp.FormData()
    data.add_field("spec", json.dumps(SPEC))
    data.add_field("audience", content, filename="../../evil.csv")
    reply = await manager.post(f"{PREFIX}/campaigns", data=data)
    assert (reply.status, "not a table" in reply.body["detail"]) == (422, True)
    assert list((tmp_path / "uploads").iterdir()) == []


async def test_a_large_upload_is_refused(
    pool: Pool, database_url: str, campaign: str, tmp_path: Path
) -> None:
    rows = f"+{PHONE},Ana,A1\n" * 70_000  # above 1 MiB
    async with console(pool, database_url, tmp_path, console_upload_mib=1) as url:
        caller = Caller(url, await add_token(pool, "sender", Role.SEND, actor="test"))
        reply = await caller.post(f"{PREFIX}/campaigns", data=form(SPEC, rows))
    assert (reply.status, reply.code) == (413, "too_large")
    assert list((tmp_path / "uploads").iterdir()) == []
