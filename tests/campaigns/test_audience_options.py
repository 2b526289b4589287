"""What the options do to rows of any form: names, defaults, exclusions, and the results of campaigns."""

import datetime
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest
import xlsxwriter

from drumbeat.campaigns.audience.open.opening import open_table
from drumbeat.campaigns.options.sources import AS_IT_IS, ReadOptions
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.engine.errors import ConfigurationError, UsageError
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import PHONE, WriteAudience
from tests.campaigns.creating import assert_range_counters_equal_a_recount, everything, recipients, recount

OLD = Path(__file__).parent / "fixtures" / "old.xls"


async def recipients_of(pool: Pool, campaign_id: int) -> list[asyncpg.Record]:
    return await pool.fetch(
        "SELECT phone, variables FROM recipients JOIN ranges USING (range_id) WHERE campaign_id = $1",
        campaign_id,
    )


def rows_of(path: Path, options: ReadOptions = AS_IT_IS) -> list[tuple[int, list[str]]]:
    with open_table(path, options) as source:
        batches = list(source.table().batches())
    return [found for batch in batches for found in zip(batch.lines, batch.rows, strict=True)]


def test_cells_of_a_workbook_are_read_as_people_see_them(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as workbook:
        sheet = workbook.add_worksheet("Kunden")
        day = workbook.add_format({"num_format": "dd.mm.yyyy"})
        moment = workbook.add_format({"num_format": "dd.mm.yyyy hh:mm"})
        sheet.write_row(2, 1, ["phone", "price", "day", "moment", "vip"])
        sheet.write_row(4, 1, [14155000000.0, 12.5])
        sheet.write_datetime(4, 3, datetime.datetime(2026, 3, 5), day)
        sheet.write_datetime(4, 4, datetime.datetime(2026, 3, 5, 14, 30), moment)
        sheet.write_boolean(4, 5, True)
        workbook.add_worksheet("empty")
    rows = rows_of(tmp_path / "a.xlsx")
    assert rows == [(4, [""] * 5), (5, ["14155000000", "12.5", "05.03.2026", "05.03.2026 14:30", "TRUE"])]


def test_an_old_workbook_is_read() -> None:
    assert rows_of(OLD) == [(2, ["491701234567", "Ada", "05.03.2026"])]


def test_a_sheet_is_chosen_by_its_name(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as workbook:
        for name in ("Mai", "Juni"):
            workbook.add_worksheet(name).write_column(0, 0, ["phone", name])
    assert rows_of(tmp_path / "a.xlsx", ReadOptions(sheet="Juni")) == [(2, ["Juni"])]
    with pytest.raises(ConfigurationError, match=r'no sheet "Juli".*"Mai", "Juni"'):
        rows_of(tmp_path / "a.xlsx", ReadOptions(sheet="Juli"))


def test_values_of_json_lines_become_texts(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '\n{"phone": 491701234567.0, "name": null, "vip": true}\n\n{"name": "Ben", "phone": 1.5}\n'
    )
    assert rows_of(path) == [
        (2, ["491701234567", "", "true"]),
        (3, ["", "", ""]),
        (4, ["1.5", "Ben", ""]),
    ]


async def test_columns_have_other_names_and_empty_cells_a_default(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience
) -> None:
    path = write_audience(f"Telefon,Vorname,order\n{PHONE},,A\n{PHONE + 1},Ada,B\n")
    mapped = replace(spec, audience=path, map=["phone=Telefon", "name=Vorname"], default=["name=friend"])
    await create_campaign(ready, mapped)
    assert [row["variables"] for row in await recipients(pool)] == [["friend", "A"], ["Ada", "B"]]
    assert (await create_campaign(ready, mapped)).unchanged
    with pytest.raises(ConfigurationError, match="default was name=friend and is name=you"):
        await create_campaign(ready, replace(mapped, default=["name=you"]))


async def test_a_default_that_cannot_be_sent_is_refused(ready: str, spec: CampaignSpec) -> None:
    with pytest.raises(UsageError, match="default name"):
        await create_campaign(ready, replace(spec, default=["name=a\nb"]))
    with pytest.raises(UsageError, match="phones"):
        await create_campaign(ready, replace(spec, default=["phone=1"]))
    with pytest.raises(ConfigurationError, match='no column "Vorname"'):
        await create_campaign(ready, replace(spec, map=["name=Vorname"]))


async def test_the_people_of_files_and_campaigns_are_left_out_and_listed(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience, tmp_path: Path
) -> None:
    few = write_audience(f"phone,name,order\n{PHONE},A,1\n{PHONE + 1},B,2\n", "few.csv")
    await create_campaign(ready, replace(spec, name="few", audience=few))
    out = write_audience(f"phone\n{PHONE + 2}\n+{PHONE + 3}\n", "out.csv")
    doubled = spec.audience.read_text() + f"{PHONE},Again,1\n{PHONE + 9},Again,1\n"
    spec = replace(spec, audience=write_audience(doubled), exclude=("few", str(out)))

    created = await create_campaign(ready, spec)

    counts = created.counts
    assert (counts.audience_rows, counts.recipients, counts.rejected, counts.duplicates) == (12, 6, 5, 1)
    assert created.audience.reject_codes == {"excluded": 5, "duplicate": 1}
    stored = {row["phone"] for row in await recipients_of(pool, created.campaign_id)}
    assert stored == {PHONE + row for row in range(4, 10)}
    await assert_range_counters_equal_a_recount(pool)
    assert (await create_campaign(ready, spec)).unchanged
    out.write_text(out.read_text() + f"{PHONE + 4}\n")
    with pytest.raises(ConfigurationError, match="exclude"):
        await create_campaign(ready, spec)


@pytest.mark.parametrize(
    ("exclude", "says"),
    [
        ("none", 'no campaign "none"'),
        ("bad.csv", "line 3.*would get the message"),
        ("all.csv", "names all"),
        ("other.csv", "rename it"),
        ("title.csv", "line 2 names it"),
    ],
)
async def test_an_exclusion_that_cannot_hold_creates_nothing(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience, exclude: str, says: str
) -> None:
    write_audience(f"phone\n{PHONE}\nunreadable\n", "bad.csv")
    write_audience("phone\n" + "\n".join(str(PHONE + row) for row in range(10)), "all.csv")
    write_audience(f"mobile\n+{PHONE}\n", "other.csv")
    write_audience(f"Stop,May\nphone,why\n+{PHONE},x\n", "title.csv")
    with pytest.raises(ConfigurationError, match=says):
        await create_campaign(ready, replace(spec, exclude=(exclude,)))
    assert set((await everything(pool)).values()) == {0}


async def test_the_failed_recipients_of_a_campaign_are_an_audience_with_its_columns(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience
) -> None:
    path = write_audience(f"mobile,name,order\n{PHONE},=1+1,A\n{PHONE + 1},Ben,B\n{PHONE + 2},C,C\n")
    first = replace(spec, audience=path, phone_column="mobile", param=["name", "=fixed"])
    await create_campaign(ready, first)
    await pool.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, phone_number_id, code, reason)"
        " SELECT range_id, seq, 1, 1, 2, '1001', CASE seq WHEN 1 THEN 131049 ELSE 131026 END, 'x'"
        " FROM recipients WHERE seq <= 2"
    )
    await recount(pool)
    again = replace(
        first,
        name="again",
        audience=None,
        audience_campaign="spring",
        code=131049,
        param=["name", "variable_2"],
    )
    created = await create_campaign(ready, again)
    rows = await recipients_of(pool, created.campaign_id)
    assert [tuple(row) for row in rows] == [(PHONE, ["=1+1", "fixed"])]
    assert (await create_campaign(ready, again)).unchanged


async def test_a_query_again_changes_nothing_until_its_rows_change(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    await pool.execute("CREATE TABLE people (phone text, name text)")
    await pool.execute("INSERT INTO people VALUES ($1, 'Ada')", str(PHONE))
    spec = replace(
        spec,
        audience=None,
        audience_sql="SELECT * FROM people",
        audience_database=ready,
        param=["name", "=x"],
    )
    assert not (await create_campaign(ready, spec)).unchanged
    assert (await create_campaign(ready, spec)).unchanged
    await pool.execute("UPDATE people SET name = 'Eve'")
    with pytest.raises(ConfigurationError, match="content has changed") as refused:
        await create_campaign(ready, spec)
    assert "noted" not in str(refused.value)
