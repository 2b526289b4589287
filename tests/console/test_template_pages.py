"""Templates with media and of one-time codes, further languages, corrections and deletions, at the emulated service."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page, expect

from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.users import add_token
from drumbeat.emulator.testing import Emulator
from drumbeat.engine.api.endpoints.templates import TemplateRecord, Templates
from drumbeat.engine.store.database import Pool
from tests.console.chromium import browser, needs_chromium, page
from tests.console.conftest import Caller
from tests.console.plain_browser import Browser
from tests.console.test_account_at_service import CONFIG, NEW, emulator, here, submitted, url
from tests.console.test_interface import require_documented

__all__ = ["browser", "emulator", "here", "page", "url"]  # fixtures

SAMPLE = "https://lantern.example/sun.jpg"
CODE = {
    "name": "summer_news",
    "language": "en_US",
    "category": "AUTHENTICATION",
    "header_format": "TEXT",
    "warns": "on",
    "code_button": "Copy code",
    "expires_min": "10",
}
BODY = [{"type": "BODY", "text": "Hi"}]


async def components_of(pool: Pool, name: str) -> list[dict[str, object]]:
    definition = await pool.fetchval("SELECT definition FROM templates WHERE name = $1", name)
    found: list[dict[str, object]] = definition["components"]
    return found


async def test_a_picture_is_submitted_with_its_sample(pool: Pool, here: Browser) -> None:
    picture = {**NEW, "header_format": "IMAGE", "header": "not shown", "header_sample": ""}
    missing = await here.send("/new-template", picture)
    assert missing.status == 422 and "The sample is missing" in missing.text
    assert 'value="IMAGE" selected' in missing.text  # what was chosen stays
    assert (await here.send("/new-template", {**picture, "header_sample": SAMPLE})).status == 303
    header = (await components_of(pool, "summer_news"))[0]
    assert header == {"type": "HEADER", "format": "IMAGE", "example": {"header_handle": [SAMPLE]}}


async def test_a_one_time_code_has_the_text_of_the_service(pool: Pool, here: Browser) -> None:
    preview = (await here.send("/new-template/preview", CODE)).text
    assert "do not share this code" in preview and "expires in 10 minutes" in preview
    wrong = await here.send("/new-template", {**CODE, "expires_min": "91", "code_button": ""})
    assert wrong.status == 422
    assert "from 1 to 90" in wrong.text and "The button needs its words" in wrong.text
    assert (await here.send("/new-template", CODE)).status == 303
    body, footer, buttons = await components_of(pool, "summer_news")
    assert "is your verification code" in str(body["text"])
    assert footer["text"] == "This code expires in 10 minutes."
    assert buttons["buttons"] == [{"type": "OTP", "otp_type": "COPY_CODE", "text": "Copy code"}]


async def test_another_language_and_a_correction_begin_with_what_there_is(here: Browser) -> None:
    await here.send("/templates/sync")
    shown = (await here.get("/templates/flash_prize")).text
    assert "/new-template?like=flash_prize&amp;language=en_US" in shown
    form = (await here.get("/new-template?like=flash_prize&language=en_US")).text
    assert 'value="flash_prize_2"' in form and "you have won" in form
    form = (await here.get("/new-template?like=plant_ready")).text
    assert 'value="plant_ready"' in form and "https://lantern.example/plant.jpg" in form
    assert 'name="language" required size="8" maxlength="8" value=""' in form


async def test_a_template_that_campaigns_need_is_not_deleted(
    pool: Pool, here: Browser, emulator: Emulator
) -> None:
    await here.send("/templates/sync")
    await pool.execute("UPDATE campaigns SET template = template || $1", {"name": "order_shipped"})
    path = "/templates/order_shipped/delete"
    assert "Campaigns that need it" not in (await here.get(path)).text  # of a draft
    await pool.execute(
        "UPDATE campaigns SET state = 'running', template = template || $1", {"language": "en_US"}
    )
    shown = (await here.get(path)).text
    assert 'href="/campaigns/spring"' in shown and "all languages" not in shown
    for language in ("", "en_US"):
        refused = await here.send(path, {"language": language})
        assert refused.status == 422 and "still needed by the campaign spring" in refused.text
    assert (await here.send(path, {"language": "pt_BR"})).headers["Location"] == "/templates"
    book = emulator.service.accounts[CONFIG.waba].book
    assert [each.language for each in book.named("order_shipped")] == ["en_US"]
    noted = await pool.fetchval("SELECT detail FROM audit WHERE action = 'template-delete'")
    assert noted == {"template": "order_shipped", "languages": ["pt_BR"]}


async def test_programs_delete_a_template(pool: Pool, url: str, emulator: Emulator) -> None:
    caller = Caller(url, await add_token(pool, "sender", Role.SEND, actor="test"))
    made = {"name": "summer_news", "language": "en_US", "category": "UTILITY", "components": BODY}
    assert (await caller.post("/api/v1/templates", json=made)).status == 201
    path = "/api/v1/templates/summer_news"
    reply = await caller("DELETE", path, params={"language": "en_US"})
    require_documented("DELETE", "/templates/{name}", reply)
    assert reply.body == {"name": "summer_news", "languages": ["en_US"]}
    assert submitted(emulator) == []
    again = await caller("DELETE", path)
    assert (again.status, again.code) == (404, "not_found")


async def test_another_language_stays_where_the_service_lists_all(
    pool: Pool, url: str, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = Templates.list

    def list_all(self: Templates, waba_id: str, **filters: str | None) -> AsyncIterator[TemplateRecord]:
        return listing(self, waba_id, **{**filters, "language": None})

    monkeypatch.setattr(Templates, "list", list_all)
    caller = Caller(url, await add_token(pool, "sender", Role.SEND, actor="test"))
    book = emulator.service.accounts[CONFIG.waba].book
    gone, kept = [each.language for each in book.named("order_shipped")][::-1]
    reply = await caller("DELETE", "/api/v1/templates/order_shipped", params={"language": gone})
    assert reply.body == {"name": "order_shipped", "languages": [gone]}
    assert [each.language for each in book.named("order_shipped")] == [kept]


@pytest.mark.parametrize(
    ("language", "words"), [("en", "a place without an example"), ("de", "ohne Beispiel")]
)
async def test_why_the_review_failed_is_said_in_words(
    pool: Pool, here: Browser, language: str, words: str
) -> None:
    await here.send("/templates/sync")
    await pool.execute("UPDATE templates SET status_reason = 'INVALID_FORMAT' WHERE status = 'REJECTED'")
    here.headers = {**here.headers, "Accept-Language": language}
    shown = (await here.get("/templates/flash_prize")).text
    assert words in shown and "(INVALID_FORMAT)" in shown


@needs_chromium
async def test_only_the_fields_of_what_is_chosen_are_shown(page: Page) -> None:
    await page.goto("/new-template")
    await page.locator("input[name=name]").fill("summer_code")
    await expect(page.get_by_label("A sample of it")).to_be_hidden()
    await page.locator("select[name=header_format]").select_option("IMAGE")
    await expect(page.get_by_label("A sample of it")).to_be_visible()
    await page.locator("select[name=category]").select_option("AUTHENTICATION")
    await expect(page.locator("textarea[name=body]")).to_be_hidden()
    await page.get_by_label("Words of the button").fill("Copy code")
    await expect(page.locator(".bubble .choice")).to_have_text("Copy code")
    await page.get_by_role("button", name="Send it for review").click()
    await expect(page.get_by_text("The service reviews it")).to_be_visible()
