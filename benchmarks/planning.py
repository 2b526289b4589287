"""The benchmark of planning: how many rows of an audience file are planned a second? The baseline is a bare
COPY of the same file.

    python -m drumbeat.benchmarks.planning [ROWS [REPEATS]]

Prints rows a second, CPU a row of every process and the peak of resident memory. Starts a temporary Postgres;
a plan uses every core.

Profile (py-spy, each step timed alone, a million rows of 40 bytes), in µs a row: two worker processes read,
check and write the rows for COPY in 2.5: a third for lines and cells, a quarter each for the phone's pattern
and for the COPY text; starting them adds 0.2. The main process takes 0.9: a third to decode the file, a third
to cut the rows into ranges. Postgres takes 4.5 to 5.5: 0.3 for the keys in staging, 0.6 for duplicates (one
sort, the only stage that leaves a core idle), 3.0 to write the recipients (a third of it for the primary key)
and 0.3 to count them. The workers run without cyclic garbage collection; it would cost as much as all checks.
Staging rows as columns would cost Postgres 1.5 more, because it would read, number and write each row again.
"""

from __future__ import annotations

import asyncio
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from drumbeat.benchmarks.harness.database import postgres
from drumbeat.benchmarks.harness.machine import CORES, on_every_core, tree_cpu_s
from drumbeat.benchmarks.harness.results import Stage, StageRun
from drumbeat.benchmarks.harness.script import counts, print_conditions, run_script
from drumbeat.benchmarks.harness.seeding import SEED_S_MAX, TEMPLATE, clear_database
from drumbeat.benchmarks.harness.statements import SQL
from drumbeat.benchmarks.harness.testbed import Testbed
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.progress import PlanProgress
from drumbeat.engine.store.database import connect
from drumbeat.engine.store.migrate import migrate

PLAN = Stage("plan", "plan an audience", "rows", "bare COPY of the same file")
NUMBER = "1000"
NAMES = ("Ana", "João", "Zoë", "Márcia", "Siân", "Łukasz", "Nguyễn", "Bob")


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan of `rows`. CPU seconds are those of this process, of its workers and of Postgres.

    `baseline_per_s`: rows a second of the bare COPY. `ended_s`: the time at which each step of the plan
    ended.
    """

    rows: int
    elapsed_s: float
    own_cpu_s: float
    workers_cpu_s: float
    database_cpu_s: float
    baseline_per_s: float
    ended_s: dict[str, float]


def run_plan(testbed: Testbed, rows: int) -> StageRun:
    """Plan an audience in a worker process, on every core."""
    database = testbed.database
    with on_every_core(database.pid):
        arguments = {"server_pid": database.pid, "rows": rows}
        found = Planned(**testbed.run_stage("drumbeat.benchmarks.planning:measure", arguments, CORES))
    cpu_s = found.own_cpu_s + found.workers_cpu_s
    return StageRun(found.rows, found.elapsed_s, cpu_s, found.database_cpu_s, found.baseline_per_s)


def measure(url: str, server_pid: int, rows: int, directory: str = ".") -> Planned:
    """Plan an audience of `rows`, which is written to `directory`, on the cores of the caller.

    ConfigurationError unless a benchmark created the database.
    """
    asyncio.run(prepare(url))
    with tempfile.TemporaryDirectory(dir=directory) as home:
        path = Path(home) / "audience.csv"
        write_audience(path, rows)
        bare_s = asyncio.run(_copy_bare(url, path))
        before = (time.process_time(), _workers_cpu_s(), tree_cpu_s(server_pid))
        elapsed_s, ended_s = asyncio.run(_plan(url, path, rows))
        after = (time.process_time(), _workers_cpu_s(), tree_cpu_s(server_pid))
    own_s, workers_s, database_s = (end - begin for begin, end in zip(before, after, strict=True))
    return Planned(rows, elapsed_s, own_s, workers_s, database_s, rows / bare_s, ended_s)


def audience(rows: int) -> Iterator[str]:
    """Yield the rows: Brazilian mobile numbers, 1 in 100 with separators, 1 in 200 invalid, 1 in 500 a
    duplicate.
    """
    chance = random.Random(7)  # the same file each time
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
    """Make an empty schema with a template and a number."""
    await clear_database(url)
    await migrate(url)
    connection = await connect(url)
    try:
        await connection.execute(
            SQL["insert_template"], TEMPLATE["name"], TEMPLATE["language"], TEMPLATE["definition"]
        )
        await connection.execute(SQL["insert_number"], NUMBER, None)
    finally:
        await connection.close()


async def _copy_bare(url: str, path: Path) -> float:
    connection = await connect(url, command_timeout_s=SEED_S_MAX)
    try:
        await connection.execute(SQL["create_bare_table"])
        began_s = time.perf_counter()
        await connection.copy_to_table("bare", source=path, format="csv", header=True)
        return time.perf_counter() - began_s
    finally:
        await connection.close()


async def _plan(url: str, path: Path, rows: int) -> tuple[float, dict[str, float]]:
    """Return the duration of the plan in seconds, and the time at which each of its steps ended."""
    spec = CampaignSpec(
        name="bench",
        template=str(TEMPLATE["name"]),
        language=str(TEMPLATE["language"]),
        audience=path,
        number=[NUMBER],
        param=["name", "order"],
        rejects=path.with_name("rejects.csv"),
    )
    ended_s: dict[str, float] = {}
    began_s = time.perf_counter()

    def note_step(progress: PlanProgress) -> None:
        ended_s[progress.stage] = time.perf_counter() - began_s

    created = await create_campaign(url, spec, note_step)
    elapsed_s = time.perf_counter() - began_s
    counts = created.counts
    assert counts.audience_rows == rows == counts.recipients + counts.rejected + counts.duplicates
    return elapsed_s, ended_s


def _workers_cpu_s() -> float:
    """Return the CPU of the child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def print_planned(found: Planned) -> None:
    shares = (found.own_cpu_s, found.workers_cpu_s, found.database_cpu_s)
    own, workers, store = (cpu_s / found.rows * 1e6 for cpu_s in shares)
    print(
        f"plan {found.rows / found.elapsed_s:>9,.0f} rows/s   bare COPY {found.baseline_per_s:>9,.0f} rows/s",
        end="   ",
    )
    print(f"CPU a row: own {own:.1f}, workers {workers:.1f}, Postgres {store:.1f} µs", end="   ")
    print(", ".join(f"{step} until {at_s:.1f} s" for step, at_s in found.ended_s.items()), flush=True)


def main() -> None:
    rows, repeats = counts(__doc__, rows=1_000_000, repeats=5)
    print_conditions()
    runs: list[Planned] = []
    with postgres() as database, on_every_core(database.pid), tempfile.TemporaryDirectory() as directory:
        for _ in range(repeats):
            runs.append(measure(database.url, database.pid, rows, directory))
            print_planned(runs[-1])
    planned = statistics.median(run.rows / run.elapsed_s for run in runs)
    bare = statistics.median(run.baseline_per_s for run in runs)
    print(f"median: plan {planned:,.0f} rows/s, bare COPY {bare:,.0f} rows/s, ratio {planned / bare:.2f}")
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of the planning process {peak_mib:,.0f} MiB")


if __name__ == "__main__":
    run_script(main)
