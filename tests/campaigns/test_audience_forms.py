"""The same recipients from every form of an audience, hash for hash."""

import hashlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.engine.store.database import Pool
from tests.campaigns.audience_files import (
    packed,
    write_csv,
    write_json_lines,
    write_ods,
    write_parquet,
    write_xlsx,
)

HEADER = ("phone", "name", "order", "note")
QUIRKS = (
    ("+49 1512 3456789", "Zoë\\", "A\\tB", "a,b;c|d"),
    ("(+55) 11 98765-4321", '"quoted" name', "=1+1", "two\nlines"),
    ("551187654321", "Ninth digit left out", "x", ""),
    ("5491123456789", "Argentina", "y", "\\.\\N"),
    ("541123456789", "the same person", "y", ""),
    ("not a phone", "Dora", "z", "tab\there"),
    ("4.91701234567E+11", "Digits kept", "1", ""),
    ("4.917E+11", "Digits lost", "1", ""),
    ("+14155550101", " ", "empty", ""),
    ("", "", "", ""),
    ("+14155550102", "five     spaces", "e", ""),
    ("+14155550103", "emoji 🎉", "ã", "ı"),
)
ROWS = [
    *QUIRKS,
    *((f"55119{60_000_000 + row % 2_900}", f"Name {row}", f"A-{row}", "São Paulo") for row in range(3_000)),
]
FILES: dict[str, Callable[..., None]] = {
    "jsonl": write_json_lines,
    "parquet": write_parquet,
    "xlsx": write_xlsx,
    "ods": write_ods,
    "csv.gz": packed(write_csv, "gzip"),
    "csv.zip": packed(write_csv, "zip"),
    "csv.zst": packed(write_csv, "zstd"),
    "xlsx.gz": packed(write_xlsx, "gzip"),
    "jsonl.zst": packed(write_json_lines, "zstd"),
    "parquet.zip": packed(write_parquet, "zip"),
}


@pytest.fixture
def expected(tmp_path: Path) -> Path:
    path = tmp_path / "customers.csv"
    write_csv(path, HEADER, ROWS)
    return path


async def planned(
    url: str, pool: Pool, spec: CampaignSpec, name: str, **changes: object
) -> tuple[object, ...]:
    """The counts, the codes of rejects, and the hash of phones and variables in order."""
    created = await create_campaign(url, replace(spec, name=name, **changes))
    rows = await pool.fetch(
        "SELECT phone, variables FROM recipients JOIN ranges USING (range_id) WHERE campaign_id = $1"
        " ORDER BY ordinal, seq",
        created.campaign_id,
    )
    digest = hashlib.sha256(repr([(row["phone"], row["variables"]) for row in rows]).encode()).hexdigest()
    return created.counts, dict(created.audience.reject_codes), digest, len(rows)


async def test_files_of_every_form_give_the_same_recipients(
    ready: str, pool: Pool, spec: CampaignSpec, expected: Path, tmp_path: Path
) -> None:
    wanted = await planned(ready, pool, spec, "csv", audience=expected)
    for suffix, write in FILES.items():
        path = tmp_path / f"audience.{suffix}"
        write(path, HEADER, ROWS)
        assert await planned(ready, pool, spec, suffix, audience=path) == wanted, suffix
    assert wanted[3] > 2_900


async def test_standard_input_gives_the_same_recipients(
    ready: str, pool: Pool, spec: CampaignSpec, expected: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = await planned(ready, pool, spec, "csv", audience=expected)
    with expected.open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert await planned(ready, pool, spec, "piped", audience=Path("-")) == wanted


async def test_a_query_may_compute(ready: str, pool: Pool, spec: CampaignSpec) -> None:
    """Also with functions that a person wrote, and with those that give another value each time."""
    await pool.execute("CREATE FUNCTION own(text) RETURNS text LANGUAGE sql AS 'SELECT upper($1)'")
    query = (
        "SELECT '+5511960000000' AS phone, own('ana') AS name, coalesce(NULL, 'A' || random()) AS \"order\","
        " (SELECT count(*) FROM pg_class TABLESAMPLE system (10)) AS note"
    )
    found = await planned(
        ready, pool, spec, "sql", audience=None, audience_sql=query, audience_database=ready
    )
    assert found[0].recipients == 1


async def test_a_query_gives_the_same_recipients_and_its_snapshot_is_noted(
    ready: str, pool: Pool, spec: CampaignSpec, expected: Path
) -> None:
    wanted = await planned(ready, pool, spec, "csv", audience=expected)
    await pool.execute("CREATE TABLE customers (id serial, phone text, name text, order_no text, note text)")
    await pool.executemany(
        "INSERT INTO customers (phone, name, order_no, note) VALUES ($1, $2, $3, $4)", ROWS
    )
    query = 'SELECT phone, name, order_no AS "order", note FROM customers ORDER BY id; '
    assert (
        await planned(ready, pool, spec, "sql", audience=None, audience_sql=query, audience_database=ready)
        == wanted
    )

    noted = await pool.fetchval("SELECT options -> 'noted' FROM campaigns WHERE name = 'sql'")
    assert noted["query"] == query
    assert noted["read_at"].startswith("20")
