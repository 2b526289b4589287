"""An export holds every recipient or says that it does not. Read as an audience, it gives the same texts."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drumbeat.campaigns.cli.report import read_report
from drumbeat.campaigns.cli.report_text import report_lines
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.results.export import (
    COLUMNS,
    export_columns,
    export_rows,
    failure_texts,
    variable_columns,
)
from drumbeat.campaigns.stored_recipients import ExportFilter, require_kept
from drumbeat.engine.core.error_codes import meaning_of
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.errors import ConfigurationError, TryLater
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import PHONE, WriteAudience
from tests.campaigns.creating import create_and_be_killed, recount
from tests.kit.planted import FIRST_RANGE, plant_campaign

NAMES = ["-10 %", "'=1", "Ana", "@bob"]


@pytest.fixture
def spec(write_audience: WriteAudience) -> CampaignSpec:
    rows = [f"{PHONE + row},{name}" for row, name in enumerate(NAMES)]
    path = write_audience("phone,name\n" + "\n".join(rows) + "\n")
    return CampaignSpec(
        name="spring", template="order", language="en", audience=path, number=["1001"], param=["name", "=x"]
    )


async def test_what_is_exported_can_be_sent_to_again(
    ready: str, pool: Pool, spec: CampaignSpec, tmp_path: Path
) -> None:
    created = await create_campaign(ready, spec)
    rows = [row async for page in export_rows(pool, created.campaign_id) for row in page]
    assert [row[COLUMNS.index("line")] for row in rows] == ["2", "3", "4", "5"], "as in the file"
    with (tmp_path / "export.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([await export_columns(pool, created.campaign_id), *rows])

    params = ("name", "variable_2")
    await create_campaign(ready, replace(spec, name="again", audience=tmp_path / "export.csv", param=params))

    found = await pool.fetch("SELECT phone, variables FROM recipients ORDER BY phone, range_id")
    expected = [(PHONE + row, [name, "x"]) for row, name in enumerate(NAMES) for _ in range(2)]
    assert [tuple(row) for row in found] == expected


async def test_everybody_is_exported_once_or_those_of_one_state(
    ready: str, pool: Pool, write_audience: WriteAudience, small_ranges: None
) -> None:
    path = write_audience("phone\n" + "".join(f"{PHONE + row}\n" for row in range(30)))
    spec = CampaignSpec(
        name="spring", template="order", language="en", audience=path, number=["1001"], param=["=Hi", "=you"]
    )
    campaign_id = (await create_campaign(ready, spec)).campaign_id
    await pool.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, phone_number_id)"
        " SELECT range_id, 1, 1, 1, 2, '1001' FROM ranges"
    )
    await recount(pool)
    rows = [row async for page in export_rows(pool, campaign_id) for row in page]
    assert [row[0] for row in rows] == [f"+{PHONE + row}" for row in range(30)]
    failed = [
        row
        async for page in export_rows(pool, campaign_id, ExportFilter({RecipientState.FAILED}))
        for row in page
    ]
    assert failed == [row for row in rows if row[1] == "failed"]
    assert len(failed) == await pool.fetchval("SELECT count(*) FROM ranges") > 1


async def test_more_ranges_than_one_query_reads_are_all_exported(pool: Pool) -> None:
    async with pool.acquire() as connection:
        other = await plant_campaign(connection, ranges=1, recipients=1)
        campaign = await plant_campaign(connection, ranges=230, recipients=1, first_range=FIRST_RANGE + 1)
    pages = [page async for page in export_rows(pool, campaign)]
    assert [page[0][COLUMNS.index("phone")] for page in pages] == [
        f"+{5511900000001 + place}" for place in range(230)
    ]
    assert len([page async for page in export_rows(pool, other)]) == 1


async def test_the_code_of_who_failed_is_a_column_of_its_own(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    """Refused, failed after it was accepted, failed without a code, and refused once before it was accepted."""
    campaign_id = (await create_campaign(ready, spec)).campaign_id
    await pool.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, code, reason)"
        " SELECT range_id, seq, attempt_no, 1, kind, status, '1001', code, reason FROM ranges, (VALUES"
        " (1, 1, 2, NULL, 131047, 'an earlier one'), (1, 2, 2, NULL, 131026, '131026'), (2, 1, 1, 3, 131049, 'not now'),"
        " (3, 1, 2, NULL, NULL, 'http_405'), (4, 1, 2, NULL, 131000, '131000'), (4, 2, 1, 1, NULL, NULL)"
        ") AS planted (seq, attempt_no, kind, status, code, reason)"
    )
    rows = [row async for page in export_rows(pool, campaign_id) for row in page]
    columns = [COLUMNS.index(name) for name in ("state", "code", "reason", "detail")]
    assert [[row[column] for column in columns] for row in rows] == [
        ["failed", "131026", meaning_of("131026"), ""],
        ["failed", "131049", meaning_of("131049"), "not now"],
        ["failed", "", "HTTP 405 without an error code", ""],
        ["accepted", "", "", ""],
    ]


@pytest.mark.parametrize(
    ("code", "reason", "shown"),
    [
        (131026, "131026", (meaning_of("131026"), None)),
        (131026, "Message undeliverable", (meaning_of("131026"), "Message undeliverable")),
        (999999, "new today", (meaning_of("999999"), "new today")),
        (None, "http_405", (meaning_of("http_405"), None)),
        (None, "no network was found", ("no network was found", None)),
        (None, None, (None, None)),
    ],
)
def test_a_failure_has_one_text_for_each_code(
    code: int | None, reason: str | None, shown: tuple[str | None, str | None]
) -> None:
    assert failure_texts(code, reason) == shown


def test_columns_keep_the_names_of_the_audience_unless_they_are_taken() -> None:
    assert variable_columns(["name", "=Hi", "state", "name", "order"], 6) == [
        "name", "variable_2", "variable_3", "variable_4", "order", "variable_6",
    ]  # fmt: skip


async def test_an_export_holds_whom_all_filters_admit(ready: str, pool: Pool, spec: CampaignSpec) -> None:
    """A German and three Brazilian phones; the first two failed, each through its own number."""
    audience = spec.audience
    assert isinstance(audience, Path)
    audience.write_text(f"phone,name\n4930901820,A\n{PHONE},B\n{PHONE + 1},C\n{PHONE + 2},D\n")
    campaign_id = (await create_campaign(ready, spec)).campaign_id
    await pool.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, code, reason)"
        " SELECT range_id, seq, 1, 1, kind, status, number, code, code::text FROM ranges, (VALUES"
        " (1, 2, NULL, '1001', 131026), (2, 2, NULL, '1002', 131049), (3, 1, 4, '1002', NULL))"
        " AS planted (seq, kind, status, number, code)"
    )
    await recount(pool)

    async def names(**filters: Any) -> str:
        pages = export_rows(pool, campaign_id, ExportFilter(**filters))
        return "".join([row[len(COLUMNS)] async for page in pages for row in page])

    assert await names() == "ABCD"
    assert await names(codes={131026, 131049}) == "AB"
    assert await names(states={RecipientState.DELIVERED, RecipientState.PENDING}) == "CD"
    assert await names(numbers={"1002"}) == "BC"
    assert await names(countries={"DE"}) == "A"
    assert await names(countries={"BR"}, states={RecipientState.FAILED}) == "B"


async def test_recipients_in_doubt_and_deferred_are_exported_with_their_number(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    """A question to the service about a recipient in doubt needs the number."""
    campaign_id = (await create_campaign(ready, spec)).campaign_id
    await pool.execute(
        "INSERT INTO pending_attempts (range_id, seq, attempt_no, state, epoch, phone_number_id, reason)"
        " SELECT range_id, seq, 2, ('{unknown,unknown,deferred,claimed}'::text[])[seq], 1, '100' || seq, 'why'"
        " FROM recipients"
    )
    await pool.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id)"
        " SELECT range_id, seq, 1, 1, 1, CASE seq WHEN 2 THEN 3 ELSE 4 END, '1009' FROM recipients"
        " WHERE seq IN (2, 4)"
    )
    rows = [row async for page in export_rows(pool, campaign_id) for row in page]
    state, number = (COLUMNS.index(name) for name in ("state", "phone_number_id"))
    found = [(row[state], row[number]) for row in rows]
    assert found == [("unknown", "1001"), ("unknown", "1002"), ("deferred", "1003"), ("delivered", "1009")]


async def test_pruned_recipients_are_reported(ready: str, pool: Pool, spec: CampaignSpec) -> None:
    created = await create_campaign(ready, spec)
    await require_kept(pool, created.campaign_id, spec.name)
    assert (await read_report(pool, spec.name)).as_json()["pruned"] is False
    for table in ("recipients", "ranges"):
        await pool.execute(f"DELETE FROM {table}")

    with pytest.raises(
        ConfigurationError, match=r"were dropped by `db prune`.*drumbeat campaign report spring"
    ):
        await require_kept(pool, created.campaign_id, spec.name)
    report = await read_report(pool, spec.name)
    assert report.as_json()["pruned"] is True
    assert "  pruned: the recipients and their reasons were dropped; the counts stay" in list(
        report_lines(report)
    )


async def test_what_is_half_planned_has_no_report_yet(ready: str, pool: Pool, spec: CampaignSpec) -> None:
    await create_and_be_killed(ready, spec)
    with pytest.raises(TryLater, match="is not fully planned"):
        await read_report(pool, spec.name)
