"""A client that was written for services of this family by others works, with only its base address changed.

The client is pywa from the package registry. `--product` gives the emulator the word that the client speaks,
read from the client's own code.
"""

import asyncio
import inspect
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pywa.api  # type: ignore[import-untyped]
from aiohttp import web
from pywa import WhatsApp, types
from pywa.types.templates import (  # type: ignore[import-untyped]
    BodyText,
    FooterText,
    Template,
    TemplateCategory,
    TemplateLanguage,
)

from tests.emulator.conftest import ACCOUNT, ANA, NUMBER, Client, Start

found = re.search(r'messaging_product="(\w+)"', inspect.getsource(pywa.api))
assert found is not None
WORD = found.group(1)
WAIT_LIMIT_S = 60.0


class Business:
    """What a user of the client would write: the client, and a callback that hands it what arrives."""

    def __init__(self, emulator: Client, session: httpx.Client) -> None:
        app_id = emulator.emulator.service.config.app_id
        self.events: list[Any] = []
        self.arrived = asyncio.Event()
        self.wa = WhatsApp(
            phone_id=NUMBER,
            token="emulator-token",
            session=session,
            server=None,
            business_account_id=ACCOUNT,
            app_id=int(app_id),
            app_secret="emulator-secret",
            verify_token="a word",
            api_version="22.0",
        )
        session.base_url = f"{emulator.emulator.url}/v22.0"
        self.wa.on_message()(self._keep)
        self.wa.on_message_status()(self._keep)

    def _keep(self, _: WhatsApp, update: Any) -> None:
        self.events.append(update)

    async def callback(self, request: web.Request) -> web.Response:
        body = await request.read()
        signature = request.headers.get("X-Hub-Signature-256")
        text, status = self.wa.webhook_update_handler(body, hmac_header=signature)
        self.arrived.set()
        return web.Response(text=text, status=status)

    async def challenge(self, request: web.Request) -> web.Response:
        token, challenge = request.query["hub.verify_token"], request.query["hub.challenge"]
        text, status = self.wa.webhook_challenge_handler(token, challenge)
        return web.Response(text=text, status=status)

    async def until(self, enough: Any) -> Any:
        """The first event for which `enough` is true."""
        async with asyncio.timeout(WAIT_LIMIT_S):
            while True:
                for event in self.events:
                    if enough(event):
                        return event
                self.arrived.clear()
                await self.arrived.wait()


@pytest.fixture
async def emulator(start: Start) -> Client:
    # This client looks at the first status of a POST only, so each comes in one of its own.
    return await start(product=WORD, read_ratio=1.0, events_per_post=1)


@pytest.fixture
async def business(emulator: Client) -> AsyncIterator[Business]:
    with httpx.Client() as session:
        business = Business(emulator, session)
        app = web.Application()
        app.router.add_post("/hook", business.callback)
        app.router.add_get("/hook", business.challenge)
        runner = web.AppRunner(app, shutdown_timeout=0.5)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
        subscription = {"callback_url": url, "verify_token": "a word", "fields": "messages"}
        path = f"/{emulator.emulator.service.config.app_id}/subscriptions"
        assert (await emulator.call("POST", path, json=subscription)).body == {"success": True}
        yield business
        await runner.cleanup()


async def test_it_sends_a_template_and_hears_of_it(emulator: Client, business: Business) -> None:
    sent = await asyncio.to_thread(
        business.wa.send_template,
        ANA,
        "order_shipped",
        TemplateLanguage.ENGLISH_US,
        [BodyText.params("Ana", "LH-7")],
        tracker="tag-7",
    )
    seen = await business.until(lambda event: getattr(event, "status", None) == types.MessageStatusType.READ)
    assert seen.id == sent.id
    assert seen.tracker == "tag-7"
    assert (await emulator.ask("ledger"))["messages"][0]["parameters"] == ["Ana", "LH-7"]


async def test_it_uploads_sends_and_fetches_media(emulator: Client, business: Business) -> None:
    content = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    media = await asyncio.to_thread(
        business.wa.upload_media, content, mime_type="image/png", filename="a.png"
    )
    await emulator.control("incoming", phone_number_id=NUMBER, text="Oi", **{"from": ANA})
    received = await business.until(lambda event: getattr(event, "text", None) == "Oi")
    assert received.from_user.wa_id == ANA
    sent = await asyncio.to_thread(business.wa.send_image, ANA, media.id, caption="A lamp")
    assert sent.id == (await emulator.ask("ledger"))["messages"][0]["wamid"]
    known = await asyncio.to_thread(business.wa.get_media_url, media.id)
    assert (known.mime_type, known.file_size) == ("image/png", len(content))
    assert await asyncio.to_thread(business.wa.get_media_bytes, known.url) == content
    assert (await asyncio.to_thread(business.wa.mark_message_as_read, received.id)).success
    assert (await asyncio.to_thread(business.wa.delete_media, media.id)).success


async def test_it_lists_and_creates_templates(business: Business) -> None:
    listed = await asyncio.to_thread(lambda: list(business.wa.get_templates()))
    assert {"order_shipped", "winter_sale"} <= {template.name for template in listed}
    template = Template(
        name="hello_again",
        language=TemplateLanguage.ENGLISH_US,
        category=TemplateCategory.UTILITY,
        components=[BodyText("Hi {{1}}, we are back.", "Ana"), FooterText(text="Lantern")],
    )
    created = await asyncio.to_thread(business.wa.create_template, template)
    assert created.status.value == "PENDING"


async def test_it_understands_errors(business: Business) -> None:
    with pytest.raises(pywa.errors.WhatsAppError) as caught:
        await asyncio.to_thread(business.wa.send_message, ANA, "Too late")
    assert caught.value.code == 131047
