"""The engine as a sender: it runs in a worker process, and its figures are read from the outcomes that it
stored.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import uvloop

from drumbeat.benchmarks.harness.emulators import service_settings
from drumbeat.benchmarks.harness.statements import SQL
from drumbeat.benchmarks.senders.latency import TimedTransport, evenly
from drumbeat.engine.app import POOL_CONNECTIONS, run_numbers, transport_of
from drumbeat.engine.process.settings import MetricsAddress, ServiceSettings
from drumbeat.engine.store.database import Connection, open_pool
from drumbeat.engine.store.installation import identify

TIMED_EVERY = 16  # at full speed about 900 a second


@dataclass(frozen=True, slots=True)
class NumberSent:
    """The messages that one number sent, by the times of its outcomes.

    `timed`: outcomes that have a time. `steady_per_s`: the rate after the first half second, which belongs to
    the start. `largest_second`: the most in any half-open second. `by_second`: since the first message of all
    numbers.
    """

    timed: int
    steady_per_s: float
    largest_second: int
    by_second: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CampaignSent:
    """The messages of a campaign that the engine sent. `messages`: those with another reply than a throttle.

    `elapsed_s`: from the first write to the last.
    """

    messages: int
    throttled: int
    elapsed_s: float
    numbers: dict[str, NumberSent]

    @property
    def all_timed(self) -> bool:
        """Return whether every message has a time. An outcome whose status event came first has none."""
        return sum(number.timed for number in self.numbers.values()) == self.messages


@dataclass(frozen=True, slots=True)
class ShareSent:
    """The report of a process about its share: its CPU seconds, and its reply times in ascending order."""

    cpu_s: float
    latencies_ms: list[float]


def send_share(access: dict[str, str], **share: Any) -> ShareSent:
    """Send a worker's share of a campaign. The arguments are those of `send`, with the access to the service
    as text.
    """
    return uvloop.run(send(service=service_settings(**access), **share))


async def send(
    database_url: str,
    service: ServiceSettings,
    numbers: Sequence[str],
    campaign_id: int,
    for_s: float | None,
    timed_every: int = TIMED_EVERY,
    metrics_port: int | None = None,
) -> ShareSent:
    """Send through these numbers until the campaign is finished, or for `for_s`. All is durable then.

    One in `timed_every` requests is timed, none if it is 0. Timing each costs 4 % of a full core. Metrics are
    served if there is a port for them.
    """
    metrics = None if metrics_port is None else MetricsAddress("127.0.0.1", metrics_port)
    stop = asyncio.Event()
    if for_s is not None:
        asyncio.get_running_loop().call_later(for_s, stop.set)
    began_s = time.process_time()
    plain = transport_of(service)
    timed = TimedTransport(plain, timed_every) if timed_every else None
    async with open_pool(database_url, size=POOL_CONNECTIONS, by_key=True, greet=identify) as pool:
        await run_numbers(
            pool,
            service,
            phone_number_ids=numbers,
            campaign_id=campaign_id,
            stop=stop,
            transport=timed or plain,
            metrics=metrics,
        )
        latencies_ms = sorted(timed.latencies_ms) if timed else []
        return ShareSent(time.process_time() - began_s, evenly(latencies_ms))


def steady_per_s(messages: int, span_s: float, whole_s: float) -> float:
    """Return the rate of a number after its start. `span_s`: from its first message to its last; `whole_s`:
    from the end of its start to the last message of all numbers.

    The result is bounded by the rate over `whole_s`: after a stall of the machine a few messages may lie
    close together.
    """
    if not span_s or whole_s <= 0:
        return 0.0
    return min((messages - 1) / span_s, (messages + 1) / whole_s)


async def read_sent(connection: Connection, campaign_id: int) -> CampaignSent:
    """Return the messages that were sent, or an empty result if none were."""
    seconds: dict[str, dict[int, int]] = {}
    for row in await connection.fetch(SQL["by_second"]):
        seconds.setdefault(row["phone_number_id"], {})[row["second"]] = row["messages"]
    last = max((second for counts in seconds.values() for second in counts), default=-1)
    numbers = {
        row["phone_number_id"]: NumberSent(
            timed=row["messages"],
            steady_per_s=steady_per_s(row["steady"], row["steady_s"], row["whole_s"]),
            largest_second=row["largest_second"],
            by_second=tuple(seconds[row["phone_number_id"]].get(second, 0) for second in range(last + 1)),
        )
        for row in await connection.fetch(SQL["written"])
    }
    sums = await connection.fetchrow(SQL["sums"], campaign_id)
    assert sums is not None
    return CampaignSent(sums["messages"], sums["throttled"], sums["elapsed_s"], numbers)
