"""The baselines: ways to send without the engine's guarantees, from a user's first script to a raw Protocol.

Each is one coroutine function `(Task) -> BaselineResult`, so that a worker process can run it by its name.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from array import array
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

import aiohttp
import asyncpg
import orjson
import uvloop
from yarl import URL

from drumbeat.benchmarks.harness.seeding import TEMPLATE
from drumbeat.benchmarks.harness.statements import SQL
from drumbeat.benchmarks.senders.latency import histogram, percentiles
from drumbeat.engine.api.lanes import LaneTransport
from drumbeat.engine.core.outcome import Accepted

IN_FLIGHT_REQUESTS = 64
TASKS_MAX = 10_000  # of a script at once; a gather of all its messages would need gigabytes
LATENCIES_MAX = 1_000_000  # 8 bytes each


@dataclass(frozen=True, slots=True)
class Task:
    """The work of a baseline: at most `messages`, and none after `for_s`.

    Message n goes to `first_phone` + n through the numbers in turn; `in_flight_requests` at a time. `per_s`:
    message n starts no earlier than n / `per_s` after the first; None is as fast as it can.
    """

    url: str
    token: str
    version: str
    product: str
    numbers: tuple[str, ...]
    first_phone: int
    database_url: str
    messages: int
    for_s: float | None = None
    in_flight_requests: int = IN_FLIGHT_REQUESTS
    per_s: float | None = None

    def address(self, number: str) -> str:
        return f"{self.url}/{self.version}/{number}/messages"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    @property
    def body(self) -> dict[str, object]:
        parameters = [{"type": "text", "text": "Ana"}, {"type": "text", "text": "A-1"}]
        return {
            "messaging_product": self.product,
            "recipient_type": "individual",
            "type": "template",
            "template": {
                "name": TEMPLATE["name"],
                "language": {"code": TEMPLATE["language"]},
                "components": [{"type": "body", "parameters": parameters}],
            },
        }


@dataclass(frozen=True, slots=True)
class BaselineResult:
    """The result of a baseline. `latency_ms` and `histogram`: of all requests, from the call to the reply."""

    messages: int
    accepted: int
    elapsed_s: float
    cpu_s: float
    latency_ms: dict[str, float]
    histogram: list[list[float]]


Send = Callable[[str, dict[str, object]], Awaitable[bool]]
"""A function of (number, body) that sends one message and returns True if it was accepted."""


def run(name: str, task: dict[str, Any]) -> BaselineResult:
    """Run a baseline of this module, in a worker process."""
    baseline = globals()[name]
    sent: BaselineResult = uvloop.run(baseline(Task(**task)))
    return sent


class _Counter:
    """A counter of the messages that a baseline sends. It times each request."""

    def __init__(self, task: Task) -> None:
        self._sent = self._accepted = 0
        self._latencies_ms = array("d")
        self._per_s = task.per_s
        self._cpu_s, self._began_s = time.process_time(), time.perf_counter()
        self.end_s = self._began_s + (float("inf") if task.for_s is None else task.for_s)

    async def due(self, turn: int) -> float | None:
        """Wait until message number `turn` may start. Return the time, or None if the task ends before.

        Messages that are late follow at once, as those of a queue do.
        """
        due_s = self._began_s if self._per_s is None else self._began_s + turn / self._per_s
        if due_s > self.end_s:
            return None
        if (wait_s := due_s - time.perf_counter()) > 0:
            await asyncio.sleep(wait_s)
        now_s = time.perf_counter()
        return None if now_s > self.end_s else now_s

    def add(self, accepted: bool, began_s: float) -> float:
        """Record the reply to a message; return its time on the clock of `began_s`."""
        ended_s = time.perf_counter()
        self._sent += 1
        self._accepted += accepted
        if self._sent <= LATENCIES_MAX:
            self._latencies_ms.append((ended_s - began_s) * 1e3)
        return ended_s

    def total(self) -> BaselineResult:
        elapsed_s, cpu_s = time.perf_counter() - self._began_s, time.process_time() - self._cpu_s
        ascending = sorted(self._latencies_ms)
        counts = percentiles(ascending), histogram(ascending)
        return BaselineResult(self._sent, self._accepted, elapsed_s, cpu_s, *counts)


def _by_turn(send: Send, task: Task) -> Callable[[int], Awaitable[bool]]:
    """Return a function that sends message n of a task. It has no coroutine of its own, which would add to
    the cost of the baselines.
    """
    template, numbers = task.body, task.numbers

    def send_turn(turn: int) -> Awaitable[bool]:
        return send(numbers[turn % len(numbers)], {**template, "to": str(task.first_phone + turn)})

    return send_turn


async def in_loops(send: Send, task: Task) -> BaselineResult:
    """Send a task's messages with one coroutine, in a loop, for each open request."""
    turns: Iterator[int] = iter(range(task.messages))
    send_turn, counter = _by_turn(send, task), _Counter(task)

    async def loop() -> None:
        for turn in turns:
            if (began_s := await counter.due(turn)) is None:
                return
            counter.add(await send_turn(turn), began_s)

    await asyncio.gather(*(loop() for _ in range(task.in_flight_requests)))
    return counter.total()


async def in_tasks(send: Send, task: Task) -> BaselineResult:
    """Send a task's messages as scripts do it: as `in_loops`, with a task for each message behind a
    semaphore.
    """
    send_turn, counter = _by_turn(send, task), _Counter(task)
    semaphore = asyncio.Semaphore(task.in_flight_requests)

    async def send_one(turn: int) -> None:
        async with semaphore:
            if (began_s := await counter.due(turn)) is None:
                return
            counter.add(await send_turn(turn), began_s)

    for first in range(0, task.messages, TASKS_MAX):
        if time.perf_counter() > counter.end_s:
            break
        turns = range(first, min(first + TASKS_MAX, task.messages))
        await asyncio.gather(*map(send_one, turns))
    return counter.total()


async def _post(session: aiohttp.ClientSession, address: str, body: dict[str, object]) -> str | None:
    async with session.post(address, json=body, allow_redirects=False) as reply:
        answer: dict[str, Any] = await reply.json()
        return answer["messages"][0]["id"] if "messages" in answer else None


async def plain_loop(task: Task) -> BaselineResult:
    """Send with `ClientSession.post(json=…)` in 64 coroutines, with default settings. Stores nothing."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(headers=task.headers, connector=connector) as session:

        async def send(number: str, body: dict[str, object]) -> bool:
            return await _post(session, task.address(number), body) is not None

        return await in_loops(send, task)


async def tuned_loop(task: Task) -> BaselineResult:
    """Send as `plain_loop` does, with aiohttp tuned by someone who knows it: orjson, prebuilt URLs, no
    cookies, no total time-out.
    """
    urls = {number: URL(task.address(number), encoded=True) for number in task.numbers}
    async with aiohttp.ClientSession(
        headers={**task.headers, "Content-Type": "application/json"},
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
    ) as session:

        async def send(number: str, body: dict[str, object]) -> bool:
            async with session.post(urls[number], data=orjson.dumps(body), allow_redirects=False) as reply:
                return "messages" in orjson.loads(await reply.read())

        return await in_loops(send, task)


async def httpx_loop(task: Task) -> BaselineResult:
    """Send as `plain_loop` does, over httpx."""
    import httpx  # only in development installations

    async with httpx.AsyncClient(headers=task.headers, timeout=60) as client:

        async def send(number: str, body: dict[str, object]) -> bool:
            reply = await client.post(task.address(number), json=body)
            return "messages" in reply.json()

        return await in_loops(send, task)


async def first_script(task: Task) -> BaselineResult:
    """Send as a user's first script does: a task a message behind a semaphore, a session, one INSERT a
    message.
    """
    async with (
        asyncpg.create_pool(task.database_url) as pool,
        aiohttp.ClientSession(headers=task.headers, connector=aiohttp.TCPConnector(limit=0)) as session,
    ):
        await pool.execute(SQL["create_sent_table"])

        async def send(number: str, body: dict[str, object]) -> bool:
            wamid = await _post(session, task.address(number), body)
            await pool.execute(SQL["insert_sent"], body["to"], wamid)
            return wamid is not None

        return await in_tasks(send, task)


async def _open_gate() -> bool:
    return True


async def engine_transport(task: Task) -> BaselineResult:
    """Send over the engine's own HTTP connections, without the rest of the engine."""
    transport = LaneTransport(
        task.url, task.token, api_version=task.version, connections=task.in_flight_requests
    )

    async def send(number: str, body: dict[str, object]) -> bool:
        return isinstance(await transport.send(number, orjson.dumps(body), _open_gate), Accepted)

    try:
        return await in_loops(send, task)
    finally:
        await transport.close()


class _Exchange(asyncio.Protocol):
    """A connection that writes a request and waits for any bytes in reply."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._reply: asyncio.Future[bytes] | None = None

    def data_received(self, data: bytes) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_result(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(exc or ConnectionResetError("the service closed the connection"))

    async def exchange(self, request: bytes) -> bytes:
        self._reply = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return await self._reply


async def raw_protocol(task: Task) -> BaselineResult:
    """Send over a raw asyncio Protocol that parses no HTTP: the lower bound of CPU a message on asyncio."""
    host = urlsplit(task.url)
    loop, trust = asyncio.get_running_loop(), ssl.create_default_context() if host.scheme == "https" else None
    free = [
        (await loop.create_connection(_Exchange, host.hostname or "", host.port or 80, ssl=trust))[1]
        for _ in range(task.in_flight_requests)
    ]
    connections = list(free)
    payload = orjson.dumps({**task.body, "to": "5511900000000"})

    async def send(number: str, body: dict[str, object]) -> bool:
        connection = free.pop()
        content = payload.replace(b"5511900000000", str(body["to"]).encode())
        head = f"POST /{task.version}/{number}/messages HTTP/1.1\r\nHost: {host.hostname}\r\n"
        head += f"Authorization: Bearer {task.token}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        reply = await connection.exchange(head.encode() + content)
        free.append(connection)
        return reply.startswith(b"HTTP/1.1 200")

    try:
        return await in_loops(send, task)
    finally:
        for connection in connections:
            connection.transport.abort()
