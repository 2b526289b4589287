"""The benchmark of single messages: how soon does the interface take one?

    python -m drumbeat.benchmarks.messages [MESSAGES]

A program posts one message after the other to /api/v1/messages of a console, each with a key of its own. The
yardstick, in turns in the same run, is a server of the same HTTP library that commits one INSERT for each
request. Both share the database and the cores. `benchmarks/README.md` has the figures.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp import web

from drumbeat.benchmarks.harness.database import postgres
from drumbeat.benchmarks.harness.processes import BenchmarkFailed
from drumbeat.benchmarks.harness.script import add_count, parser_of, print_conditions, run_script
from drumbeat.benchmarks.viewing.serving import ServedConsole, console
from drumbeat.engine.store.database import Pool, open_pool
from drumbeat.engine.store.migrate import migrate

NUMBER = "1001"
FIRST_PHONE = 5511960000000
TEMPLATE = {
    "components": [{"type": "BODY", "text": "Hello {{1}}, your order {{2}} is on its way"}],
    "parameter_format": "POSITIONAL",
}
WARM_UP = 30  # statements are prepared, caches filled
BATCH = 50  # of each kind in turn, so that a slow minute of the machine meets both


async def prepare(url: str) -> None:
    await migrate(url)
    async with open_pool(url, size=1) as pool:
        await pool.execute("INSERT INTO numbers (phone_number_id) VALUES ($1)", NUMBER)
        await pool.execute(
            "INSERT INTO templates (name, language, status, category, definition)"
            " VALUES ('order', 'en', 'APPROVED', 'UTILITY', $1)",
            TEMPLATE,
        )
        await pool.execute("CREATE TABLE yardstick (id bigserial PRIMARY KEY, body text NOT NULL)")


@asynccontextmanager
async def plain_server(pool: Pool) -> AsyncIterator[str]:
    """A server that commits one INSERT for each request."""

    async def take(request: web.Request) -> web.Response:
        await pool.execute("INSERT INTO yardstick (body) VALUES ($1)", await request.text())
        return web.json_response({}, status=201)

    application = web.Application()
    application.router.add_post("/", take)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


async def took_ms(session: aiohttp.ClientSession, url: str, body: Any, headers: dict[str, str]) -> float:
    begun = time.perf_counter()
    async with session.post(url, json=body, headers=headers) as reply:
        text = await reply.text()
    if reply.status != 201:
        raise BenchmarkFailed(f"{url} answered {reply.status}: {text}")
    return (time.perf_counter() - begun) * 1000


def message(no: int) -> dict[str, Any]:
    to = f"+{FIRST_PHONE + no}"
    return {"to": to, "number": NUMBER, "template": "order", "language": "en", "params": ["Ana", str(no)]}


async def measure(url: str, served: ServedConsole, messages: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"message": [], "yardstick": []}
    async with (
        open_pool(url, size=2) as pool,
        plain_server(pool) as plain,
        aiohttp.ClientSession() as session,
    ):
        for begin in range(0, WARM_UP + messages, BATCH):
            numbers = range(begin, min(begin + BATCH, WARM_UP + messages))
            for no in numbers:
                headers = {**served.headers, "Idempotency-Key": f"key-{no}"}
                target = f"{served.url.rstrip('/')}/api/v1/messages"
                found["message"].append(await took_ms(session, target, message(no), headers))
            for no in numbers:
                found["yardstick"].append(await took_ms(session, plain, message(no), {}))
    return {title: times[WARM_UP:] for title, times in found.items()}


def main() -> None:
    parser = parser_of(__doc__)
    add_count(parser, "messages", 300)
    options = parser.parse_args()
    print_conditions()
    with postgres() as database:
        asyncio.run(prepare(database.url))
        with console(database) as served:
            found = asyncio.run(measure(database.url, served, options.messages))
    for title, times in found.items():
        p95 = statistics.quantiles(times, n=20)[-1]
        print(f"{title}: median {statistics.median(times):.1f} ms, p95 {p95:.1f} ms ({len(times)} requests)")
    ratio = statistics.median(found["message"]) / statistics.median(found["yardstick"])
    print(f"message ÷ yardstick: {ratio:.1f}")


if __name__ == "__main__":
    run_script(main)
