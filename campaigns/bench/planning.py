"""How fast an audience file becomes a campaign, beside a bare COPY of the same file."""

from __future__ import annotations

import asyncio
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from campaigns.bench.machine import family_cpu_s
from campaigns.bench.planting import PLANT_S_MAX, TEMPLATE, clear
from campaigns.planning.create import create_campaign
from campaigns.planning.progress import PlanProgress
from campaigns.planning.spec import CampaignSpec
from engine.store.database import connect
from engine.store.migrate import migrate
from engine.store.queries import queries

NUMBER = "1000"
NAMES = ("Ana", "João", "Zoë", "Márcia", "Siân", "Łukasz", "Nguyễn", "Bob")


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan of so many rows. CPU seconds are of this process, of those that checked rows, and of Postgres.

    `bare_per_s`: rows a second of the bare COPY; `ended_s`: when each stage of the plan ended.
    """

    rows: int
    elapsed_s: float
    own_cpu_s: float
    workers_cpu_s: float
    database_cpu_s: float
    bare_per_s: float
    ended_s: dict[str, float]


def measure(url: str, server_pid: int, rows: int, directory: str = ".") -> Planned:
    """Plan an audience of so many rows, which is written to `directory`; on the cores of the caller.

    Raises ConfigurationError for a database that no bench made.
    """
    asyncio.run(_prepare(url))
    with tempfile.TemporaryDirectory(dir=directory) as place:
        path = Path(place) / "audience.csv"
        write_audience(path, rows)
        bare_s = asyncio.run(_copy_bare(url, path))
        before = (time.process_time(), _workers_cpu_s(), family_cpu_s(server_pid))
        elapsed_s, ended_s = asyncio.run(_plan(url, path, rows))
        after = (time.process_time(), _workers_cpu_s(), family_cpu_s(server_pid))
    own_s, workers_s, database_s = (end - begin for begin, end in zip(before, after, strict=True))
    return Planned(rows, elapsed_s, own_s, workers_s, database_s, rows / bare_s, ended_s)


def audience(rows: int) -> Iterator[str]:
    """Brazilian mobiles: 1 in 100 written with separators, 1 in 200 bad, 1 in 500 a repeat."""
    chance = random.Random(7)  # noqa: S311 - the same file each time
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


async def _prepare(url: str) -> None:
    """An empty schema with a template and a number."""
    sql = queries("bench")
    await clear(url)
    await migrate(url)
    connection = await connect(url)
    try:
        await connection.execute(
            sql["insert_template"], TEMPLATE["name"], TEMPLATE["language"], TEMPLATE["definition"]
        )
        await connection.execute(sql["insert_number"], NUMBER, None)
    finally:
        await connection.close()


async def _copy_bare(url: str, path: Path) -> float:
    connection = await connect(url, command_timeout_s=PLANT_S_MAX)
    try:
        await connection.execute(queries("bench")["create_bare_table"])
        began_s = time.perf_counter()
        await connection.copy_to_table("bare", source=path, format="csv", header=True)
        return time.perf_counter() - began_s
    finally:
        await connection.close()


async def _plan(url: str, path: Path, rows: int) -> tuple[float, dict[str, float]]:
    """Seconds of the plan, and at which of them each of its stages ended."""
    spec = CampaignSpec(
        "bench",
        str(TEMPLATE["name"]),
        str(TEMPLATE["language"]),
        path,
        (NUMBER,),
        params=("name", "order"),
        rejects=path.with_name("rejects.csv"),
    )
    ended_s: dict[str, float] = {}
    began_s = time.perf_counter()

    def watch(progress: PlanProgress) -> None:
        ended_s[progress.stage] = time.perf_counter() - began_s

    created = await create_campaign(url, spec, watch)
    elapsed_s = time.perf_counter() - began_s
    counts = created.counts
    assert counts.audience_rows == rows == counts.recipients + counts.rejected + counts.duplicates
    return elapsed_s, ended_s


def _workers_cpu_s() -> float:
    """Of the processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
