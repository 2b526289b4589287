"""How many messages a second does the engine send, durable and with every guarantee, on one core?

    python -m benchmarks.throughput [REPEATS]

Yardsticks of the same run, against the same emulator: a plain aiohttp session loop that stores nothing;
what a user would write first (session, semaphore, one INSERT a message); the same loop over httpx; lanes
alone; and a raw Protocol that takes any bytes for a reply, the floor. Status events are off.

What the profile says (py-spy): of a message's time about a fifth is the event loop and its system calls, a
sixth reading the reply, a tenth writing the request, an eighth claiming and storing (asyncpg's encoding most
of it), a twelfth the ticker and its lanes; opening connections costs as much as all of these while limits lie
far above what the core carries. The rest is spread over payloads, guards, permits, facts: nothing above 3 %.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import cast

import aiohttp
import asyncpg
import httpx
import orjson
import uvloop

from benchmarks import stage
from engine.api.lanes import LaneTransport
from engine.core.outcome import Accepted

RATES = {
    f"{1000 + n}": 1_000.0 for n in range(32)
}  # each at the service's highest limit: more than one core carries
AT_ONCE = 64
NUMBER = next(iter(RATES))
ENGINE_MESSAGES = 60_000
BODY = {
    "messaging_product": "chat",
    "recipient_type": "individual",
    "type": "template",
    "template": {
        "name": "order_shipped",
        "language": {"code": "en_US"},
        "components": [
            {"type": "body", "parameters": [{"type": "text", "text": "Ana"}, {"type": "text", "text": "A-1"}]}
        ],
    },
}


@dataclass(frozen=True, slots=True)
class Measured:
    per_s: float
    cpu_us: float


Send = Callable[[str, dict[str, object]], Awaitable[bool]]
"""(number, body): one message; True when it was accepted."""


async def loop_of(send: Send, messages: int) -> Measured:
    """So many messages, 64 at once, spread over the numbers so that no limit is met."""
    numbers = list(RATES)
    turns: Iterator[int] = iter(range(messages))
    accepted = 0

    async def worker() -> None:
        nonlocal accepted
        for turn in turns:
            body = {**BODY, "to": str(stage.FIRST_PHONE + turn)}
            if await send(numbers[turn % len(numbers)], body):
                accepted += 1

    cpu_s, started_s = time.process_time(), time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    elapsed_s, cpu_s = time.perf_counter() - started_s, time.process_time() - cpu_s
    assert accepted >= 0.99 * messages, f"{accepted} of {messages} accepted: a limit was met"
    return Measured(messages / elapsed_s, cpu_s / messages * 1e6)


async def session_loop(url: str) -> Measured:
    headers = {"Authorization": f"Bearer {stage.TOKEN}"}
    async with aiohttp.ClientSession(headers=headers) as session:

        async def send(number: str, body: dict[str, object]) -> bool:
            async with session.post(f"{url}/v22.0/{number}/messages", json=body) as reply:
                return bool((await reply.json())["messages"][0]["id"])

        return await loop_of(send, 10_000)


async def naive_script(url: str, database_url: str) -> Measured:
    """Session, semaphore and one INSERT a message, as it is written on a first day."""
    headers = {"Authorization": f"Bearer {stage.TOKEN}"}
    semaphore = asyncio.Semaphore(AT_ONCE)
    async with (
        asyncpg.create_pool(database_url, min_size=8, max_size=8) as pool,
        aiohttp.ClientSession(headers=headers) as session,
    ):
        await pool.execute(
            "CREATE TABLE IF NOT EXISTS sent (phone text, wamid text, at timestamptz DEFAULT now())"
        )

        async def send(number: str, body: dict[str, object]) -> bool:
            async with semaphore:
                async with session.post(f"{url}/v22.0/{number}/messages", json=body) as reply:
                    wamid = (await reply.json())["messages"][0]["id"]
                await pool.execute("INSERT INTO sent (phone, wamid) VALUES ($1, $2)", body["to"], wamid)
                return True

        return await loop_of(send, 4_000)


async def httpx_loop(url: str) -> Measured:
    headers = {"Authorization": f"Bearer {stage.TOKEN}"}
    async with httpx.AsyncClient(headers=headers, timeout=60) as client:

        async def send(number: str, body: dict[str, object]) -> bool:
            reply = await client.post(f"{url}/v22.0/{number}/messages", json=body)
            return bool(reply.json()["messages"][0]["id"])

        return await loop_of(send, 1_500)


async def _open_gate() -> bool:
    return True


async def lanes_alone(url: str) -> Measured:
    transport = LaneTransport(url, stage.TOKEN)

    async def send(number: str, body: dict[str, object]) -> bool:
        return isinstance(await transport.send(number, orjson.dumps(body), _open_gate), Accepted)

    try:
        return await loop_of(send, 20_000)
    finally:
        await transport.close()


class _Floor(asyncio.Protocol):
    """One connection: bytes out, the end of one reply awaited."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._reply: asyncio.Future[bytes] | None = None

    def data_received(self, data: bytes) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_result(data)

    async def exchange(self, request: bytes) -> bytes:
        self._reply = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._reply


async def floor(url: str) -> Measured:
    host, port = url.removeprefix("http://").split(":")
    loop = asyncio.get_running_loop()
    free = [(await loop.create_connection(_Floor, host, int(port)))[1] for _ in range(AT_ONCE)]
    payload = orjson.dumps({**BODY, "to": "5511900000000"})

    async def send(number: str, body: dict[str, object]) -> bool:
        connection = free.pop()
        content = payload.replace(b"5511900000000", str(body["to"]).encode())
        head = f"POST /v22.0/{number}/messages HTTP/1.1\r\nHost: {host}\r\n"
        head += f"Authorization: Bearer {stage.TOKEN}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        reply = await connection.exchange(head.encode() + content)
        free.append(connection)
        return reply.startswith(b"HTTP/1.1 200")

    return await loop_of(send, 20_000)


async def engine(url: str, database_url: str) -> Measured:
    campaign_id = await stage.plant(database_url, RATES, ENGINE_MESSAGES)
    sent = await stage.send(database_url, url, list(RATES), campaign_id)
    assert sent.messages == ENGINE_MESSAGES
    return Measured(sent.per_s, sent.cpu_us)


async def measure(database_url: str) -> dict[str, Measured]:
    """Every contestant once, each with an emulator of its own."""
    contestants: dict[str, Callable[[str], Awaitable[Measured]]] = {
        "engine, durable": lambda url: engine(url, database_url),
        "plain session loop": session_loop,
        "naive script": lambda url: naive_script(url, database_url),
        "httpx loop": httpx_loop,
        "lanes alone": lanes_alone,
        "raw Protocol, the floor": floor,
    }
    measured: dict[str, Measured] = {}
    for name, contestant in contestants.items():
        async with stage.emulator(dict.fromkeys(RATES, 100_000.0)) as url:
            measured[name] = await contestant(url)
    return measured


def report(runs: list[dict[str, Measured]]) -> None:
    print(f"{stage.conditions()}; median of {len(runs)}")
    print(f"{'':26}{'per second':>12}{'CPU each':>12}{'engine is':>12}{'by CPU':>10}")
    for name in runs[0]:
        per_s = statistics.median(run[name].per_s for run in runs)
        cpu_us = statistics.median(run[name].cpu_us for run in runs)
        times = statistics.median(run["engine, durable"].per_s / run[name].per_s for run in runs)
        by_cpu = statistics.median(run[name].cpu_us / run["engine, durable"].cpu_us for run in runs)
        print(f"{name:26}{per_s:>12,.0f}{cpu_us:>9.1f} µs{times:>10.2f} ×{by_cpu:>8.2f} ×")


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with stage.postgres() as database_url:
        report([uvloop.run(measure(database_url)) for _ in range(repeats)])


if __name__ == "__main__":
    main()
