"""What the sending benchmarks stand on: a Postgres, an emulator as a process of its own, planted campaigns.

The measured process runs on one core, the emulator and Postgres share another where there are two.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import orjson
from pydantic import SecretStr

from engine.app import run_numbers
from engine.settings import ServiceSettings
from engine.store.database import Connection, connect, open_pool
from engine.store.embedded import start_embedded, stop_embedded
from engine.store.migrate import migrate

TOKEN = "emulator-token"
TEMPLATE = {
    "name": "order_shipped",
    "language": "en_US",
    "definition": {
        "components": [{"type": "BODY", "text": "Hi {{1}}, your order {{2}} is on its way."}],
        "parameter_format": "POSITIONAL",
    },
}
RANGE = 1_000
FIRST_PHONE = 5_511_900_000_000
CORES = sorted(os.sched_getaffinity(0))
SERVE = "from campaigns.cli.emulator import app; app()"


def own_core() -> None:
    """The measured process: the first core, alone where there is another."""
    os.sched_setaffinity(0, CORES[:1])


def other_core() -> None:
    """The service and Postgres: the last core."""
    os.sched_setaffinity(0, CORES[-1:])


@contextmanager
def postgres() -> Iterator[str]:
    """A database server of its own on the other core; yields its URL."""
    parent = (
        "/var/tmp" if os.geteuid() == 0 else None
    )  # it runs as another user, who cannot enter every directory
    home = Path(tempfile.mkdtemp(prefix="drumbeat-bench-", dir=parent))
    home.chmod(0o755)
    other_core()
    try:
        url = start_embedded(home)
        own_core()
        yield url
    finally:
        stop_embedded(home)
        shutil.rmtree(home, ignore_errors=True)


@asynccontextmanager
async def emulator(rates_per_s: dict[str, float], latency_ms: float = 0.0) -> AsyncIterator[str]:
    """The service with these numbers, statuses off, in a process on the other core; yields its address."""
    numbers = [word for number, rate in rates_per_s.items() for word in ("--number", f"{number}:{rate}")]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SERVE, "serve", "--port", "0", "--no-statuses"),
        *("--latency-ms", str(latency_ms), *numbers),
        stdout=asyncio.subprocess.PIPE,
        preexec_fn=other_core,
    )
    assert process.stdout is not None
    try:
        yield str(orjson.loads(await process.stdout.readline())["url"])
    finally:
        process.terminate()
        await process.wait()


async def ledger(url: str) -> dict[str, Any]:
    """What the service counted: accepted, errors, the largest sliding second of each number."""
    async with aiohttp.ClientSession() as session, session.get(f"{url}/_emulator/ledger/summary") as reply:
        summary: dict[str, Any] = await reply.json()
        return summary


async def plant(url: str, rates_per_s: dict[str, float], recipients: int) -> int:
    """An empty schema with these numbers and one running campaign; returns its id."""
    connection = await connect(url)
    await connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    await connection.close()
    await migrate(url)
    connection = await connect(url, command_timeout_s=600)
    await connection.execute("SELECT create_partitions(current_date)")
    await connection.executemany(
        "INSERT INTO numbers (phone_number_id, service_limit_per_s) VALUES ($1, $2)",
        list(rates_per_s.items()),
    )
    campaign_id: int = await connection.fetchval(
        "INSERT INTO campaigns (name, content_hash, options, state, template, phone_number_ids,"
        " audience_rows, recipients, planned_at)"
        " VALUES ('bench', '', '{}', 'running', $1, $2, $3, $3, now()) RETURNING campaign_id",
        TEMPLATE,
        list(rates_per_s),
        recipients,
    )
    first: int = await connection.fetchval("SELECT first_range_id(current_date)")
    first += random.getrandbits(46)
    await _plant_ranges(connection, campaign_id, first, recipients)
    await connection.execute("ANALYZE")
    await connection.execute("CHECKPOINT")
    await connection.close()
    return campaign_id


async def _plant_ranges(connection: Connection, campaign_id: int, first: int, recipients: int) -> None:
    sizes = [min(RANGE, recipients - done) for done in range(0, recipients, RANGE)]
    ids = [first + ordinal for ordinal in range(len(sizes))]
    await connection.execute(
        "INSERT INTO ranges (range_id, campaign_id, ordinal, hi)"
        " SELECT id, $3, n, hi FROM unnest($1::bigint[], $2::integer[]) WITH ORDINALITY AS r (id, hi, n)",
        ids, sizes, campaign_id,
    )  # fmt: skip
    await connection.execute(
        "INSERT INTO tallies (range_id, campaign_id, recipients)"
        " SELECT id, $3, hi FROM unnest($1::bigint[], $2::integer[]) AS r (id, hi)",
        ids, sizes, campaign_id,
    )  # fmt: skip
    await connection.execute(
        "INSERT INTO recipients (range_id, seq, phone, variables, line)"
        " SELECT id, seq, $3 + n * 1000 + seq, ARRAY['Ana', 'A-' || seq], n * 1000 + seq"
        " FROM unnest($1::bigint[], $2::integer[]) WITH ORDINALITY AS r (id, hi, n),"
        " generate_series(1, hi) AS seq",
        ids, sizes, FIRST_PHONE,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sent:
    """What the engine did with a campaign. `elapsed_s`: from the first write to the last."""

    messages: int
    elapsed_s: float
    cpu_s: float
    throttled: int
    written_ns: dict[str, list[int]]  # by number, in order

    @property
    def per_s(self) -> float:
        return self.messages / self.elapsed_s

    @property
    def cpu_us(self) -> float:
        return self.cpu_s / self.messages * 1e6


async def send(
    url: str, service_url: str, numbers: Sequence[str], campaign_id: int, *, for_s: float | None = None
) -> Sent:
    """Run the engine in this process until the campaign is finished, or for so long; all is durable."""
    stop = asyncio.Event()
    if for_s is not None:
        asyncio.get_running_loop().call_later(for_s, stop.set)
    service = ServiceSettings(base_url=service_url, access_token=SecretStr(TOKEN))
    cpu_s = time.process_time()
    async with open_pool(url) as pool:
        await run_numbers(pool, service, phone_number_ids=numbers, campaign_id=campaign_id, stop=stop)
        cpu_s = time.process_time() - cpu_s
        async with pool.acquire() as connection:
            return await _sent(connection, campaign_id, cpu_s)


async def _sent(connection: Connection, campaign_id: int, cpu_s: float) -> Sent:
    throttled = await connection.fetchval(
        "SELECT sum(throttled)::bigint FROM campaign_numbers WHERE campaign_id = $1", campaign_id
    )
    rows = await connection.fetch(
        "SELECT phone_number_id, array_agg(ns ORDER BY ns) AS ns FROM (SELECT phone_number_id,"
        " (extract(epoch FROM attempted_at) * 1000000)::bigint * 1000 AS ns"
        " FROM outcomes WHERE attempted_at IS NOT NULL) AS written GROUP BY 1"
    )
    written = {row["phone_number_id"]: row["ns"] for row in rows}
    first, last = min(times[0] for times in written.values()), max(times[-1] for times in written.values())
    messages = sum(map(len, written.values()))
    return Sent(messages, (last - first) / 1e9, cpu_s, throttled or 0, written)


def conditions() -> str:
    """The machine in a line, for the results."""
    shared = (
        "one core each for the sender and for emulator + Postgres"
        if len(CORES) > 1
        else "one core for everything"
    )
    load = os.getloadavg()[0]
    return f"{len(CORES)} cores, {shared}; load {load:.1f}; CPython {sys.version.split()[0]}"
