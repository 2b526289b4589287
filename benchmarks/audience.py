"""The benchmark of audience forms: how many rows a second are planned from each? The baseline is CSV.

    python -m drumbeat.benchmarks.audience [ROWS]

Plans the same rows from CSV, JSON Lines, Parquet, a query and XLSX, each in a process of its own. Prints rows
a second beside CSV's and the peak of resident memory of the planning process and of its largest child, and
compares the recipients. Starts a temporary Postgres; a plan uses every core. Writing the workbook takes a
minute.
"""

from __future__ import annotations

import asyncio
import csv
import itertools
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow
import pyarrow.parquet
import xlsxwriter

from drumbeat.benchmarks.harness.database import postgres
from drumbeat.benchmarks.harness.machine import on_every_core
from drumbeat.benchmarks.harness.script import counts, print_conditions, run_script
from drumbeat.benchmarks.harness.seeding import SEED_S_MAX, TEMPLATE
from drumbeat.benchmarks.harness.statements import SQL
from drumbeat.benchmarks.planning import NUMBER, prepare, write_audience
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.engine.store.database import connect

FORMS = ("csv", "jsonl", "parquet", "sql", "xlsx")
ROWS_MAX = 1_048_575  # of a sheet, below its header
BATCH_ROWS = 50_000


@dataclass(frozen=True, slots=True)
class Planned:
    """The result of one plan. `recipients` and `digest` are the same for the same recipients. Memory is
    resident.
    """

    elapsed_s: float
    recipients: int
    digest: str
    own_mib: float
    child_mib: float


def plan(url: str, directory: Path, form: str) -> Planned:
    """Plan from one form, in an empty schema."""
    return asyncio.run(_plan(url, directory, form))


async def _plan(url: str, directory: Path, form: str) -> Planned:
    await prepare(url)
    connection = await connect(url, command_timeout_s=SEED_S_MAX)
    try:
        audience: dict[str, Any] = {"audience": directory / f"audience.{form}"}
        if form == "sql":
            query = 'SELECT phone, name, reference AS "order" FROM customers'
            audience = {"audience_sql": query, "audience_database": url}
            file = directory / "audience.csv"
            await connection.execute(SQL["create_customers"])
            await connection.copy_to_table("customers", source=file, format="csv", header=True)
        spec = CampaignSpec(
            name="bench",
            template=str(TEMPLATE["name"]),
            language=str(TEMPLATE["language"]),
            **audience,
            number=[NUMBER],
            param=["name", "order"],
            rejects=directory / "rejects.csv",
        )
        began_s = time.perf_counter()
        created = await create_campaign(url, spec)
        elapsed_s = time.perf_counter() - began_s
        digest = await connection.fetchval(SQL["digest_of_recipients"])
    finally:
        await connection.close()
    own, child = (
        resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return Planned(elapsed_s, created.counts.recipients, digest, own, child)


def write_forms(directory: Path, rows: int) -> None:
    """Write the files, from the rows of the CSV file."""
    write_audience(directory / "audience.csv", rows)
    with (directory / "audience.jsonl").open("wb") as file:
        header, table = _rows(directory)
        for row in table:
            file.write(orjson.dumps(dict(zip(header, row, strict=True))) + b"\n")
    _write_parquet(directory)
    header, table = _rows(directory)
    with xlsxwriter.Workbook(directory / "audience.xlsx", {"constant_memory": True}) as workbook:
        sheet = workbook.add_worksheet()
        for number, row in enumerate(itertools.chain([header], table)):
            for column, cell in enumerate(row):
                sheet.write_string(number, column, cell)


def _write_parquet(directory: Path) -> None:
    header, table = _rows(directory)
    schema = pyarrow.schema([(name, pyarrow.string()) for name in header])
    with pyarrow.parquet.ParquetWriter(directory / "audience.parquet", schema) as writer:
        while batch := list(itertools.islice(table, BATCH_ROWS)):
            writer.write_table(
                pyarrow.table([pyarrow.array(column) for column in zip(*batch, strict=True)], schema=schema)
            )


def _rows(directory: Path) -> tuple[list[str], Iterator[list[str]]]:
    reader = csv.reader((directory / "audience.csv").open(encoding="utf-8", newline=""))
    return next(reader), reader


def main() -> None:
    (rows,) = counts(__doc__, rows=1_000_000)
    rows = min(rows, ROWS_MAX)
    print_conditions()
    with postgres() as database, on_every_core(database.pid), tempfile.TemporaryDirectory() as directory:
        write_forms(Path(directory), rows)
        found: dict[str, Planned] = {}
        for form in FORMS:
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
                found[form] = alone.submit(plan, database.url, Path(directory), form).result()
            _print(form, rows, found)
    same = {(planned.recipients, planned.digest) for planned in found.values()}
    print("all forms gave the same recipients" if len(same) == 1 else f"THE RECIPIENTS DIFFER: {same}")


def _print(form: str, rows: int, found: dict[str, Planned]) -> None:
    planned, share = found[form], found["csv"].elapsed_s / found[form].elapsed_s
    speed = f"{form:>8} {rows / planned.elapsed_s:>9,.0f} rows/s, {share:.2f} of CSV's"
    memory = f"memory {planned.own_mib:.0f} MiB, largest child {planned.child_mib:.0f} MiB"
    print(f"{speed}, {memory}, {planned.recipients:,} recipients", flush=True)


if __name__ == "__main__":
    run_script(main)
