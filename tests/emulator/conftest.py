"""An emulator on a free port, a client that knows its token, and a receiver that collects events."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
import uvloop
from aiohttp import web

from drumbeat.emulator.config import EmulatorConfig, NumberConfig
from drumbeat.emulator.events.envelope import signature
from drumbeat.emulator.testing import Emulator, running_emulator

NUMBER = "106540352242922"
OTHER_NUMBER = "106540352242923"
ACCOUNT = "102290129340398"
ANA = "5511987654321"
WAIT_LIMIT_S = 60.0


def template(to: str = ANA, *values: str, name: str = "order_shipped", **rest: Any) -> dict[str, Any]:
    """A request to send a template whose body takes `values` (two by default)."""
    parameters = [{"type": "text", "text": value} for value in values or ("Ana", "LH-1")]
    return {
        "messaging_product": "chat",
        "recipient_type": "individual",
        "to": to,
        "type": "template",
        "template": {
            "name": name,
            "language": {"code": "en_US"},
            "components": [{"type": "body", "parameters": parameters}],
        },
        **rest,
    }


def free_form(kind: str, content: Any, to: str = ANA, **rest: Any) -> dict[str, Any]:
    """A request to send a message of another type."""
    return {"messaging_product": "chat", "to": to, "type": kind, kind: content, **rest}


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Sockets differ a little between uvloop and asyncio's loop: test both."""
    both = item.path.name in ("test_wire.py", "test_faults.py")
    return {"asyncio": asyncio.new_event_loop, **({"uvloop": uvloop.new_event_loop} if both else {})}


@dataclass(slots=True)
class Answer:
    """Status, parsed body and headers of a reply."""

    status: int
    body: Any
    headers: Any = None

    @property
    def code(self) -> int | None:
        """The service's error code, if the reply is one."""
        return self.body.get("error", {}).get("code") if isinstance(self.body, dict) else None

    @property
    def wamid(self) -> str:
        """The id of the accepted message."""
        return str(self.body["messages"][0]["id"])


@dataclass(slots=True)
class Client:
    """A client of the running emulator, with the right token unless another is given."""

    emulator: Emulator
    session: aiohttp.ClientSession
    token: str | None = "emulator-token"

    async def call(self, method: str, path: str, **options: Any) -> Answer:
        """One request; a path that does not begin with /_emulator gets the version in front."""
        headers = dict(options.pop("headers", {}))
        if self.token is not None:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        url = self.emulator.url + ("" if path.startswith("/_emulator") else "/v22.0") + path
        async with self.session.request(method, url, headers=headers, **options) as reply:
            text = await reply.read()
            is_json = reply.content_type == "application/json" and text
            return Answer(reply.status, await reply.json() if is_json else text, reply.headers)

    async def send(self, message: dict[str, Any], number: str = NUMBER, **options: Any) -> Answer:
        """One send."""
        return await self.call("POST", f"/{number}/messages", json=message, **options)

    async def control(self, path: str, /, **content: Any) -> Answer:
        """One command of the control plane."""
        answer = await self.call("POST", f"/_emulator/{path}", json=content)
        assert answer.status == 200, answer
        return answer

    async def ask(self, path: str) -> Any:
        """One question to the control plane."""
        answer = await self.call("GET", f"/_emulator/{path}")
        assert answer.status == 200, answer
        return answer.body

    async def settled(self) -> None:
        """Return when no event is on its way."""
        async with asyncio.timeout(WAIT_LIMIT_S):
            while (await self.ask("events/summary"))["pending"]:
                pass


@dataclass(slots=True)
class Receiver:
    """A callback that collects events; `statuses` to answer with are taken first, then 200."""

    url: str = ""
    posts: list[dict[str, Any]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    refusals: list[int] = field(default_factory=list)
    wrong_signatures: int = 0
    challenges: list[dict[str, str]] = field(default_factory=list)
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        if request.headers.get("X-Hub-Signature-256") != signature(body, "emulator-secret"):
            self.wrong_signatures += 1
        async with self.arrived:
            self.bodies.append(body)
            status = self.refusals.pop(0) if self.refusals else 200
            if status == 200:
                self.posts.append(await request.json())
            self.arrived.notify_all()
        return web.Response(status=status)

    async def challenge(self, request: web.Request) -> web.Response:
        self.challenges.append(dict(request.query))
        wrong = request.query.get("hub.verify_token") != "emulator-verify"
        return web.Response(status=403) if wrong else web.Response(text=request.query["hub.challenge"])

    async def until(self, enough: Callable[["Receiver"], Any]) -> Any:
        """Wait for posts until `enough` says something true, and return that."""
        async with asyncio.timeout(WAIT_LIMIT_S), self.arrived:
            return await self.arrived.wait_for(lambda: enough(self))

    def changes(self, name: str = "messages") -> list[dict[str, Any]]:
        """The values of every change of a field, in the order of arrival."""
        return [
            change["value"]
            for post in self.posts
            for entry in post["entry"]
            for change in entry["changes"]
            if change["field"] == name
        ]

    def statuses(self, wamid: str | None = None) -> list[dict[str, Any]]:
        """Every status that arrived, or those of one message."""
        every = [status for value in self.changes() for status in value.get("statuses", [])]
        return [status for status in every if wamid in (None, status["id"])]

    def messages(self) -> list[dict[str, Any]]:
        """Every incoming message that arrived."""
        return [message for value in self.changes() for message in value.get("messages", [])]


@contextlib.asynccontextmanager
async def running_receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/webhook", receiver.take)
    app.router.add_get("/webhook", receiver.challenge)
    runner = web.AppRunner(app, shutdown_timeout=0.5)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}/webhook"
    try:
        yield receiver
    finally:
        await runner.cleanup()


Start = Callable[..., Awaitable[Client]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Starts emulators with the options given; stops them when the test is over."""
    async with contextlib.AsyncExitStack() as stack:

        async def begin(**options: Any) -> Client:
            numbers = options.pop("numbers", (NumberConfig(NUMBER, 1000), NumberConfig(OTHER_NUMBER, 80)))
            config = EmulatorConfig(port=0, status_delay=0.0, numbers=numbers, **options)
            emulator = await stack.enter_async_context(running_emulator(config))
            session = await stack.enter_async_context(aiohttp.ClientSession())
            return Client(emulator, session)

        yield begin


@pytest.fixture
async def client(start: Start) -> Client:
    """A client of an emulator with default options: two numbers, 1000/s and 80/s."""
    return await start()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """A running callback."""
    async with running_receiver() as running:
        yield running
