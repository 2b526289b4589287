"""From a file to frozen recipients: every row is accounted for, and each person gets one message."""

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime, time

import pytest

from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.counts import PlanCounts
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.progress import PlanProgress
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.phone_aliases import canonical_phone
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import PHONE, WriteAudience
from tests.campaigns.creating import assert_range_counters_equal_a_recount, recipients
from tests.kit.rows import add_template, suppress


async def test_rows_become_recipients_in_file_order(ready: str, pool: Pool, spec: CampaignSpec) -> None:
    created = await create_campaign(ready, spec)

    assert (created.name, created.state, created.unchanged) == ("spring", "draft", False)
    assert created.counts == PlanCounts(
        audience_rows=10, recipients=10, rejected=0, duplicates=0, suppressed=0
    )
    assert created.audience.rejects_path is None
    rows = await recipients(pool)
    assert [row["phone"] for row in rows] == [PHONE + row for row in range(10)]
    assert [row["variables"] for row in rows[:2]] == [["Name 0", "A0"], ["Name 1", "A1"]]
    assert [row["line"] for row in rows] == list(range(2, 12))
    assert [row["seq"] for row in rows] == [*range(1, 7), *range(1, 5)], "in two ranges, for two numbers"
    campaign = await pool.fetchrow("SELECT * FROM campaigns")
    assert campaign is not None
    assert campaign["planned_at"] is not None
    assert campaign["reason"] == ""
    assert campaign["phone_number_ids"] == ["1001", "1002"]
    assert campaign["template"]["definition"]["components"][0]["type"] == "BODY"
    assert (campaign["audience_rows"], campaign["recipients"]) == (10, 10)


async def test_every_row_is_accounted_for(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience, small_ranges: None
) -> None:
    silent = [PHONE + 5, PHONE + 105, 1]
    await suppress(pool, *silent)
    lines = ["phone;name;order"]
    for row in range(400):
        lines.append(f"{PHONE + row};Zoë\\{row};A\\t{row}")
        if row % 7 == 0:
            lines.append(f"+55 (11) {str(PHONE + row // 2)[4:]};again;B")
        if row % 11 == 0:
            lines += [f"{PHONE + row};;", "12;x;y", '"broken;x;y']
        if row % 13 == 0:
            lines.append(f'"{PHONE + row}0000";"quoted\nname";z')
    path = write_audience("\r\n".join(lines), encoding="cp1252")

    created = await create_campaign(ready, replace(spec, audience=path, encoding="cp1252"))

    counts = created.counts
    assert counts.audience_rows == counts.recipients + counts.rejected + counts.duplicates
    assert (counts.recipients, counts.duplicates, counts.suppressed) == (400, 58, 2)
    stored = await pool.fetchrow("SELECT audience_rows, recipients, rejected, duplicates FROM campaigns")
    assert tuple(stored) == (counts.audience_rows, 400, counts.rejected, 58)
    rows = await recipients(pool)
    assert sorted(row["phone"] for row in rows) == [PHONE + row for row in range(400)]
    assert [row["phone"] for row in rows if row["skip_reason"] == "suppressed"] == silent[:2]
    assert [row["line"] for row in rows] == sorted(row["line"] for row in rows)
    assert rows[3]["variables"] == ["Zoë\\3", "A\\t3"]
    ranges = await pool.fetch("SELECT ordinal, last_seq, state, phone_number_id FROM ranges ORDER BY ordinal")
    assert [row["ordinal"] for row in ranges] == list(range(len(ranges)))
    assert sum(row["last_seq"] for row in ranges) == 400
    assert max(row["last_seq"] for row in ranges) == 10
    await assert_range_counters_equal_a_recount(pool)
    assert await pool.fetchval("SELECT sum(skipped) FROM range_counters") == 2


async def test_duplicates_before_a_long_end_of_rejected_rows_are_left_out(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience
) -> None:
    """The end is pieces of the file by itself, without a line that counts."""
    people = [f"{PHONE + row % 3},Ana,A" for row in range(5)]
    path = write_audience("\n".join(["phone,name,order", *people, *["12,Bo,B"] * 10_000]))
    created = await create_campaign(ready, replace(spec, audience=path))
    assert (created.counts.recipients, created.counts.duplicates) == (3, 2)
    assert [row["phone"] for row in await recipients(pool)] == [PHONE, PHONE + 1, PHONE + 2]


async def test_when_and_how_to_send_is_stored_as_it_was_asked_for(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    asked = replace(
        spec, start_at="2090-01-01T09:00Z", expires_at="2090-01-02T09:00Z", window="09:00-20:00",
        on_unknown="resend", max_failed="2.5%",
    )  # fmt: skip
    await create_campaign(ready, asked)
    row = await pool.fetchrow(
        "SELECT start_at, expires_at, window_opens, window_closes, on_unknown, max_failed FROM campaigns"
    )
    assert tuple(row) == (
        datetime(2090, 1, 1, 9, tzinfo=UTC),
        datetime(2090, 1, 2, 9, tzinfo=UTC),
        time(9),
        time(20),
        "resend",
        "2.5%",
    )


async def test_everybody_suppressed_is_skipped(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience, small_ranges: None
) -> None:
    phones = [PHONE + row for row in range(300)]
    await suppress(pool, *phones)
    path = write_audience("phone,name,order\n" + "\n".join(f"{phone},Name,A" for phone in phones))

    created = await create_campaign(ready, replace(spec, audience=path))

    assert created.counts.suppressed == 300
    assert {row["skip_reason"] for row in await recipients(pool)} == {"suppressed"}
    await assert_range_counters_equal_a_recount(pool)


async def test_variables_arrive_as_they_were_written(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience
) -> None:
    values = [
        '"',
        "\\",
        '\\"',
        'say "hi"',
        "end\\",
        "\\N",
        "\\.",
        "NULL",
        "{a,b}",
        "a,b",
        "{}",
        "\U0001f600 é",
    ]
    file = io.StringIO()
    csv.writer(file).writerows(
        [("phone", "name", "order"), *((PHONE + at, value, f"A{at}") for at, value in enumerate(values))]
    )
    path = write_audience(file.getvalue())

    await create_campaign(ready, replace(spec, audience=path, param=["name", '="\\{']))

    assert [row["variables"] for row in await recipients(pool)] == [[value, '"\\{'] for value in values]


async def test_numbers_share_a_small_campaign(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience
) -> None:
    rows = [f"{PHONE + row},Name {row},A{row}" for row in range(400)]
    path = write_audience("phone,name,order\n" + "\n".join([*rows, rows[7]]) + "\n")
    # 1002 has no limit of its own: it has the service's, 80/s.
    await pool.execute(
        "UPDATE numbers SET service_limit_per_s = 80, manual_limit_per_s = 240 WHERE phone_number_id = '1001'"
    )

    await create_campaign(ready, replace(spec, audience=path))

    ranges = await pool.fetch("SELECT last_seq FROM ranges ORDER BY ordinal")
    assert [row["last_seq"] for row in ranges] == [11] * 36 + [4], "thirty a second of 320/s"
    assert [row["line"] for row in await recipients(pool)] == list(range(2, 402))


async def test_rejects_and_duplicates_are_listed_with_their_lines(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience
) -> None:
    rows = [
        f"{PHONE},Ana,1",
        f"={PHONE}+1,Bob,2",
        f"+{PHONE},Ana again,3",
        f"{PHONE + 1},,4",
        f"{PHONE + 2},Eve,5",
        f"{PHONE},Ana once more,6",
    ]
    path = write_audience("phone,name,order\n" + "\n".join(rows))

    created = await create_campaign(ready, replace(spec, audience=path))

    assert created.counts == PlanCounts(audience_rows=6, recipients=2, rejected=2, duplicates=2, suppressed=0)
    assert created.audience.reject_codes == {"phone_malformed": 1, "variable_empty": 1, "duplicate": 2}
    assert created.audience.rejects_path is not None
    listed = list(csv.reader(created.audience.rejects_path.open(encoding="utf-8-sig", newline="")))
    assert [(row[0], row[1], row[2], row[4]) for row in listed[1:]] == [
        ("3", "phone_malformed", "phone", f"'={PHONE}+1"),
        ("5", "variable_empty", "name", ""),
        ("4", "duplicate", "phone", f"+{PHONE}"),
        ("7", "duplicate", "phone", f"+{PHONE}"),
    ]
    assert [row["line"] for row in await recipients(pool)] == [2, 6]


async def test_a_template_without_placeholders_needs_no_params(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    await add_template(pool, "plain", {"components": [{"type": "BODY", "text": "Hello"}]})
    with pytest.raises(UsageError, match="0 placeholders, but param is given once: remove param"):
        await create_campaign(ready, replace(spec, template="plain", param=["name"]))
    await create_campaign(ready, replace(spec, template="plain", param=[]))

    assert (await recipients(pool))[0]["variables"] == []


SPELLED = """phone,name,order
541123456789,Ana,1
+54 9 11 2345 6789,Ana,2
5511978654321,Bob,3
551178654321,Bob,4
"""


async def test_a_person_whose_number_has_two_spellings_gets_one_message(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience
) -> None:
    created = await create_campaign(ready, replace(spec, audience=write_audience(SPELLED)))

    assert created.counts == PlanCounts(audience_rows=4, recipients=2, rejected=0, duplicates=2, suppressed=0)
    assert [(row["phone"], row["line"]) for row in await recipients(pool)] == [
        (541123456789, 2),
        (5511978654321, 4),
    ]


@pytest.mark.parametrize("listed", [(541123456789, 551178654321), (5491123456789, 5511978654321)])
async def test_a_suppressed_recipient_is_skipped_in_either_spelling(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience, listed: tuple[int, int]
) -> None:
    await suppress(pool, *listed)

    created = await create_campaign(ready, replace(spec, audience=write_audience(SPELLED)))

    assert created.counts.suppressed == 2


async def test_the_plan_knows_people_as_the_core_does(pool: Pool) -> None:
    """The same arithmetic stands in SQL, for a list that may be long."""
    phones = [*range(540_000_000_000 - 1, 560_000_000_000, 77_777_777), 560_000_000_000, 5491123456789]
    await suppress(pool, *phones)
    async with pool.acquire() as connection:
        await connection.execute(statements("plan")["create_staging"])
        rows = list(enumerate(map(canonical_phone, phones)))
        await connection.copy_records_to_table("staging", records=[*rows, (-1, 4915112345678)])
        await connection.execute(statements("plan")["find_suppressed"])
        found = await connection.fetch("SELECT line FROM suppressed ORDER BY line")
    assert [row["line"] for row in found] == list(range(len(phones)))


async def test_the_encoding_is_reported(
    ready: str, spec: CampaignSpec, write_audience: WriteAudience
) -> None:
    path = write_audience(f"phone,name,order,city\n{PHONE},Ana,1,São Paulo\n", encoding="cp1252")
    guessed = replace(spec, audience=path)

    created = await create_campaign(ready, guessed)
    assert created.audience.encoding is not None
    assert (created.audience.encoding.label, created.audience.encoding.is_guess) == ("Windows-1252", True)
    assert (await create_campaign(ready, guessed)).audience.encoding is None, "it was not read again"


async def test_progress_goes_through_the_stages(ready: str, spec: CampaignSpec) -> None:
    seen: list[PlanProgress] = []
    await create_campaign(ready, spec, seen.append)

    assert list(dict.fromkeys(progress.stage for progress in seen)) == ["reading", "checking", "freezing"]
    assert all(progress.done <= progress.total for progress in seen)
    assert seen[-1] == PlanProgress("freezing", 10, 10, 10)
