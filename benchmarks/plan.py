"""How fast is a plan, and how much memory does it take? The yardstick is bare COPY of the same file.

    python -m benchmarks.plan [ROWS [REPEATS]]

Prints rows per second, CPU a row of every process and the peak of resident memory. Starts a Postgres of its
own.

Where the time goes (py-spy, each step timed by itself, a row of a million of 40 bytes): two worker processes
read, check and write the rows for COPY in 2.5 µs, a third of it lines and cells, a quarter each the phone's
pattern and the text for COPY; their start is another 0.2. The process itself takes 0.9: a third of it decodes
the file, another cuts the rows into ranges. Postgres takes 4.5 to 5.5: 0.3 the keys to staging, 0.6 the
duplicates (one sort, the only stage that leaves a core idle), 3.0 writing the recipients, a third of that the
primary key, and 0.3 counting them. Looking for cyclic garbage while rows are lists would take as much as all
checks together; the workers do without. To stage rows as columns would cost Postgres 1.5 more: it would read,
number and write out each of them again.
"""

from __future__ import annotations

import asyncio
import random
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.cost import cpu_s, print_conditions, server_pid
from campaigns.campaign import CampaignSpec
from campaigns.create import create_campaign
from campaigns.plan import PlanProgress
from engine.store.database import connect
from engine.store.embedded import start_embedded, stop_embedded
from engine.store.migrate import migrate

NAMES = ("Ana", "João", "Zoë", "Márcia", "Siân", "Łukasz", "Nguyễn", "Bob")


def audience(rows: int, seed: int = 7) -> Iterator[str]:
    """Brazilian mobiles: 1 in 100 written with separators, 1 in 200 bad, 1 in 500 a repeat."""
    chance = random.Random(seed)
    yield "phone,name,order,city\n"
    for row in range(rows):
        phone = f"55119{60_000_000 + row % 39_000_000:08}"
        draw = chance.random()
        if draw < 0.005:
            phone = phone[:8]
        elif draw < 0.007:
            phone = "5511960000000"
        elif draw < 0.017:
            phone = f"+55 (11) {phone[4:9]}-{phone[9:]}"
        yield f"{phone},{chance.choice(NAMES)},A-{row},São Paulo\n"


def write_audience(path: Path, rows: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(audience(rows))


async def prepare(url: str) -> None:
    await migrate(url)
    connection = await connect(url)
    definition = {"components": [{"type": "BODY", "text": "Hello {{1}}, order {{2}}"}]}
    await connection.execute(
        "INSERT INTO templates (name, language, status, definition) VALUES ('order', 'en', 'APPROVED', $1)",
        definition,
    )
    await connection.execute("INSERT INTO numbers (phone_number_id) VALUES ('1001')")
    await connection.close()


async def copy_bare(url: str, path: Path) -> float:
    connection = await connect(url, command_timeout_s=600)
    await connection.execute("CREATE TEMPORARY TABLE bare (phone text, name text, reference text, city text)")
    began = time.perf_counter()
    await connection.copy_to_table("bare", source=path, format="csv", header=True)
    took_s = time.perf_counter() - began
    await connection.close()
    return took_s


async def plan(url: str, path: Path) -> tuple[float, dict[str, float]]:
    """Seconds of one plan, and the second at which each of its stages ended."""
    connection = await connect(url)
    await connection.execute("TRUNCATE campaigns, ranges, tallies, recipients CASCADE")
    await connection.close()
    spec = CampaignSpec(
        "bench",
        "order",
        "en",
        path,
        ("1001",),
        params=("name", "order"),
        rejects=path.with_name("rejects.csv"),
    )
    stages: dict[str, float] = {}
    began = time.perf_counter()

    def watch(progress: PlanProgress) -> None:
        stages[progress.stage] = time.perf_counter() - began

    created = await create_campaign(url, spec, watch)
    took_s = time.perf_counter() - began
    counts = created.counts
    assert counts.audience_rows == counts.recipients + counts.rejected + counts.duplicates
    return took_s, stages


def measure(home: Path, path: Path, rows: int) -> tuple[float, float]:
    """Rows a second of one plan and of one bare COPY, with what the plan cost printed."""
    url, server = start_embedded(home), server_pid(home)
    bare_s = asyncio.run(copy_bare(url, path))
    before = (time.process_time(), _workers_cpu_s(), cpu_s(server, with_ended_children=True))
    took_s, stages = asyncio.run(plan(url, path))
    after = (time.process_time(), _workers_cpu_s(), cpu_s(server, with_ended_children=True))
    own, workers, store = ((end - start) * 1e6 / rows for start, end in zip(before, after, strict=True))
    print(f"plan {rows / took_s:>9,.0f} rows/s   bare COPY {rows / bare_s:>9,.0f} rows/s", end="   ")
    print(f"CPU a row: own {own:.1f}, workers {workers:.1f}, Postgres {store:.1f} µs", end="   ")
    print(", ".join(f"{stage} until {at_s:.1f} s" for stage, at_s in stages.items()))
    return rows / took_s, rows / bare_s


def _workers_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(rows: int, repeats: int) -> None:
    home = Path(tempfile.mkdtemp(prefix="beat-", dir="/var/tmp"))
    path = home / "audience.csv"
    print_conditions()
    try:
        asyncio.run(prepare(start_embedded(home)))
        write_audience(path, rows)
        rates = [measure(home, path, rows) for _ in range(repeats)]
        planned, bare = (statistics.median(each) for each in zip(*rates, strict=True))
        peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"median: plan {planned:,.0f} rows/s, bare COPY {bare:,.0f} rows/s, ratio {planned / bare:.2f}")
        print(f"peak memory of the planning process {peak_mib:,.0f} MiB")
    finally:
        stop_embedded(home)
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    main(*(numbers + [1_000_000, 5][len(numbers) :]))
