"""The profile of the engine: where does it spend its CPU? Sends a campaign in this very process, so that a
profiler sees it.

    py-spy record -- python -m drumbeat.benchmarks.profiling [MESSAGES]

Only the emulator and Postgres are other processes. Figures are for `benchmarks.throughput`.
"""

from __future__ import annotations

import uvloop

from drumbeat.benchmarks.harness.database import postgres
from drumbeat.benchmarks.harness.emulators import EmulatorSpec, own_emulator, service_settings
from drumbeat.benchmarks.harness.machine import move_to_sender_core
from drumbeat.benchmarks.harness.script import counts, print_conditions, run_script
from drumbeat.benchmarks.harness.seeding import seed_campaign
from drumbeat.benchmarks.senders.engine import CampaignSent, read_sent, send
from drumbeat.benchmarks.senders.runs import NO_LIMIT_PER_S
from drumbeat.engine.process.telemetry import configure_logging
from drumbeat.engine.store.database import connect

NUMBERS = 32
RATE_PER_S = 1_000.0


async def read(url: str, campaign_id: int) -> CampaignSent:
    connection = await connect(url)
    try:
        return await read_sent(connection, campaign_id)
    finally:
        await connection.close()


def main() -> None:
    (messages,) = counts(__doc__, messages=60_000)
    print_conditions()
    configure_logging(level="warning")
    move_to_sender_core()
    with postgres() as database, own_emulator(EmulatorSpec(NUMBERS, NO_LIMIT_PER_S)) as emulator:
        rates = dict.fromkeys(emulator.numbers, RATE_PER_S)
        campaign_id = uvloop.run(seed_campaign(database.url, rates, messages))
        share = uvloop.run(
            send(database.url, service_settings(**emulator.access), emulator.numbers, campaign_id, None)
        )
        sent = uvloop.run(read(database.url, campaign_id))
    per_s, cpu_us = sent.messages / sent.elapsed_s, share.cpu_s / sent.messages * 1e6
    print(f"{sent.messages:,} messages, {per_s:,.0f}/s, CPU {cpu_us:.1f} µs a message")


if __name__ == "__main__":
    run_script(main)
