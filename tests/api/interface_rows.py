"""A call of the client for each row of the service's interface. `test_interface` runs them on the emulator."""

import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from drumbeat.emulator.config import EmulatorConfig, NumberConfig
from drumbeat.emulator.testing import Emulator, running_emulator
from drumbeat.engine.api import (
    CatalogItem,
    CouponCode,
    FlowToken,
    Granularity,
    Image,
    Location,
    Message,
    NewTemplate,
    Profile,
    QuickReply,
    Service,
    ServiceError,
    TemplateMessage,
    Text,
    UrlSuffix,
)
from tests.emulator.conftest import running_receiver

from .free_form import FREE_FORM, LINK

CONFIG = EmulatorConfig(port=0, numbers=(NumberConfig("1", 1000),), callback=None, status_delay=0.0)
NUMBER, ACCOUNT, APP = "1", CONFIG.waba, CONFIG.app_id
ANA = "5511987654321"
FIELDS = ("messages", "message_template_status_update")


@dataclass
class Driven:
    """The client, the emulator behind it, and what the emulator was asked: method and pattern of the path."""

    client: Service
    emulator: Emulator
    directory: Path
    asked: set[tuple[str, str]] = field(default_factory=set)

    async def send(self, message: Message, to: str = ANA, **rest: Any) -> str:
        return (await self.client.messages.send(NUMBER, to, message, **rest)).wamid

    def incoming(self) -> str:
        """A customer writes in, which opens the window; the id of the message."""
        service = self.emulator.service
        message = {"type": "text", "text": {"body": "Hello"}}
        return service.incoming.receive(service.numbers[NUMBER], int(ANA), message, "Ana")

    def last(self) -> Any:
        """The content of the last message in the ledger."""
        return self.emulator.service.ledger.row(len(self.emulator.service.ledger) - 1)


@asynccontextmanager
async def driven(directory: Path) -> AsyncIterator[Driven]:
    async with running_emulator(CONFIG) as emulator, Service(emulator.url, CONFIG.token) as client:
        found = Driven(client, emulator, directory)
        _listen(client, found.asked)
        yield found


def _listen(client: Service, asked: set[tuple[str, str]]) -> None:
    """Note each request as the path of the document that it takes."""
    session = client.messages._caller._session
    request = session.request

    def noting(method: str, url: str, **options: Any) -> Any:
        asked.add((method, _pattern(url)))
        return request(method, url, **options)

    session.request = noting  # type: ignore[method-assign,assignment]


def _pattern(url: str) -> str:
    path = re.sub(r"^http://[^/]+", "", url).partition("?")[0]
    path = re.sub(r"^/media/.*", "/media/{ticket}", path)
    return re.sub(r"^/v22\.0/[^/]+", "/v22.0/{id}", path)


Row = Callable[[Driven], Awaitable[None]]
ROWS: dict[str, Row] = {}


def row(name: str) -> Callable[[Row], Row]:
    def add(call: Row) -> Row:
        assert name not in ROWS
        ROWS[name] = call
        return call

    return add


# The interface: its endpoints, its message types, and the callbacks' subscriptions.
INTERFACE = {
    *(
        "send text",
        "send image",
        "send video",
        "send audio",
        "send document",
        "send sticker",
        "send reaction",
    ),
    *(
        "send location",
        "send contacts",
        "send reply buttons",
        "send list menu",
        "send URL button",
        "send flow",
    ),
    *(
        "send template",
        "send template: header, named parameters and buttons",
        "reply context",
        "mark as read",
    ),
    *("upload media", "get media", "download media", "delete media"),
    *("list templates", "get template", "create template", "delete template"),
    *(
        "list phone numbers",
        "get phone number",
        "register",
        "get business profile",
        "update business profile",
    ),
    *("analytics", "conversation analytics", "subscribe", "get subscription", "unsubscribe"),
    *("subscribe account", "get subscribed apps", "unsubscribe account"),
}


def _free_form(message: Message, kind: str) -> Row:
    async def call(driven: Driven) -> None:
        driven.incoming()
        wamid = await driven.send(message, tag="mine")
        last = driven.last()
        assert (last["wamid"], last["type"], last["tag"]) == (wamid, kind, "mine")

    return call


for _name, (_message, _kind) in FREE_FORM.items():
    ROWS[_name] = _free_form(_message, _kind)


@row("send template")
async def _template(driven: Driven) -> None:
    await driven.send(TemplateMessage(name="order_shipped", language="en_US", body=["Ana", "A-1"]))
    assert driven.last()["template"] == "order_shipped"


@row("send template: header, named parameters and buttons")
async def _whole_template(driven: Driven) -> None:
    named = {"first_name": "Ana", "day": "Monday", "time": "10:30"}
    await driven.send(TemplateMessage(name="appointment_reminder", language="en_US", body=named))
    picture = Image(link=LINK)
    await driven.send(
        TemplateMessage(
            name="catalogue", language="en_US", header=picture, body=["Ana"], buttons={0: UrlSuffix("2f9")}
        )
    )
    offer = TemplateMessage(
        name="spring_offer", language="en_US", body=["Ana", "20 %"], buttons={0: QuickReply("show")}
    )
    await driven.send(offer)
    service = driven.emulator.service
    buttons = [
        {"type": "COPY_CODE", "example": "SPRING"},
        {"type": "FLOW", "text": "Book", "flow_id": "7"},
        {"type": "CATALOG", "text": "See all"},
    ]
    components = [
        {"type": "HEADER", "format": "LOCATION"},
        {"type": "BODY", "text": "Hi there"},
        {"type": "BUTTONS", "buttons": buttons},
    ]
    await driven.client.templates.create(ACCOUNT, NewTemplate("every", "en_US", "UTILITY", components))
    service.reviewer.decide("every", None, "APPROVED", "NONE")
    filled = {0: CouponCode("SPRING24"), 1: FlowToken("t-1"), 2: CatalogItem("p-1")}
    place = Location(-23.5, -46.6)
    await driven.send(TemplateMessage(name="every", language="en_US", header=place, buttons=filled))
    assert driven.last()["template"] == "every"


@row("reply context")
async def _reply(driven: Driven) -> None:
    wamid = driven.incoming()
    await driven.send(Text("Of course"), reply_to=wamid)


@row("mark as read")
async def _read(driven: Driven) -> None:
    wamid = driven.incoming()
    await driven.client.messages.mark_read(NUMBER, wamid)
    assert driven.emulator.service.incoming.messages[wamid][1] is True


def _picture(driven: Driven, content: bytes = b"a picture" * 1000) -> Path:
    file = driven.directory / "lämp.png"
    file.write_bytes(content)
    return file


@row("upload media")
async def _upload(driven: Driven) -> None:
    driven.incoming()
    media_id = await driven.client.media.upload(NUMBER, _picture(driven))
    await driven.send(Image(media_id=media_id))


@row("get media")
async def _look_up(driven: Driven) -> None:
    file = _picture(driven)
    media_id = await driven.client.media.upload(NUMBER, file)
    record = await driven.client.media.get(media_id, NUMBER)
    assert (record.media_id, record.mime_type, record.file_size) == (media_id, "image/png", 9000)
    assert record.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()


@row("download media")
async def _download(driven: Driven) -> None:
    file, target = _picture(driven), driven.directory / "again.png"
    media_id = await driven.client.media.upload(NUMBER, file)
    await driven.client.media.download(media_id, target)
    assert target.read_bytes() == file.read_bytes()
    assert sorted(path.name for path in driven.directory.iterdir()) == ["again.png", "lämp.png"]


@row("delete media")
async def _delete_media(driven: Driven) -> None:
    media_id = await driven.client.media.upload(NUMBER, _picture(driven))
    await driven.client.media.delete(media_id, NUMBER)
    with pytest.raises(ServiceError) as gone:
        await driven.client.media.get(media_id)
    assert gone.value.service_code == 33


@row("list templates")
async def _list_templates(driven: Driven) -> None:
    listed = [template async for template in driven.client.templates.list(ACCOUNT)]
    assert ("order_shipped", "pt_BR") in [(each.name, each.language) for each in listed]
    paused = [each.name async for each in driven.client.templates.list(ACCOUNT, status="PAUSED")]
    assert paused == ["winter_sale"]


@row("get template")
async def _get_template(driven: Driven) -> None:
    listed = [each async for each in driven.client.templates.list(ACCOUNT, name="welcome")]
    assert await driven.client.templates.get(listed[0].template_id) == listed[0]


@row("create template")
async def _create_template(driven: Driven) -> None:
    body = {"type": "BODY", "text": "Hi {{1}}", "example": {"body_text": [["Ana"]]}}
    created = await driven.client.templates.create(ACCOUNT, NewTemplate("fresh", "en", "UTILITY", [body]))
    assert (created.status, created.category) == ("PENDING", "UTILITY")
    assert (await driven.client.templates.get(created.template_id)).components == [body]


@row("delete template")
async def _delete_template(driven: Driven) -> None:
    templates = driven.client.templates
    pt = [each async for each in templates.list(ACCOUNT, name="order_shipped", language="pt_BR")]
    await templates.delete(ACCOUNT, "order_shipped", pt[0].template_id)
    assert [each.language async for each in templates.list(ACCOUNT, name="order_shipped")] == ["en_US"]
    await templates.delete(ACCOUNT, "order_shipped")
    assert [each async for each in templates.list(ACCOUNT, name="order_shipped")] == []


@row("list phone numbers")
async def _list_numbers(driven: Driven) -> None:
    listed = [number async for number in driven.client.numbers.list(ACCOUNT)]
    assert [(each.phone_number_id, each.quality_rating, each.throughput_level) for each in listed] == [
        (NUMBER, "GREEN", "HIGH")
    ]


@row("get phone number")
async def _get_number(driven: Driven) -> None:
    number = await driven.client.numbers.get(NUMBER)
    assert (number.phone_number_id, number.messaging_limit_tier) == (NUMBER, "TIER_UNLIMITED")


@row("register")
async def _register(driven: Driven) -> None:
    await driven.client.numbers.register(NUMBER, "123456")
    assert driven.emulator.service.numbers[NUMBER].pin == "123456"
    with pytest.raises(ServiceError) as wrong:
        await driven.client.numbers.register(NUMBER, "654321")
    assert wrong.value.service_code == 133005


@row("get business profile")
async def _get_profile(driven: Driven) -> None:
    driven.emulator.service.numbers[NUMBER].profile["about"] = "Lamps"
    assert await driven.client.profiles.get(NUMBER) == Profile(about="Lamps")


@row("update business profile")
async def _update_profile(driven: Driven) -> None:
    whole = Profile(about="Lamps", email="shop@lantern.example", websites=("https://lantern.example",))
    await driven.client.profiles.update(NUMBER, whole)
    await driven.client.profiles.update(NUMBER, Profile(vertical="RETAIL"))
    found = await driven.client.profiles.get(NUMBER)
    assert (found.about, found.vertical, found.websites) == ("Lamps", "RETAIL", whole.websites)


def _day() -> tuple[datetime, datetime]:
    now = datetime.now(UTC)
    return now - timedelta(hours=12), now + timedelta(hours=12)


@row("analytics")
async def _analytics(driven: Driven) -> None:
    await _template(driven)
    points = await driven.client.analytics.messages(ACCOUNT, *_day(), Granularity.HALF_HOUR)
    assert sum(point.sent for point in points) == 1
    assert all(point.start < point.end for point in points)


@row("conversation analytics")
async def _conversations(driven: Driven) -> None:
    await _template(driven)
    for granularity in Granularity:
        points = await driven.client.analytics.conversations(ACCOUNT, *_day(), granularity)
        assert [(point.conversations, point.category) for point in points] == [(1, "UTILITY")]


@row("subscribe")
async def _subscribe(driven: Driven) -> None:
    async with running_receiver() as receiver:
        await driven.client.subscriptions.subscribe(APP, receiver.url, "emulator-verify", FIELDS)
        assert len(receiver.challenges) == 1


@row("get subscription")
async def _get_subscription(driven: Driven) -> None:
    driven.emulator.service.subscriptions.set_callback("http://127.0.0.1:9/webhook")
    (found,) = await driven.client.subscriptions.get(APP)
    assert (found.callback_url, found.active) == ("http://127.0.0.1:9/webhook", True)
    assert set(FIELDS) < set(found.fields)


@row("unsubscribe")
async def _unsubscribe(driven: Driven) -> None:
    driven.emulator.service.subscriptions.set_callback("http://127.0.0.1:9/webhook")
    await driven.client.subscriptions.unsubscribe(APP)
    assert await driven.client.subscriptions.get(APP) == []


@row("subscribe account")
async def _add_app(driven: Driven) -> None:
    async with running_receiver() as receiver:
        await driven.client.subscriptions.add_app(
            ACCOUNT, override_callback_uri=receiver.url, verify_token="emulator-verify"
        )
        assert len(receiver.challenges) == 1
    await driven.client.subscriptions.add_app(ACCOUNT)


@row("get subscribed apps")
async def _apps(driven: Driven) -> None:
    assert [each.app_id for each in await driven.client.subscriptions.apps(ACCOUNT)] == [APP]


@row("unsubscribe account")
async def _remove_app(driven: Driven) -> None:
    await driven.client.subscriptions.remove_app(ACCOUNT)
    assert await driven.client.subscriptions.apps(ACCOUNT) == []
