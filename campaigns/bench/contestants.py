"""The yardsticks: ways to send that keep no promise, from what a user would write first down to the floor.

Each is one coroutine function `(Task) -> Measured`, so that a worker process can run it by its name.
"""

from __future__ import annotations

import asyncio
import time
from array import array
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

import aiohttp
import asyncpg
import orjson

from campaigns.bench.planting import TEMPLATE
from engine.api.lanes import LaneTransport
from engine.core.outcome import Accepted
from engine.store.queries import queries

AT_ONCE = 64
TASKS_MAX = 10_000  # that a script makes at once; a gather of all its messages would need gigabytes
LATENCIES_MAX = 1_000_000  # 8 bytes each


@dataclass(frozen=True, slots=True)
class Task:
    """What a contestant gets: at most `messages`, and no new one after `for_s`.

    Message n goes to `first_phone` + n by way of `numbers` in turn; `at_once` are open together.
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
    at_once: int = AT_ONCE

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
class Measured:
    """What a contestant did. `latencies_ms`: of single requests, ascending."""

    messages: int
    accepted: int
    elapsed_s: float
    cpu_s: float
    latencies_ms: array[float]


Send = Callable[[str, dict[str, object]], Awaitable[bool]]
"""(number, body): one message; True when it was accepted."""
Contestant = Callable[[Task], Awaitable[Measured]]


class _Count:
    """What a contestant has done since it began."""

    def __init__(self, task: Task) -> None:
        self._sent = self._accepted = 0
        self._latencies_ms = array("d")
        self._cpu_s, self._began_s = time.process_time(), time.perf_counter()
        self.end_s = self._began_s + (float("inf") if task.for_s is None else task.for_s)

    def add(self, accepted: bool, began_s: float) -> float:
        """One message has ended; returns when, on the clock of `began_s`."""
        ended_s = time.perf_counter()
        self._sent += 1
        self._accepted += accepted
        if self._sent <= LATENCIES_MAX:
            self._latencies_ms.append((ended_s - began_s) * 1e3)
        return ended_s

    def measured(self) -> Measured:
        elapsed_s, cpu_s = time.perf_counter() - self._began_s, time.process_time() - self._cpu_s
        return Measured(self._sent, self._accepted, elapsed_s, cpu_s, array("d", sorted(self._latencies_ms)))


def _by_turn(send: Send, task: Task) -> Callable[[int], Awaitable[bool]]:
    """Sends message n of a task. Not a coroutine of its own: it would cost the yardsticks time."""
    template, numbers = task.body, task.numbers

    def one(turn: int) -> Awaitable[bool]:
        return send(numbers[turn % len(numbers)], {**template, "to": str(task.first_phone + turn)})

    return one


async def loop_of(send: Send, task: Task) -> Measured:
    """Send a task's messages, spread over its numbers, in as many coroutines as may be open together."""
    turns: Iterator[int] = iter(range(task.messages))
    send_turn, count = _by_turn(send, task), _Count(task)

    async def worker() -> None:
        began_s = time.perf_counter()
        for turn in turns:
            began_s = count.add(await send_turn(turn), began_s)
            if began_s > count.end_s:
                return

    await asyncio.gather(*(worker() for _ in range(task.at_once)))
    return count.measured()


async def tasks_of(send: Send, task: Task) -> Measured:
    """As `loop_of`, the way a script does it: a task for each message, held back by a semaphore."""
    send_turn, count = _by_turn(send, task), _Count(task)
    semaphore = asyncio.Semaphore(task.at_once)

    async def one(turn: int) -> None:
        async with semaphore:
            if (began_s := time.perf_counter()) > count.end_s:
                return
            count.add(await send_turn(turn), began_s)

    for first in range(0, task.messages, TASKS_MAX):
        if time.perf_counter() > count.end_s:
            break
        turns = range(first, min(first + TASKS_MAX, task.messages))
        await asyncio.gather(*map(one, turns))
    return count.measured()


async def _post(session: aiohttp.ClientSession, address: str, body: dict[str, object]) -> str | None:
    async with session.post(address, json=body, allow_redirects=False) as reply:
        answer: dict[str, Any] = await reply.json()
        return answer["messages"][0]["id"] if "messages" in answer else None


async def session_loop(task: Task) -> Measured:
    """`ClientSession.post` in 64 coroutines; it stores nothing."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(headers=task.headers, connector=connector) as session:

        async def send(number: str, body: dict[str, object]) -> bool:
            return await _post(session, task.address(number), body) is not None

        return await loop_of(send, task)


async def naive_script(task: Task) -> Measured:
    """A task a message behind a semaphore, a session, one INSERT each: what is written on a first day."""
    sql = queries("bench")
    async with (
        asyncpg.create_pool(task.database_url) as pool,
        aiohttp.ClientSession(headers=task.headers, connector=aiohttp.TCPConnector(limit=0)) as session,
    ):
        await pool.execute(sql["create_naive_table"])

        async def send(number: str, body: dict[str, object]) -> bool:
            wamid = await _post(session, task.address(number), body)
            await pool.execute(sql["insert_naively"], body["to"], wamid)
            return wamid is not None

        return await tasks_of(send, task)


async def _open_gate() -> bool:
    return True


async def lanes_alone(task: Task) -> Measured:
    """The engine's own connections, without anything else of the engine."""
    transport = LaneTransport(task.url, task.token, api_version=task.version, connections=task.at_once)

    async def send(number: str, body: dict[str, object]) -> bool:
        return isinstance(await transport.send(number, orjson.dumps(body), _open_gate), Accepted)

    try:
        return await loop_of(send, task)
    finally:
        await transport.close()


class _Exchange(asyncio.Protocol):
    """One connection: bytes out, the end of one reply awaited."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._reply: asyncio.Future[bytes] | None = None

    def data_received(self, data: bytes) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_result(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(exc or ConnectionResetError("the service closed the connection"))

    async def ask(self, request: bytes) -> bytes:
        self._reply = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return await self._reply


async def floor(task: Task) -> Measured:
    """A raw Protocol that takes any bytes for a reply: nothing on asyncio can be cheaper."""
    place = urlsplit(task.url)
    loop = asyncio.get_running_loop()
    free = [
        (await loop.create_connection(_Exchange, place.hostname or "", place.port or 80))[1]
        for _ in range(task.at_once)
    ]
    connections = list(free)
    payload = orjson.dumps({**task.body, "to": "5511900000000"})

    async def send(number: str, body: dict[str, object]) -> bool:
        connection = free.pop()
        content = payload.replace(b"5511900000000", str(body["to"]).encode())
        head = f"POST /{task.version}/{number}/messages HTTP/1.1\r\nHost: {place.hostname}\r\n"
        head += f"Authorization: Bearer {task.token}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        reply = await connection.ask(head.encode() + content)
        free.append(connection)
        return reply.startswith(b"HTTP/1.1 200")

    try:
        return await loop_of(send, task)
    finally:
        for connection in connections:
            connection.transport.abort()
