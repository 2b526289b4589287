"""What can be done with a campaign, by page and interface: retry, settle, edit, clone, delete, export, suppress, replies."""

import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from yarl import URL

from drumbeat.campaigns.audience.open.opening import open_table
from drumbeat.campaigns.console.account import pricing
from drumbeat.campaigns.console.campaigns import exporting, result_readings
from drumbeat.campaigns.console.campaigns import launch_pages as launch
from drumbeat.campaigns.console.campaigns.changing_pages import differences
from drumbeat.campaigns.console.new.choices import read_choices
from drumbeat.campaigns.console.web.operations import PREFIX
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.settings import console_settings
from drumbeat.campaigns.console.web.uploads import find_upload
from drumbeat.campaigns.phones.suppression import SuppressionCounts
from drumbeat.campaigns.results import matching
from drumbeat.campaigns.results.export import export_values
from drumbeat.campaigns.results.report import CampaignReasons
from drumbeat.engine.errors import Unreachable
from drumbeat.engine.process.settings import Settings
from drumbeat.engine.store.database import Pool
from tests.console.conftest import BAD_CODE, NUMBER, PHONE, Caller
from tests.kit.waiting import until_reads

SPRING = "/campaigns/spring"
RETRY = "/campaigns/spring%2Fretry-1"


async def actions(pool: Pool) -> list[str]:
    return [
        row["action"]
        for row in await pool.fetch("SELECT action FROM audit WHERE action <> 'token-add' ORDER BY audit_id")
    ]


async def upload(manager: Caller, name: str, rows: str, **options: object) -> None:
    """A draft from an uploaded list."""
    spec = {
        "name": name,
        "template": "order",
        "language": "en",
        "number": [NUMBER],
        "param": ["name", "order"],
    }
    data = aiohttp.FormData()
    data.add_field("spec", json.dumps({**spec, **options}))
    data.add_field("audience", f"phone,name,order\n{rows}", filename="people.csv")
    reply = await manager.post(f"{PREFIX}/campaigns", data=data)
    assert reply.status == 200, reply.text


async def test_the_failed_are_retried_as_a_draft(manager: Caller, pool: Pool) -> None:
    asked = await manager.get(f"{SPRING}/retry?code={BAD_CODE}")
    assert asked.status == 200 and f'value="{BAD_CODE}"' in asked.text
    nobody = await manager.post(f"{SPRING}/retry", data={"code": ""})
    assert nobody.status == 409 and f"those left out, {BAD_CODE} 1" in nobody.text
    refused = await manager.post(f"{SPRING}/retry", data={"code": "77", "new_name": "again"})
    assert refused.status == 409 and 'value="77"' in refused.text and 'value="again"' in refused.text
    reply = await manager.post(f"{SPRING}/retry", data={"code": str(BAD_CODE)})
    assert (reply.status, reply.headers["Location"]) == (303, RETRY)
    assert f'<a href="{SPRING}">spring</a></dd>' in (await manager.get(RETRY)).text
    assert f'<a href="{RETRY}">spring/retry-1</a></dd>' in (await manager.get(SPRING)).text
    listed = (await manager.get(f"{PREFIX}/campaigns")).body["campaigns"]
    assert [each["retry_of"] for each in listed] == ["spring", None]
    found = await pool.fetchrow("SELECT state, recipients FROM campaigns WHERE name = 'spring/retry-1'")
    assert found is not None and tuple(found) == ("draft", 1)
    assert await actions(pool) == ["create"]


@pytest.mark.parametrize(("action", "state"), [("assume-sent", "accepted"), ("resend", "deferred")])
async def test_doubts_are_settled_as_a_person_decides(
    manager: Caller, pool: Pool, action: str, state: str
) -> None:
    asked = await manager.get(f"{SPRING}/settle")
    assert "the reply was lost" in asked.text
    reply = await manager.post(f"{SPRING}/settle", data={"action": action})
    assert reply.headers["Location"] == SPRING
    counts = (await manager.get(f"{PREFIX}{SPRING}")).body["counts"]
    assert (counts["unknown"], counts[state]) == (0, 1)
    assert await actions(pool) == [action]


async def test_a_draft_of_an_uploaded_list_can_change_everything(manager: Caller, pool: Pool) -> None:
    """The file is not kept: what needs a new plan is planned with the stored recipients."""
    await upload(manager, "autumn", f"+{PHONE + 40},Ana,A1\n+{PHONE + 41},Bo,A2\n", window="09:00-20:00")
    form = {
        "window": "10:00-20:00",
        "time_zone": "UTC",
        "priority": "normal",
        "on_unknown": "hold",
        "number": NUMBER,
    }
    reply = await manager.post("/campaigns/autumn/edit", data=form)
    assert reply.headers["Location"] == "/campaigns/autumn"
    reply = await manager.post("/campaigns/autumn/edit", data={**form, "quiet_hours": "21:00-08:00"})
    assert reply.status == 303, reply.text
    await until_reads(
        pool, "SELECT recipients FROM campaigns WHERE name = 'autumn'", 2
    )  # on a slow machine, later
    stored = await pool.fetchrow("SELECT recipients, options FROM campaigns WHERE name = 'autumn'")
    assert stored is not None and stored["recipients"] == 2
    assert (stored["options"]["window"], stored["options"]["quiet_hours"]) == (
        "10:00-20:00",
        "21:00-08:00",
    )
    people = await pool.fetch(
        "SELECT phone, variables FROM recipients WHERE phone >= $1 ORDER BY phone", PHONE + 40
    )
    assert [tuple(row) for row in people] == [(PHONE + 40, ["Ana", "A1"]), (PHONE + 41, ["Bo", "A2"])]
    refused = await manager.post("/campaigns/autumn/edit", data={**form, "cap": "often"})
    assert refused.status == 422 and 'value="often"' in refused.text


async def test_a_running_campaign_offers_what_may_change(manager: Caller, pool: Pool) -> None:
    await upload(manager, "autumn", f"+{PHONE + 40},Ana,A1\n")
    await manager.post(f"{PREFIX}/campaigns/autumn/start")
    fields = set(
        re.findall(r'(?:input|select)[^>]* name="(\w+)"', (await manager.get("/campaigns/autumn/edit")).text)
    )
    assert fields == {
        "clock",
        "csrf",
        "expires_at",
        "window",
        "time_zone",
        "max_failed",
        "priority",
        "share",
        "pause_at_failed",
    }


async def test_a_campaign_is_cloned_for_people_in_one_state_and_deleted(manager: Caller, pool: Pool) -> None:
    await upload(manager, "autumn", f"+{PHONE + 40},Ana,A1\n+{PHONE + 41},Bo,A2\n")
    reply = await manager.post("/campaigns/autumn/clone", data={"new_name": "winter", "state": "pending"})
    assert reply.headers["Location"] == "/campaigns/winter"
    assert await pool.fetchval("SELECT recipients FROM campaigns WHERE name = 'winter'") == 2
    reply = await manager.post("/campaigns/winter/delete")
    assert reply.headers["Location"] == "/campaigns"
    assert await pool.fetchval("SELECT count(*) FROM campaigns WHERE name = 'winter'") == 0
    taken = await manager.post("/campaigns/autumn/clone", data={"new_name": "spring"})
    assert taken.status == 422
    assert "There is a campaign with this name already." in taken.text and "exists with" not in taken.text
    assert 'value="spring" aria-invalid="true" aria-describedby="refusal"' in taken.text
    refused = await manager.post("/campaigns/nothing/delete")
    assert refused.status == 404


async def test_another_list_begins_with_the_options_of_a_campaign(manager: Caller, tmp_path: Path) -> None:
    await upload(manager, "autumn", f"+{PHONE + 40},Ana,A1\n", window="09:00-20:00", default=["name=you"])
    refused = aiohttp.FormData()
    refused.add_field("audience", b"\x89PNG\r\n", filename="cat.csv")
    form = (await manager.post("/new?like=autumn", data=refused)).text
    assert 'action="/new?like=autumn"' in form  # the next try still begins with the options
    data = aiohttp.FormData()
    data.add_field("audience", f"phone,name,order\n+{PHONE + 41},Bo,A2\n", filename="others.csv")
    reply = await manager.post("/new?like=autumn", data=data)
    stored = find_upload(console_settings(Settings(home=tmp_path)), URL(reply.headers["Location"]).name)
    assert stored is not None
    assert read_choices(stored) == {
        "template": "order",
        "language": "en",
        "number": [NUMBER],
        "param": ["name", "order"],
        "window": "09:00-20:00",
        "default": {"name": "you"},
    }


async def test_reasons_are_read_once_for_all_who_look(
    manager: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, readings = result_readings.campaign_reasons, []

    async def note(pool: Pool, campaign_id: int) -> CampaignReasons:
        readings.append(campaign_id)
        return await read(pool, campaign_id)

    monkeypatch.setattr(result_readings, "campaign_reasons", note)
    monkeypatch.setattr(result_readings, "SOON_S", 60.0)
    monkeypatch.setattr(result_readings, "FRESH_S", 60.0)
    pages = [(await manager.get(f"{SPRING}/reasons")).text for _ in range(3)]
    assert all(f"{SPRING}/retry?code={BAD_CODE}" in page for page in pages)
    assert len(readings) == 1


async def test_an_edit_shows_the_new_plan_at_once(manager: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan is shared for a minute by all who look at the same campaign, as long as it is the same."""
    await upload(manager, "autumn", f"+{PHONE + 40},Ana,A1\n")
    read: list[str] = []

    async def stored_plan(console: Any, name: str) -> dict[str, Any]:
        read.append(name)
        return await pricing.stored_plan(console, name)

    monkeypatch.setattr(launch, "stored_plan", stored_plan)
    monkeypatch.setattr(launch, "WAIT_S", 60.0)
    for _ in range(2):
        assert (await manager.get("/campaigns/autumn/launch")).status == 200
    assert read == ["autumn"]
    await manager("PATCH", f"{PREFIX}/campaigns/autumn", json={"changes": {"priority": "high"}})
    await manager.get("/campaigns/autumn/launch")
    await manager("DELETE", f"{PREFIX}/campaigns/autumn")
    await upload(manager, "autumn", f"+{PHONE + 40},Ana,A1\n", priority="high")
    await manager.get("/campaigns/autumn/launch")
    assert read == ["autumn"] * 3


async def test_nobody_names_files_of_the_server(manager: Caller) -> None:
    await upload(manager, "autumn", f"+{PHONE + 40},Ana,A1\n")
    for key in ("audience", "header_file", "exclude", "audience_sql"):
        reply = await manager("PATCH", f"{PREFIX}/campaigns/autumn", json={"changes": {key: "/etc/passwd"}})
        assert reply.status == 422 and "on the server" in reply.body["detail"]


async def test_an_export_that_fails_in_the_middle_is_cut(
    manager: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads it must not take the half for the whole."""

    async def fail(*args: Any) -> AsyncIterator[list[Any]]:
        async for page in export_values(*args):
            yield page
            raise ConnectionError("the database is away")

    monkeypatch.setattr(exporting, "export_values", fail)
    with pytest.raises(aiohttp.ClientPayloadError):
        await manager.get(f"{PREFIX}{SPRING}/export")


@pytest.mark.parametrize("form", ["csv", "xlsx", "jsonl", "parquet"])
async def test_an_export_has_every_form_and_only_whom_the_filter_admits(
    manager: Caller, tmp_path: Path, form: str
) -> None:
    path = tmp_path / f"export.{form}"
    async with (
        aiohttp.ClientSession(headers=manager.headers) as session,
        session.get(
            f"{manager.url}{SPRING}/export?format={form}&state=failed&state=read&country=br"
        ) as reply,
    ):
        path.write_bytes(await reply.read())
    with open_table(path) as source:
        table = source.table()
        at = table.header.index("phone")
        phones = [row[at] for batch in table.batches() for row in batch.rows]
    assert phones == [f"+{PHONE}", f"+{PHONE + 1}"]


async def test_what_was_suppressed_before_an_end_is_audited(
    manager: Caller, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Page by page: a console that ends in the middle has noted what it stored."""
    suppress, pages = matching.suppress_recipients, 0

    async def stop_at_the_second(*positional: Any) -> SuppressionCounts:
        nonlocal pages
        pages += 1
        if pages == 2:
            raise Unreachable("the database went away")
        return await suppress(*positional)

    monkeypatch.setattr(matching, "suppress_recipients", stop_at_the_second)
    refused = await manager.post(f"{SPRING}/suppress?state=pending", data={"reason": "wrong"})
    assert refused.status == 503 and "went away" in refused.text
    stored = await pool.fetchval("SELECT count(*) FROM suppressions WHERE reason = 'wrong'")
    noted = await pool.fetch("SELECT detail FROM audit WHERE action = 'suppress'")
    assert sum(row["detail"]["phones"] for row in noted) == stored > 0
    monkeypatch.setattr(matching, "suppress_recipients", suppress)
    assert (await manager.post(f"{SPRING}/suppress?state=pending", data={"reason": "wrong"})).status == 303
    assert await pool.fetchval("SELECT count(*) FROM suppressions WHERE reason = 'wrong'") == 7


async def test_exports_are_audited(callers: dict[Role, Caller], pool: Pool) -> None:
    reader = callers[Role.LOOK]
    assert (await reader.get(f"{SPRING}/export?format=jsonl&state=failed&state=read")).status == 200
    assert (await reader.get("/suppression/export")).status == 200
    noted = await pool.fetch(
        "SELECT actor, action, campaign_id, detail FROM audit WHERE action LIKE '%export'"
    )
    campaign_id = await pool.fetchval("SELECT campaign_id FROM campaigns WHERE name = 'spring'")
    assert [tuple(row) for row in noted] == [
        ("token of-look", "export", campaign_id, {"format": "jsonl", "state": "failed, read"}),
        ("token of-look", "suppression-export", None, {}),
    ]


async def test_all_who_match_are_suppressed(manager: Caller, pool: Pool) -> None:
    asked = await manager.get(f"{SPRING}/suppress?state=failed")
    assert "Recipients: 1." in asked.text
    reply = await manager.post(f"{SPRING}/suppress?state=failed", data={"reason": "wrong numbers"})
    assert reply.status == 303
    rows = await pool.fetch("SELECT phone, reason FROM suppressions WHERE phone >= $1 ORDER BY phone", PHONE)
    assert [tuple(row) for row in rows] == [(PHONE + 1, "wrong numbers")]
    (detail,) = [
        row["detail"] for row in await pool.fetch("SELECT detail FROM audit WHERE action = 'suppress'")
    ]
    assert detail == {"source": "hand", "phones": 1}
    assert (await manager.post(f"{SPRING}/suppress", data={"reason": "all"})).status == 422


async def test_replies_of_a_campaign_quote_it_or_come_from_its_recipients(
    manager: Caller, pool: Pool
) -> None:
    now = datetime.now(UTC)
    await pool.execute("UPDATE campaigns SET started_at = now() - interval '1 minute'")
    await pool.execute("DELETE FROM incoming_messages")
    for wamid, sender, quotes in (
        ("quoting", PHONE + 500, "wamid.1"),
        ("plain", PHONE, None),
        ("other", PHONE + 501, "wamid.elsewhere"),
        ("stranger", PHONE + 502, None),
        ("unsent", PHONE + 9, None),
        ("quotes an id that nobody knows", PHONE, "wamid.unknown"),
    ):
        body = {"text": {"body": wamid}, **({"context": {"id": quotes}} if quotes else {})}
        await pool.execute(
            "INSERT INTO incoming_messages (wamid, phone_number_id, sender, type, sent_at, body)"
            " VALUES ($1, $2, $3, 'text', $4, $5)",
            wamid, NUMBER, str(sender), now + timedelta(seconds=len(wamid)), body,
        )  # fmt: skip
    found, before, pages = [], "", 0
    while before is not None and pages < 10:
        page = (await manager.get(f"{PREFIX}{SPRING}/replies?limit=1&before={before}")).body
        found += [(each["text"], each["is_probable"]) for each in page["replies"]]
        before, pages = page["next"], pages + 1
    probable = ("quotes an id that nobody knows", True)
    assert found == [probable, ("quoting", False), ("plain", False)]
    assert "probably an answer" in (await manager.get(f"{SPRING}/replies")).text
    everything = (await manager.get(f"{PREFIX}/replies")).body["replies"]
    assert [each["text"] for each in everything] == [
        probable[0], "stranger", "quoting", "unsent", "plain", "other",
    ]  # fmt: skip


def test_a_form_changes_only_what_differs() -> None:
    stored = {"window": "09:00-20:00", "canary": 500, "cap": "2/7d"}
    sent = {"window": "09:00-20:00", "canary": "600", "cap": "", "priority": "normal", "on_unknown": "resend"}
    assert differences(stored, sent) == ({"canary": "600", "on_unknown": "resend"}, ["cap"])


async def test_who_probably_opts_out_is_suppressed_by_one_click(manager: Caller, pool: Pool) -> None:
    await pool.execute("DELETE FROM incoming_messages")
    texts = {
        "5511987650001": "Please no more messages",
        "5511987650002": "Thanks!",
        "a-user": "leave me alone",
    }
    for at, (sender, text) in enumerate(texts.items()):
        await pool.execute(
            "INSERT INTO incoming_messages (wamid, phone_number_id, sender, type, sent_at, body)"
            " VALUES ($1, $2, $3, 'text', now(), $4)",
            f"in.{at}",
            NUMBER,
            sender,
            {"text": {"body": text}},
        )
    listed = (await manager.get(f"{PREFIX}/replies?likely_opt_outs=true")).body["replies"]
    assert [(reply["phone"], reply["likely_opt_out"]) for reply in listed] == [("5511987650001", True)]
    marks = [reply["likely_opt_out"] for reply in (await manager.get(f"{PREFIX}/replies")).body["replies"]]
    assert sorted(marks) == [False, False, True]
    shown = (await manager.get("/replies?likely_opt_outs=true")).text
    assert "Perhaps asks for no more messages" in shown and "Thanks!" not in shown
    assert not await pool.fetchval("SELECT count(*) FROM suppressions WHERE phone = 5511987650001")
    form = re.search(r'<form method="post" action="(/suppression[^"]*)">(.*?)</form>', shown, re.DOTALL)
    assert form is not None
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[2]))
    assert (await manager.post(form[1], data={**fields, "csrf": ""})).status in (303, 403)
    await manager.post("/suppression", data={name: fields[name] for name in ("phones", "reason")})
    assert (
        await pool.fetchval("SELECT reason FROM suppressions WHERE phone = 5511987650001") == fields["reason"]
    )
    assert (await manager.get(f"{PREFIX}/replies?likely_opt_outs=true")).body["replies"] == []


async def test_another_category_is_agreed_to_on_the_start_page(manager: Caller, pool: Pool) -> None:
    await pool.execute("UPDATE templates SET category = 'UTILITY'")
    await upload(manager, "autumn", f"+{PHONE + 40},Ana,A1\n")
    await pool.execute("UPDATE templates SET category = 'MARKETING'")
    refused = await manager.post("/campaigns/autumn/launch", data={})
    assert refused.status == 409 and 'name="accept_category"' in refused.text
    assert (
        "moved to another category" in refused.text and "Agree to the other price and start" in refused.text
    )
    started = await manager.post("/campaigns/autumn/launch", data={"accept_category": "1"})
    assert started.status == 303
    assert (await manager.get(f"{PREFIX}/campaigns/autumn")).body["state"] == "running"


@pytest.mark.parametrize("broken", [False, True])
async def test_what_the_receiver_refused_and_set_aside_is_on_the_page_of_numbers(
    manager: Caller, pool: Pool, broken: bool
) -> None:
    if broken:
        await pool.execute(
            "INSERT INTO callback_refusals VALUES ('wrong signature', date_trunc('minute', now()), 12)"
        )
        await pool.execute(
            "INSERT INTO unreadable_events (event_key, body, problem) VALUES ('k', '', 'a <word>')"
        )
    shown = (await manager.get("/numbers")).text
    for words in (
        "Events that did not get through",
        "12 requests refused",
        "a &lt;word&gt;",
        "webhooks reread",
    ):
        assert (words in shown) is broken
