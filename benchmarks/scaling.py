"""Does a message cost the same, however long the campaign, however many numbers and processes?

    python -m benchmarks.scaling [LARGEST]

CPU of the sending process for each message: over the audience (10 thousand to LARGEST recipients planned, of
which a fixed count is sent), over numbers that share a fixed total rate, and over processes. The yardstick is
the first row of each table. Bounded: a row takes under half a minute.
"""

from __future__ import annotations

import asyncio
import json
import sys
from concurrent.futures import ProcessPoolExecutor

import uvloop

from benchmarks import stage

SENT_S = 6.0
TOTAL_PER_S = 4_000.0


def rates_of(numbers: int, total_per_s: float = TOTAL_PER_S) -> dict[str, float]:
    return {f"{1000 + n}": total_per_s / numbers for n in range(numbers)}


async def cost_us(database_url: str, recipients: int, numbers: int) -> float:
    """CPU in µs for each message of a run of some seconds at the same total rate."""
    rates = rates_of(numbers)
    campaign_id = await stage.plant(database_url, rates, recipients)
    async with stage.emulator(rates, 5.0) as url:
        return (await stage.send(database_url, url, list(rates), campaign_id, for_s=SENT_S)).cpu_us


async def cost_of_processes_us(database_url: str, processes: int) -> tuple[float, float]:
    """CPU for each message and messages a second of all, each process with numbers of its own."""
    rates = rates_of(2 * processes, 1_000.0 * processes)
    campaign_id = await stage.plant(database_url, rates, int(sum(rates.values()) * (SENT_S + 2)))
    shares = [list(rates)[place::processes] for place in range(processes)]
    async with stage.emulator(rates, 5.0) as url:
        with ProcessPoolExecutor(processes) as pool:
            loop = asyncio.get_running_loop()
            runs = [
                loop.run_in_executor(pool, _in_process, database_url, url, share, campaign_id)
                for share in shares
            ]
            costs = [json.loads(run) for run in await asyncio.gather(*runs)]
    cpu_s, messages = sum(cost[0] for cost in costs), costs[-1][1]
    return cpu_s / messages * 1e6, messages / SENT_S


def _in_process(database_url: str, url: str, numbers: list[str], campaign_id: int) -> str:
    sent = uvloop.run(stage.send(database_url, url, numbers, campaign_id, for_s=SENT_S))
    return json.dumps([sent.cpu_s, sent.messages])


def main() -> None:
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(stage.conditions())
    with stage.postgres() as database_url:
        audiences = [size for size in (30_000, 100_000, 1_000_000, 10_000_000) if size <= largest]
        costs = [uvloop.run(cost_us(database_url, size, 4)) for size in audiences]
        for size, cost in zip(audiences, costs, strict=True):
            print(f"{size:>10,} recipients  {cost:>7.1f} µs a message  {cost / costs[0]:>5.2f} ×")
        counts = (1, 4, 16, 64)
        costs = [uvloop.run(cost_us(database_url, 30_000, count)) for count in counts]
        for count, cost in zip(counts, costs, strict=True):
            print(f"{count:>10} numbers     {cost:>7.1f} µs a message  {cost / costs[0]:>5.2f} ×")
        first_us = 0.0
        for processes in (1, 2, 4):
            cost, per_s = uvloop.run(cost_of_processes_us(database_url, processes))
            first_us = first_us or cost
            times = f"{cost / first_us:>5.2f} ×  {per_s:,.0f}/s"
            print(f"{processes:>10} processes   {cost:>7.1f} µs a message  {times}")


if __name__ == "__main__":
    main()
