"""The engine as a contestant: run in this process, and what it did, read from the campaign's outcomes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.bench.timing import TimedTransport, evenly
from engine.app import POOL_CONNECTIONS, run_numbers, transport_of
from engine.process.settings import ServiceSettings
from engine.store.database import Connection, open_pool
from engine.store.installation import identify
from engine.store.queries import queries

TIMED_EVERY = 16  # at full speed some 900 a second


@dataclass(frozen=True, slots=True)
class NumberSent:
    """What one number did, by the times of its outcomes.

    `timed`: how many have one. `steady_per_s`: after the first half second, which belongs to the start.
    `largest_second`: the most in any half-open second. `by_second`: since the first of all numbers.
    """

    timed: int
    steady_per_s: float
    largest_second: int
    by_second: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sent:
    """What the engine did with a campaign. `elapsed_s`: from the first write to the last; `cpu_s`: of all
    its processes. `messages` were answered otherwise than by a throttle.
    """

    messages: int
    throttled: int
    elapsed_s: float
    cpu_s: float
    numbers: dict[str, NumberSent]

    @property
    def all_timed(self) -> bool:
        """Whether the times are those of all messages: an event that outruns an outcome costs it its time."""
        return sum(number.timed for number in self.numbers.values()) == self.messages

    @property
    def per_s(self) -> float:
        return self.messages / self.elapsed_s

    @property
    def cpu_us(self) -> float:
        """CPU microseconds a message."""
        return self.cpu_s / self.messages * 1e6


@dataclass(frozen=True, slots=True)
class PartSent:
    """What a process says of its part: the CPU seconds it took, and how long replies took, ascending."""

    cpu_s: float
    latencies_ms: list[float]


async def run_part(
    url: str,
    service: ServiceSettings,
    numbers: Sequence[str],
    campaign_id: int,
    for_s: float | None,
    timed_every: int = TIMED_EVERY,
) -> PartSent:
    """Send through these numbers until the campaign is finished, or for so long; all is durable then.

    One in `timed_every` requests is timed, none where it is 0: a look at each costs 4 % of a full core.
    """
    stop = asyncio.Event()
    if for_s is not None:
        asyncio.get_running_loop().call_later(for_s, stop.set)
    began_s = time.process_time()
    plain = transport_of(service)
    timed = TimedTransport(plain, timed_every) if timed_every else None
    async with open_pool(url, size=POOL_CONNECTIONS, by_key=True, greet=identify) as pool:
        await run_numbers(
            pool,
            service,
            phone_number_ids=numbers,
            campaign_id=campaign_id,
            stop=stop,
            transport=timed or plain,
        )
        latencies_ms = sorted(timed.latencies_ms) if timed else []
        return PartSent(time.process_time() - began_s, evenly(latencies_ms))


def steady_per_s(messages: int, span_s: float, whole_s: float) -> float:
    """The rate of a number's messages after its start. `span_s`: from the first of them to the last;
    `whole_s`: from the end of its start to the last of all numbers.

    Never more than the whole time bears: on a machine that stalls, a few messages may lie close together.
    """
    if not span_s or whole_s <= 0:
        return 0.0
    return min((messages - 1) / span_s, (messages + 1) / whole_s)


async def read_sent(connection: Connection, campaign_id: int, cpu_s: float) -> Sent:
    """What was sent; BenchFailed is the caller's word where nothing was."""
    sql = queries("bench")
    seconds: dict[str, dict[int, int]] = {}
    for row in await connection.fetch(sql["by_second"]):
        seconds.setdefault(row["phone_number_id"], {})[row["second"]] = row["messages"]
    last = max((second for counts in seconds.values() for second in counts), default=-1)
    numbers = {
        row["phone_number_id"]: NumberSent(
            timed=row["messages"],
            steady_per_s=steady_per_s(row["steady"], row["steady_s"], row["whole_s"]),
            largest_second=row["largest_second"],
            by_second=tuple(seconds[row["phone_number_id"]].get(second, 0) for second in range(last + 1)),
        )
        for row in await connection.fetch(sql["written"])
    }
    sums = await connection.fetchrow(sql["sums"], campaign_id)
    assert sums is not None
    return Sent(sums["messages"], sums["throttled"], sums["elapsed_s"], cpu_s, numbers)
