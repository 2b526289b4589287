"""Retry, clone, edit and suppressing by a filter may take longer than a proxy waits: they go on beside the request."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Error, Page, Route, expect

from drumbeat.campaigns.console.campaigns import actions as steering
from drumbeat.campaigns.console.new import actions as upload_planning
from drumbeat.campaigns.console.people import api as people
from drumbeat.campaigns.console.web import jobs, replying, work
from drumbeat.campaigns.console.web.operations import PREFIX
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.progress import PlanProgress
from drumbeat.campaigns.results import matching
from drumbeat.engine.store.database import Pool
from tests.console.chromium import browser, needs_chromium, page, require_accessible
from tests.console.conftest import BAD_CODE, Caller
from tests.console.test_interface import SPEC, form, require_documented, suppression_form

__all__ = ["browser", "page"]  # fixtures

SPRING = "/campaigns/spring"
RETRIES = f"{PREFIX}{SPRING}/retries"
KEY = {"Idempotency-Key": "k-1"}


@pytest.fixture
def go_on(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Nobody waits for work, and plans and suppressions wait for this event."""
    event = asyncio.Event()
    monkeypatch.setattr(work, "WAIT_S", 0.0)
    monkeypatch.setattr(replying, "WAIT_S", 0.0)
    for name in ("plan_retry", "create_campaign", "edit_campaign"):
        monkeypatch.setattr(steering, name, _slow(getattr(steering, name), event))
    monkeypatch.setattr(matching, "suppress_matching", _slow(matching.suppress_matching, event))
    return event


def _slow(act: Any, event: asyncio.Event) -> Any:
    async def slow(*positional: Any, **named: Any) -> Any:
        for progress in filter(callable, positional):
            progress(PlanProgress("reading", 1, 2, 4_711))
        await event.wait()
        return await act(*positional, **named)

    return slow


@asynccontextmanager
async def promptly() -> AsyncIterator[None]:
    async with asyncio.timeout(30):
        yield


async def ended(manager: Caller, address: str) -> Any:
    """The page or job at the address, once its work has ended."""
    async with promptly():
        while True:
            reply = await manager.get(address)
            if reply.body["ended"] if reply.body is not None else "being worked on" not in reply.text:
                return reply
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("address", "form", "leads_to"),
    [
        (f"{SPRING}/retry", {"code": str(BAD_CODE)}, "/campaigns/spring%2Fretry-1"),
        (f"{SPRING}/clone", {"new_name": "winter", "state": ""}, "/campaigns/winter"),
        (f"{SPRING}/edit", {"window": "09:00-20:00", "number": "1001"}, SPRING),
        (f"{SPRING}/suppress?state=failed", {"reason": "wrong"}, f"{SPRING}/recipients"),
    ],
)
async def test_a_page_says_how_far_it_is_and_then_leads_on(
    manager: Caller, go_on: asyncio.Event, address: str, form: dict[str, str], leads_to: str
) -> None:
    begun = await manager.post(address, data=form)
    again = await manager.post(address, data=form)
    assert begun.status == again.status == 303
    assert begun.headers["Location"] == again.headers["Location"]
    waiting = await manager.get(begun.headers["Location"])
    assert "being worked on" in waiting.text and "4,711 rows so far" in waiting.text
    go_on.set()
    assert (await ended(manager, begun.headers["Location"])).headers["Location"] == leads_to


async def test_work_that_is_refused_shows_its_form_with_what_was_typed(
    manager: Caller, go_on: asyncio.Event
) -> None:
    begun = await manager.post(f"{SPRING}/retry", data={"code": "77", "new_name": "again"})
    go_on.set()
    shown = await ended(manager, begun.headers["Location"])
    assert shown.status == 200 and 'role="alert"' in shown.text
    assert 'value="77"' in shown.text and 'value="again"' in shown.text
    assert f'action="{SPRING}/retry"' in shown.text


async def test_a_program_gets_the_address_of_the_work_and_its_reply_there(
    manager: Caller, pool: Pool, go_on: asyncio.Event
) -> None:
    begun = await manager.post(RETRIES, json={"code": [BAD_CODE]}, headers=KEY)
    require_documented("POST", "/campaigns/{name}/retries", begun)
    again = await manager.post(RETRIES, json={"code": [BAD_CODE]}, headers=KEY)
    assert (begun.status, again.status) == (202, 202)
    assert begun.headers["Location"] == again.headers["Location"]
    other = await manager.post(RETRIES, json={"code": [1]}, headers=KEY)
    assert other.status == 202  # a key that is used: refused once it is its turn
    go_on.set()
    done = await ended(manager, begun.headers["Location"])
    require_documented("GET", "/jobs/{reference}", done)
    assert done.body["reply"]["name"] == "spring/retry-1"
    refused = await ended(manager, other.headers["Location"])
    assert refused.body["problem"]["code"] == "key_reused"
    assert await pool.fetchval("SELECT count(*) FROM audit WHERE action = 'create'") == 1


async def test_a_program_that_uploads_need_not_wait_either(
    manager: Caller, pool: Pool, go_on: asyncio.Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is kept until the work has ended, and no longer; that of a repeated request is not kept at all."""
    monkeypatch.setattr(upload_planning, "create_campaign", _slow(upload_planning.create_campaign, go_on))
    monkeypatch.setattr(people, "import_upload", _slow(people.import_upload, go_on))
    uploads = tmp_path / "uploads"
    begun, again = [await manager.post(f"{PREFIX}/campaigns", data=form(SPEC), headers=KEY) for _ in "ab"]
    assert (begun.status, again.status) == (202, 202)
    assert begun.headers["Location"] == again.headers["Location"] and len(list(uploads.iterdir())) == 1
    require_documented("POST", "/campaigns", begun)
    importing = await manager.post(f"{PREFIX}/suppressions/import", data=suppression_form())
    assert importing.status == 202
    go_on.set()
    done = await ended(manager, begun.headers["Location"])
    assert (done.body["reply"]["name"], done.body["reply"]["rejected"]) == ("autumn", 1)
    assert (await ended(manager, importing.headers["Location"])).body["reply"]["changed"] == 1
    assert list(uploads.iterdir()) == []
    monkeypatch.setattr(replying, "WAIT_S", 60.0)
    stored = await manager.post(f"{PREFIX}/campaigns", data=form(SPEC), headers=KEY)
    assert stored.body == done.body["reply"] and list(uploads.iterdir()) == []
    assert await pool.fetchval("SELECT count(*) FROM audit WHERE action = 'create'") == 1


async def test_the_reply_comes_at_once_if_the_work_is_soon_done(
    manager: Caller, go_on: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on.set()
    monkeypatch.setattr(replying, "WAIT_S", 60.0)
    first = await manager.post(RETRIES, json={"code": [BAD_CODE]}, headers=KEY)
    again = await manager.post(RETRIES, json={"code": [BAD_CODE]}, headers=KEY)
    assert (first.status, again.status, again.body) == (200, 200, first.body)
    refused = await manager.post(RETRIES, json={"code": [77], "name": "again"})
    assert refused.status == 409 and refused.code == "not_ready"


async def test_the_work_of_others_is_no_secret_and_only_who_may_send_sees_it(
    callers: dict[Role, Caller], go_on: asyncio.Event
) -> None:
    begun = await callers[Role.SEND].post(f"{SPRING}/retry", data={"code": str(BAD_CODE)})
    assert (await callers[Role.LOOK].get(begun.headers["Location"])).status == 403
    assert (await callers[Role.MANAGE].get(begun.headers["Location"])).status == 200
    assert (await callers[Role.SEND].get("/work/nothing")).status == 404
    assert (await callers[Role.SEND].get(f"{PREFIX}/jobs/nothing")).status == 404
    go_on.set()


async def test_what_costs_little_waits_for_no_place() -> None:
    many, never = jobs.Jobs(), asyncio.Event()

    async def work(progress: Any) -> str:
        return "/there"

    async def endless(progress: Any) -> str:
        await never.wait()
        return ""

    for number in range(jobs.AT_ONCE):
        many.begin(f"plan {number}", endless)
    assert not await many.begin("another plan", work).wait(0.0)
    assert await many.begin("an edit", work, costly=False).wait(60.0)
    await many.close()


@needs_chromium
async def test_the_page_leads_on_by_itself(page: Page, go_on: asyncio.Event) -> None:
    await page.goto(f"{SPRING}/retry?code={BAD_CODE}")
    await page.get_by_role("button", name="Create the retry").click()
    await expect(page.get_by_text("4,711 rows so far")).to_be_visible(timeout=30_000)
    await require_accessible(page)
    go_on.set()
    await expect(page).to_have_url(re.compile("/campaigns/spring%2Fretry-1$"))


@needs_chromium
@pytest.mark.parametrize(
    ("code", "shows"), [(str(BAD_CODE), "retry-1"), ("77", "there is nobody to send to")]
)
async def test_behind_a_proxy_that_holds_events_back_the_end_shows_too(
    page: Page, go_on: asyncio.Event, code: str, shows: str
) -> None:
    held = asyncio.Event()

    async def hold(_: Route) -> None:
        await held.wait()

    await page.route("**/live/**", hold)
    await page.clock.install()
    await page.goto(f"{SPRING}/retry?code={code}")
    await page.get_by_role("button", name="Create the retry").click()
    await expect(page.get_by_text("4,711 rows so far")).to_be_visible(timeout=30_000)
    await page.clock.run_for(11_000)
    await expect(page.locator(".live")).to_have_text("asks every few seconds", timeout=30_000)
    go_on.set()
    async with promptly():
        while not await page.get_by_text(shows).first.is_visible():
            with suppress(Error):  # the page is being left
                await page.clock.run_for(2_000)
    held.set()
    await page.unroute_all(behavior="ignoreErrors")


async def test_of_those_that_ended_only_the_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "ENDED_KEPT_MAX", 2)
    several = jobs.Jobs()

    async def work(progress: Any) -> str:
        return "/there"

    for key in "abcd":
        await several.begin(key, work).wait(60.0)
    assert [key for key in "abcd" if several.find(key) is not None] == ["b", "c", "d"]
