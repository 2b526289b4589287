"""The engine as a contestant: run in this process, and what it did, read from the campaign's outcomes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from engine.app import run_numbers
from engine.settings import ServiceSettings
from engine.store.database import Connection, open_pool
from engine.store.queries import queries


@dataclass(frozen=True, slots=True)
class NumberSent:
    """What one number did. `steady_per_s`: after the first half second, which belongs to the start."""

    messages: int
    first_s: float  # unix time of the first write, of the last below
    last_s: float
    steady_per_s: float
    largest_second: int  # the most writes in any half-open second
    by_second: tuple[int, ...]  # writes in each whole second since the first write of all numbers


@dataclass(frozen=True, slots=True)
class Sent:
    """What the engine did with a campaign. `cpu_s`: of all its processes."""

    cpu_s: float
    throttled: int
    numbers: dict[str, NumberSent]

    @property
    def messages(self) -> int:
        return sum(number.messages for number in self.numbers.values())

    @property
    def elapsed_s(self) -> float:
        """From the first write to the last."""
        numbers = self.numbers.values()
        return max(number.last_s for number in numbers) - min(number.first_s for number in numbers)

    @property
    def per_s(self) -> float:
        return self.messages / self.elapsed_s

    @property
    def cpu_us(self) -> float:
        """CPU microseconds a message."""
        return self.cpu_s / self.messages * 1e6


async def run_part(
    url: str, service: ServiceSettings, numbers: Sequence[str], campaign_id: int, for_s: float | None
) -> float:
    """Send through these numbers until the campaign is finished, or for so long; all is durable then.

    Returns the CPU seconds that this process took for it.
    """
    stop = asyncio.Event()
    if for_s is not None:
        asyncio.get_running_loop().call_later(for_s, stop.set)
    began_s = time.process_time()
    async with open_pool(url) as pool:
        await run_numbers(pool, service, phone_number_ids=numbers, campaign_id=campaign_id, stop=stop)
        return time.process_time() - began_s


async def read_sent(connection: Connection, campaign_id: int, cpu_s: float) -> Sent:
    """What was sent; BenchFailed is the caller's word where nothing was."""
    sql = queries("bench")
    seconds: dict[str, dict[int, int]] = {}
    for row in await connection.fetch(sql["by_second"]):
        seconds.setdefault(row["phone_number_id"], {})[row["second"]] = row["messages"]
    last = max((second for counts in seconds.values() for second in counts), default=-1)
    numbers = {
        row["phone_number_id"]: NumberSent(
            messages=row["messages"],
            first_s=row["first_s"],
            last_s=row["last_s"],
            steady_per_s=(row["steady"] - 1) / row["steady_s"] if row["steady_s"] else 0.0,
            largest_second=row["largest_second"],
            by_second=tuple(seconds[row["phone_number_id"]].get(second, 0) for second in range(last + 1)),
        )
        for row in await connection.fetch(sql["written"])
    }
    return Sent(cpu_s, await connection.fetchval(sql["throttled"], campaign_id), numbers)
