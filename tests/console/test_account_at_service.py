"""Numbers and templates of the account at the (emulated) service: read, submitted, and followed through the review."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.users import add_token
from drumbeat.emulator.config import EmulatorConfig, NumberConfig
from drumbeat.emulator.testing import Emulator, running_emulator
from drumbeat.engine.store.database import Pool
from drumbeat.engine.webhooks.account import act
from tests.console.chromium import browser, needs_chromium, page
from tests.console.conftest import Caller, Reply, console
from tests.console.plain_browser import Browser, browser_of
from tests.console.test_interface import require_documented

__all__ = ["browser", "page"]  # fixtures

CONFIG = EmulatorConfig(port=0, numbers=(NumberConfig("2001", 80),))
BODY = "Hi {{1}}, {{2}} is here"
NEW = {
    "name": "summer_news",
    "language": "en_US",
    "category": "MARKETING",
    "body": BODY,
    "example body 1": "Ana",
    "example body 2": "summer",
}
DEFINITION = {
    "name": "summer_news",
    "language": "en_US",
    "category": "MARKETING",
    "components": [{"type": "BODY", "text": "Hi {{1}}", "example": {"body_text": [["Ana"]]}}],
}


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with running_emulator(CONFIG) as running:
        yield running


@pytest.fixture
async def url(
    pool: Pool, database_url: str, campaign: str, tmp_path: Path, emulator: Emulator
) -> AsyncIterator[str]:
    """A console that knows the service."""
    at = {"base_url": emulator.url, "access_token": CONFIG.token, "waba_id": CONFIG.waba}
    async with console(pool, database_url, tmp_path, **at) as url:
        yield url


def submitted(emulator: Emulator) -> list[str]:
    """The templates that the emulator did not begin with."""
    book = emulator.service.accounts[CONFIG.waba].book
    return [each.name for each in book if each.name in ("summer_news", "Summer News", "x")]


@pytest.fixture
async def here(url: str) -> Browser:
    return await browser_of(url)


async def test_numbers_and_templates_are_read_from_the_service(pool: Pool, here: Browser) -> None:
    assert (await here.send("/numbers/sync")).headers["Location"] == "/numbers"
    page = (await here.get("/numbers")).text
    assert "2001" in page and "no longer in the account" in page.casefold()  # 1001 is of the store alone
    assert (await here.send("/templates/sync")).headers["Location"] == "/templates"
    listed = (await here.get("/templates")).text
    assert "order_shipped" in listed
    actions = {row["action"] for row in await pool.fetch("SELECT action FROM audit")}
    assert {"number-sync", "template-sync"} <= actions


async def test_a_template_is_submitted_and_its_review_is_shown(
    pool: Pool, here: Browser, emulator: Emulator
) -> None:
    reply = await here.send("/new-template", NEW)
    assert (reply.status, reply.headers.get("Location")) == (303, "/templates/summer_news")
    shown = (await here.get("/templates/summer_news")).text
    assert "The service reviews it" in shown and "in review" in shown
    (stored,) = await pool.fetch("SELECT definition FROM templates WHERE name = 'summer_news'")
    assert stored["definition"]["components"][0]["example"] == {"body_text": [["Ana", "summer"]]}
    event = {"event": "REJECTED", "reason": "INVALID_FORMAT"}
    named = {"message_template_name": "summer_news", "message_template_language": "en_US"}
    await pool.execute(
        "INSERT INTO account_events (event_key, field, subject, value) VALUES ('1', 'message_template_status_update', 'x', $1)",
        {**event, **named},
    )
    async with pool.acquire() as connection:
        await act(connection)
    shown = (await here.get("/templates/summer_news")).text
    assert "(INVALID_FORMAT)" in shown and "The service reviews it" not in shown


@needs_chromium
async def test_a_template_is_written_with_its_preview_and_followed(page: Page, pool: Pool) -> None:
    await page.goto("/new-template")
    await page.locator("input[name=name]").fill("summer_news")
    await page.get_by_role("textbox", name="Text Write").fill("Hi {{1}}!")
    await page.get_by_label("Text {{1}}").fill("Ana")
    await expect(page.locator(".bubble")).to_contain_text("Hi Ana!")
    await expect(page.get_by_label("Text {{1}}")).to_be_focused()
    await page.get_by_role("button", name="Send it for review").click()
    await expect(page.get_by_text("The service reviews it")).to_be_visible()
    await expect(page.locator(".live")).to_have_text("live")
    await pool.execute(
        "UPDATE templates SET status = 'APPROVED' WHERE name = 'summer_news'"
    )  # as an event does
    await expect(page.get_by_text("approved")).to_be_visible()
    await expect(page.get_by_text("The service reviews it")).to_be_hidden()


async def test_the_service_is_asked_for_a_review_while_somebody_looks(
    pool: Pool, here: Browser, emulator: Emulator
) -> None:
    """Without a receiver, no event comes."""
    await here.send("/new-template", NEW)
    emulator.service.reviewer.decide("summer_news", None, "APPROVED", "NONE")
    assert (await here.get("/live/templates/summer_news")).status == 200
    status = await pool.fetchval("SELECT status FROM templates WHERE name = 'summer_news'")
    assert status == "APPROVED"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": "Summer News"}, "Use small letters"),
        ({"example body 2": ""}, "An example is missing"),
        ({"body": "Hi {{1}}, {{3}}"}, "without a gap"),
        ({"body": ""}, "The text is missing"),
    ],
)
async def test_what_the_review_would_reject_is_said_at_the_field(
    here: Browser, emulator: Emulator, changed: dict[str, str], words: str
) -> None:
    reply = await here.send("/new-template", {**NEW, **changed})
    assert reply.status == 422 and words in reply.text and 'aria-invalid="true"' in reply.text
    assert submitted(emulator) == []


async def test_what_the_service_refuses_is_said_at_the_field(here: Browser) -> None:
    await here.send("/new-template", NEW)
    reply = await here.send("/new-template", NEW)
    assert reply.status == 422 and "exists in en_US" in reply.text
    assert 'value="summer_news" aria-invalid="true"' in reply.text
    assert "summer" in reply.text  # what was typed stays


async def test_a_preview_asks_for_examples_and_submits_nothing(here: Browser, emulator: Emulator) -> None:
    given = {"name": "x", "language": "en_US", "category": "UTILITY", "body": BODY, "example body 1": "Bo"}
    reply = await here.send("/new-template/preview", given)
    assert reply.status == 200 and "Hi Bo, {{2}} is here" in reply.text
    assert 'name="example body 2"' in reply.text
    assert submitted(emulator) == []


async def test_programs_do_the_same(pool: Pool, url: str) -> None:
    caller = Caller(url, await add_token(pool, "sender", Role.SEND, actor="test"))

    async def ask(path: str, **options: Any) -> Reply:
        reply = await caller.post(f"/api/v1{path}", **options)
        require_documented("POST", path, reply)
        return reply

    made = await ask("/templates", json=DEFINITION)
    assert (made.status, made.body["status"]) == (201, "PENDING")
    twice = await ask("/templates", json=DEFINITION)
    assert (twice.status, twice.code) == (422, "service_refused")
    templates = (await ask("/templates/sync")).body["templates"]
    assert {"summer_news", "order_shipped"} <= {each["name"] for each in templates}
    numbers = (await ask("/numbers/sync")).body["numbers"]
    assert [each["phone_number_id"] for each in numbers if not each["unlisted_at"]] == ["2001"]


async def test_without_a_service_the_page_says_what_is_missing(
    pool: Pool, database_url: str, campaign: str, tmp_path: Path
) -> None:
    async with console(pool, database_url, tmp_path) as url:
        reply = await (await browser_of(url)).send("/templates/sync")
        assert reply.status == 422 and "base_url" in reply.text
