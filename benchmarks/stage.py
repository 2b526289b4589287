"""The pieces of a sending benchmark for a look from inside: everything in this process but the service.

    python -m benchmarks.stage [MESSAGES]

Sends a campaign with the engine in this very process, so that a profiler sees it
(`py-spy record -- python -m benchmarks.stage`). Figures are for `benchmarks.throughput`.
"""

from __future__ import annotations

from collections.abc import Sequence

import uvloop

from benchmarks.cost import print_conditions
from benchmarks.ending import counts, perform
from campaigns.bench.database import postgres
from campaigns.bench.machine import own_core
from campaigns.bench.planting import plant
from campaigns.bench.rounds import NO_LIMIT_PER_S
from campaigns.bench.sending import Sent, read_sent, run_part
from campaigns.bench.service import Service, Wanted, own_service
from engine.process.telemetry import configure_logging
from engine.store.database import connect

NUMBERS = 32
RATE_PER_S = 1_000.0


async def send(url: str, service: Service, numbers: Sequence[str], campaign_id: int) -> Sent:
    """Run the engine in this process until the campaign is finished; all is durable."""
    part = await run_part(url, service.settings, numbers, campaign_id, None)
    connection = await connect(url)
    try:
        return await read_sent(connection, campaign_id, part.cpu_s)
    finally:
        await connection.close()


def main() -> None:
    (messages,) = counts(__doc__, messages=60_000)
    print_conditions()
    configure_logging(level="warning")
    own_core()
    with postgres() as database, own_service(Wanted(NUMBERS, NO_LIMIT_PER_S)) as service:
        rates = dict.fromkeys(service.numbers, RATE_PER_S)
        campaign_id = uvloop.run(plant(database.url, rates, messages))
        sent = uvloop.run(send(database.url, service, service.numbers, campaign_id))
    print(f"{sent.messages:,} messages, {sent.per_s:,.0f}/s, CPU {sent.cpu_us:.1f} µs a message")


if __name__ == "__main__":
    perform(main)
