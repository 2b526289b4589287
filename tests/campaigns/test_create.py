"""From a file to frozen recipients: nobody lost, nothing half-done, the same again unchanged."""

import asyncio
import csv
import io
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from campaigns import create, plan, room
from campaigns import freeze as freezing
from campaigns.audience import encoding, reader
from campaigns.campaign import CampaignSpec
from campaigns.create import create_campaign
from campaigns.plan import PlanCounts, PlanProgress
from engine.core.message import Media
from engine.core.spelling import person
from engine.errors import ConfigurationError, DrumbeatError, TryLater, UsageError
from engine.room import Disk
from engine.store.database import Pool
from engine.store.queries import queries
from tests.campaigns.conftest import DEFINITION, WriteAudience

PHONE = 5511960000000


@pytest.fixture
def spec(write_audience: WriteAudience) -> CampaignSpec:
    rows = [f"{PHONE + row},Name {row},A{row}" for row in range(10)]
    path = write_audience("phone,name,order\n" + "\n".join(rows) + "\n")
    return CampaignSpec("spring", "order", "en", path, ("1001", "1002"), params=("name", "order"))


@pytest.fixture
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same arithmetic with hundreds of rows."""
    monkeypatch.setattr(plan, "RANGE_SIZE", 10)
    monkeypatch.setattr(plan, "CHUNK_ROWS", 50)
    monkeypatch.setattr(encoding, "CHUNK_BYTES", 700)
    monkeypatch.setattr(reader, "HEAD_CHARACTERS", 100)


async def everything(pool: Pool) -> dict[str, int]:
    tables = ("campaigns", "ranges", "recipients", "tallies")
    return {table: await pool.fetchval(f"SELECT count(*) FROM {table}") for table in tables}


async def recipients(pool: Pool) -> list[asyncpg.Record]:
    return await pool.fetch(
        "SELECT phone, variables, line, skip_reason, seq FROM recipients JOIN ranges USING (range_id)"
        " ORDER BY ordinal, seq"
    )


async def assert_tallies_equal_a_recount(pool: Pool) -> None:
    wrong = await pool.fetch(
        "SELECT range_id, tallies.recipients, tallies.skipped, counted.* FROM tallies JOIN ("
        "  SELECT range_id, count(*) AS all, count(*) FILTER (WHERE state = 'skipped') AS skip"
        "  FROM recipient_states GROUP BY range_id) AS counted USING (range_id)"
        " WHERE tallies.recipients <> counted.all OR tallies.skipped <> counted.skip"
    )
    assert wrong == []


async def test_rows_become_recipients_in_file_order(ready: str, pool: Pool, spec: CampaignSpec) -> None:
    created = await create_campaign(ready, spec)

    assert (created.name, created.state, created.unchanged) == ("spring", "draft", False)
    assert created.counts == PlanCounts(10, 10, 0, 0, 0)
    assert created.rejects_path is None
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
    await pool.executemany("INSERT INTO suppressions VALUES ($1, 'asked')", [(phone,) for phone in silent])
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

    created = await create_campaign(ready, replace(spec, audience=path))

    counts = created.counts
    assert counts.audience_rows == counts.recipients + counts.rejected + counts.duplicates
    assert (counts.recipients, counts.duplicates, counts.suppressed) == (400, 58, 2)
    rows = await recipients(pool)
    assert sorted(row["phone"] for row in rows) == [PHONE + row for row in range(400)]
    assert [row["phone"] for row in rows if row["skip_reason"] == "suppressed"] == silent[:2]
    assert [row["line"] for row in rows] == sorted(row["line"] for row in rows)
    assert rows[3]["variables"] == ["Zoë\\3", "A\\t3"]
    ranges = await pool.fetch("SELECT ordinal, hi, state, phone_number_id FROM ranges ORDER BY ordinal")
    assert [row["ordinal"] for row in ranges] == list(range(len(ranges)))
    assert sum(row["hi"] for row in ranges) == 400
    assert max(row["hi"] for row in ranges) == 10
    await assert_tallies_equal_a_recount(pool)
    assert await pool.fetchval("SELECT sum(skipped) FROM tallies") == 2


async def test_the_list_of_rejects_never_takes_the_place_of_the_audience(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    before = spec.audience.read_bytes()
    with pytest.raises(UsageError, match="--rejects"):
        await create_campaign(ready, replace(spec, rejects=spec.audience))
    assert spec.audience.read_bytes() == before
    assert (await everything(pool))["campaigns"] == 0


IMAGE = Media(link="https://files.example/a.jpg")


@pytest.fixture
async def pictured(ready: str, pool: Pool) -> str:
    """As `ready`; the template `poster` has an image in its header, and `order` has not."""
    components = [{"type": "HEADER", "format": "IMAGE"}, *DEFINITION["components"]]  # type: ignore[misc]
    await pool.execute(
        "INSERT INTO templates (name, language, status, definition) VALUES ('poster', 'en', 'APPROVED', $1)",
        {**DEFINITION, "components": components},
    )
    return ready


@pytest.mark.parametrize(
    ("template", "media", "words"),
    [
        ("poster", None, "poster .en. needs one image.*--header-link or --header-media-id"),
        ("order", IMAGE, "order .en. has no media.*leave out --header-link"),
        ("poster", replace(IMAGE, filename="a.pdf"), "--header-filename"),
        ("poster", Media(link="not-a-url"), "--header-link 'not-a-url' is no HTTPS URL.*https://"),
        ("poster", Media(link="http://files.example/a.jpg"), "--header-link"),
        ("poster", Media(link="ftp://files.example/a"), "--header-link"),
    ],
)
async def test_the_media_of_a_header_are_those_of_the_template(
    pictured: str, pool: Pool, spec: CampaignSpec, template: str, media: Media | None, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        await create_campaign(pictured, replace(spec, template=template, header_media=media))
    assert (await everything(pool))["campaigns"] == 0


async def test_another_medium_is_another_campaign_and_told_in_words(
    pictured: str, spec: CampaignSpec
) -> None:
    first = replace(spec, template="poster", header_media=Media("77"))
    await create_campaign(pictured, first)
    words = "header media was 77 and is https://files.example/a.jpg"
    with pytest.raises(ConfigurationError, match=words):
        await create_campaign(pictured, replace(first, header_media=IMAGE))


async def test_everybody_suppressed_is_skipped(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience, small_ranges: None
) -> None:
    phones = [PHONE + row for row in range(300)]
    await pool.executemany("INSERT INTO suppressions VALUES ($1, 'asked')", [(phone,) for phone in phones])
    path = write_audience("phone,name,order\n" + "\n".join(f"{phone},Name,A" for phone in phones))

    created = await create_campaign(ready, replace(spec, audience=path))

    assert created.counts.suppressed == 300
    assert {row["skip_reason"] for row in await recipients(pool)} == {"suppressed"}
    await assert_tallies_equal_a_recount(pool)


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
        "x\x01",
        "\U0001f600 é",
    ]
    file = io.StringIO()
    csv.writer(file).writerows(
        [("phone", "name", "order"), *((PHONE + at, value, f"A{at}") for at, value in enumerate(values))]
    )
    path = write_audience(file.getvalue())

    await create_campaign(ready, replace(spec, audience=path, params=("name", '="\\{')))

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

    ranges = await pool.fetch("SELECT hi FROM ranges ORDER BY ordinal")
    assert [row["hi"] for row in ranges] == [11] * 36 + [4], "thirty a second of 320/s"
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
    ]
    path = write_audience("phone,name,order\n" + "\n".join(rows))

    created = await create_campaign(ready, replace(spec, audience=path))

    assert created.counts == PlanCounts(5, 2, 2, 1, 0)
    assert created.reject_codes == {"phone_malformed": 1, "variable_empty": 1, "duplicate": 1}
    assert created.rejects_path is not None
    listed = list(csv.reader(created.rejects_path.open(encoding="utf-8-sig", newline="")))
    assert [(row[0], row[1], row[2], row[4]) for row in listed[1:]] == [
        ("3", "phone_malformed", "phone", f"'={PHONE}+1"),
        ("5", "variable_empty", "name", ""),
        ("4", "duplicate", "phone", str(PHONE)),
    ]
    assert [row["line"] for row in await recipients(pool)] == [2, 6]


async def test_the_same_again_changes_nothing(ready: str, pool: Pool, spec: CampaignSpec) -> None:
    first = await create_campaign(ready, spec)
    moved = spec.audience.rename(spec.audience.with_name("moved.csv"))
    before = await everything(pool)

    again = await create_campaign(
        ready, replace(spec, audience=moved, numbers=("1002", "1001"), rejects=Path("elsewhere.csv"))
    )

    assert again.unchanged
    assert again.campaign_id == first.campaign_id
    assert again.counts == replace(first.counts, suppressed=None)
    assert await everything(pool) == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"language": "pt_BR"}, "--language was en and is pt_BR"),
        ({"numbers": ("1001",)}, "--number was 1001, 1002 and is 1001"),
        ({"params": ("name", "=x")}, "--param was name, order and is name, =x"),
        ({"start_at": "2030-01-01T00:00Z"}, "--start-at was not given and is 2030-01-01T00:00:00"),
        ({"max_failed": "5%"}, "--max-failed was not given and is 5%"),
        ({"external_id": "42"}, "--external-id was not given and is 42"),
        ({"strict": True}, "--strict was False and is True"),
    ],
)
async def test_a_difference_is_refused_and_named(
    ready: str, spec: CampaignSpec, change: dict[str, Any], said: str
) -> None:
    await create_campaign(ready, spec)

    with pytest.raises(ConfigurationError, match=re.escape(said)):
        await create_campaign(ready, replace(spec, **change))


async def test_another_file_is_refused(ready: str, spec: CampaignSpec, write_audience: WriteAudience) -> None:
    await create_campaign(ready, spec)
    write_audience(spec.audience.read_text() + f"{PHONE + 50},New,1\n")

    with pytest.raises(ConfigurationError, match="the audience's content has changed"):
        await create_campaign(ready, spec)


async def test_an_external_id_is_the_key(ready: str, spec: CampaignSpec) -> None:
    keyed = replace(spec, external_id="crm-7")
    await create_campaign(ready, keyed)

    assert (await create_campaign(ready, keyed)).unchanged
    with pytest.raises(ConfigurationError, match="name was spring and is summer"):
        await create_campaign(ready, replace(keyed, name="summer"))
    with pytest.raises(ConfigurationError, match="--external-id was crm-7 and is crm-8"):
        await create_campaign(ready, replace(keyed, external_id="crm-8"))


async def test_the_same_moment_in_another_zone_is_the_same(ready: str, spec: CampaignSpec) -> None:
    await create_campaign(ready, replace(spec, start_at="2030-01-01T09:00-03:00"))

    assert (await create_campaign(ready, replace(spec, start_at="2030-01-01T12:00Z"))).unchanged


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"template": "ordre"}, ConfigurationError, 'no template "ordre"; there is order'),
        ({"language": "de"}, ConfigurationError, 'in "de", only in en, pt_BR'),
        ({"template": "promo"}, ConfigurationError, "promo .en. is PAUSED"),
        ({"params": ("name",)}, UsageError, r"2 placeholders.*body \{\{1\}\}, body \{\{2\}\}"),
        ({"params": ("name", "town")}, ConfigurationError, 'no column "town"'),
        ({"phone_column": "mobile"}, ConfigurationError, 'no column "mobile"'),
        ({"numbers": ("1001", "77")}, ConfigurationError, "number ID 77; it has 1001, 1002.*numbers sync"),
        ({"numbers": ()}, UsageError, "--number"),
        ({"region": "XX"}, ConfigurationError, "XX"),
        ({"window": "9-5"}, UsageError, "--window"),
        ({"time_zone": "Mars"}, UsageError, "Mars"),
        ({"on_unknown": "guess"}, UsageError, "hold, resend-silent, resend"),
        ({"max_failed": "lots"}, UsageError, "--max-failed"),
        ({"expires_at": "2020-01-01T00:00Z"}, UsageError, "passed"),
        ({"audience": Path("nobody.csv")}, ConfigurationError, r"nobody\.csv"),
        ({"name": " "}, UsageError, "name"),
    ],
)
async def test_what_does_not_fit_is_refused_and_nothing_is_created(
    ready: str, pool: Pool, spec: CampaignSpec, change: dict[str, Any], error: type[DrumbeatError], said: str
) -> None:
    with pytest.raises(error, match=said):
        await create_campaign(ready, replace(spec, **change))

    assert set((await everything(pool)).values()) == {0}


async def test_strict_refuses_the_whole_and_lists_why(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience, working_directory: Path
) -> None:
    path = write_audience(f"phone,name,order\n{PHONE},Ana,1\n12,Bob,2\n")

    with pytest.raises(ConfigurationError, match=r"1 rows are rejected.*audience\.rejects\.csv"):
        await create_campaign(ready, replace(spec, audience=path, strict=True))

    assert set((await everything(pool)).values()) == {0}
    assert "phone_too_short" in (working_directory / "audience.rejects.csv").read_text("utf-8-sig")


async def test_strict_accepts_duplicates(
    ready: str, spec: CampaignSpec, write_audience: WriteAudience
) -> None:
    path = write_audience(f"phone,name,order\n{PHONE},Ana,1\n{PHONE},Bob,2\n")

    assert (await create_campaign(ready, replace(spec, audience=path, strict=True))).counts.duplicates == 1


@pytest.mark.parametrize("content", ["phone,name,order\n", "phone,name,order\n12,a,b\n,,\n"])
async def test_nobody_to_send_to_is_refused(
    content: str, ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience
) -> None:
    with pytest.raises(ConfigurationError, match="nobody to send to"):
        await create_campaign(ready, replace(spec, audience=write_audience(content)))

    assert set((await everything(pool)).values()) == {0}


async def test_a_template_without_placeholders_needs_no_params(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    await pool.execute(
        "INSERT INTO templates (name, language, status, definition) VALUES ('plain', 'en', 'APPROVED', $1)",
        {"components": [{"type": "BODY", "text": "Hello"}]},
    )
    await create_campaign(ready, replace(spec, template="plain", params=()))

    assert (await recipients(pool))[0]["variables"] == []


class Killed(BaseException):
    """Stands for the end of the process: no handler of ours runs on it."""


async def test_a_create_killed_half_way_is_planned_anew(
    ready: str,
    pool: Pool,
    spec: CampaignSpec,
    write_audience: WriteAudience,
    small_ranges: None,
) -> None:
    rows = [f"{PHONE + row},Name,A{row}" for row in range(300)]
    spec = replace(spec, audience=write_audience("phone,name,order\n" + "\n".join(rows)))

    def kill(progress: PlanProgress) -> None:
        if progress.stage == "freezing" and progress.done >= 100:
            raise Killed

    with pytest.raises(Killed):
        await create_campaign(ready, spec, kill)
    left = await everything(pool)
    assert left["campaigns"] == 1
    assert 100 <= left["recipients"] < 300
    assert await pool.fetchval("SELECT planned_at FROM campaigns") is None

    created = await create_campaign(ready, spec)

    assert not created.unchanged
    now = await everything(pool)
    assert (now["campaigns"], now["recipients"]) == (1, 300)
    assert now["ranges"] == now["tallies"] == await pool.fetchval("SELECT max(ordinal) + 1 FROM ranges")
    await assert_tallies_equal_a_recount(pool)


async def test_a_disk_that_gets_too_full_ends_the_planning_and_room_lets_it_go_on(
    ready: str,
    pool: Pool,
    spec: CampaignSpec,
    write_audience: WriteAudience,
    small_ranges: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = write_audience("phone,name,order\n" + "".join(f"{PHONE + row},N{row},A\n" for row in range(400)))
    large, disk = replace(spec, audience=path), Disk(path.parent, least_free_mib=100)
    free, seen = [10**12], []

    def fill(progress: PlanProgress) -> None:
        seen.append(progress.stage)
        if progress.stage == full_at:
            free[0] = 0

    monkeypatch.setattr(room, "LOOK_PERIOD_NS", 0)
    monkeypatch.setattr("engine.room.free_bytes", lambda _: free[0])
    for full_at in ("reading", "checking", "freezing"):
        free[0] = 10**12
        seen.clear()
        with pytest.raises(TryLater, match="nothing is planned with less than 200 MiB") as refused:
            await create_campaign(ready, large, fill, disk=disk)
        assert "make room" in refused.value.remedy
        assert (seen.count(full_at), seen[-1]) == (1, full_at), "it went on with a full disk"
        assert await pool.fetchval("SELECT count(*) FROM campaigns WHERE planned_at IS NOT NULL") == 0
    free[0] = 10**12
    created = await create_campaign(ready, large, disk=disk)
    assert created.counts == PlanCounts(400, 400, 0, 0, 0)
    assert sorted(row["phone"] for row in await recipients(pool)) == [PHONE + row for row in range(400)]
    await assert_tallies_equal_a_recount(pool)


async def test_leftovers_of_another_file_under_that_name_go_as_well(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience
) -> None:
    def kill(progress: PlanProgress) -> None:
        if progress.stage == "freezing":
            raise Killed

    with pytest.raises(Killed):
        await create_campaign(ready, spec, kill)
    other = write_audience(f"phone,name,order\n{PHONE + 99},Ana,1\n", name="other.csv")

    await create_campaign(ready, replace(spec, audience=other))

    assert [row["phone"] for row in await recipients(pool)] == [PHONE + 99]


async def test_leftovers_wait_for_a_chunk_that_outlives_its_process(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    def kill(progress: PlanProgress) -> None:
        if progress.stage == "freezing":
            raise Killed

    with pytest.raises(Killed):
        await create_campaign(ready, spec, kill)
    before = await everything(pool)
    async with pool.acquire() as writer, writer.transaction():
        held = await writer.fetchval(queries("plan")["hold_unplanned"], await campaign_id(pool))
        assert held is not None
        with pytest.raises(TryLater, match="being created elsewhere"):
            await create_campaign(ready, spec)
        assert await everything(pool) == before

    await create_campaign(ready, spec)

    assert len(await recipients(pool)) == 10


async def test_a_chunk_of_a_removed_campaign_is_not_written(
    ready: str, pool: Pool, spec: CampaignSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = freezing.freeze

    async def freeze_after_removal(*arguments: Any) -> tuple[int, int]:
        await pool.execute("DELETE FROM campaigns")
        return await original(*arguments)

    monkeypatch.setattr(create, "freeze", freeze_after_removal)
    with pytest.raises(RuntimeError, match="was removed while it was planned"):
        await create_campaign(ready, spec)
    assert set((await everything(pool)).values()) == {0}


async def campaign_id(pool: Pool) -> int:
    found: int = await pool.fetchval("SELECT campaign_id FROM campaigns")
    return found


@pytest.fixture
async def creating(ready: str, spec: CampaignSpec) -> AsyncIterator[asyncio.Event]:
    """The campaign is being created by somebody else until the event is set."""
    reached, go_on = asyncio.Event(), asyncio.Event()
    original = create._limits_per_s

    async def wait(*arguments: Any) -> list[float]:
        limits_per_s = await original(*arguments)
        reached.set()
        await go_on.wait()
        return limits_per_s

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(create, "_limits_per_s", wait)
        running = asyncio.create_task(create_campaign(ready, spec))
        await reached.wait()
    yield go_on
    go_on.set()
    await running


async def test_two_creates_of_one_name_at_once(
    ready: str, pool: Pool, spec: CampaignSpec, creating: asyncio.Event
) -> None:
    with pytest.raises(TryLater, match="being created elsewhere"):
        await create_campaign(ready, spec)
    assert not (await create_campaign(ready, replace(spec, name="other"))).unchanged


async def test_a_file_that_changes_while_it_is_read_is_refused(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    def append(progress: PlanProgress) -> None:
        if progress.stage == "reading":
            with spec.audience.open("a") as file:
                file.write("more\n")

    with pytest.raises(ConfigurationError, match="changed while it was read"):
        await create_campaign(ready, spec, append)
    assert set((await everything(pool)).values()) == {0}


async def test_a_file_that_changes_before_it_is_read_is_refused(
    ready: str, pool: Pool, spec: CampaignSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a campaign would go by the content of another file than it sends to."""
    original = create.file_sha256

    def hash_then_write(file: BufferedReader) -> str:
        digest = original(file)
        spec.audience.write_text(spec.audience.read_text() + f"{PHONE + 99},Eve,A\n")
        return digest

    monkeypatch.setattr(create, "file_sha256", hash_then_write)
    with pytest.raises(ConfigurationError, match="changed while it was read"):
        await create_campaign(ready, spec)
    assert set((await everything(pool)).values()) == {0}


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

    assert created.counts == PlanCounts(4, 2, 0, 2, 0)
    assert [(row["phone"], row["line"]) for row in await recipients(pool)] == [
        (541123456789, 2),
        (5511978654321, 4),
    ]


@pytest.mark.parametrize("listed", [(541123456789, 551178654321), (5491123456789, 5511978654321)])
async def test_who_asked_for_silence_is_skipped_in_either_spelling(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience, listed: tuple[int, int]
) -> None:
    await pool.executemany("INSERT INTO suppressions VALUES ($1, 'asked')", [(phone,) for phone in listed])

    created = await create_campaign(ready, replace(spec, audience=write_audience(SPELLED)))

    assert created.counts.suppressed == 2


async def test_the_plan_knows_people_as_the_core_does(pool: Pool) -> None:
    """The same arithmetic stands in SQL, for a list that may be long."""
    phones = [*range(540_000_000_000 - 1, 560_000_000_000, 77_777_777), 560_000_000_000, 5491123456789]
    await pool.execute("INSERT INTO suppressions SELECT unnest($1::bigint[]), 'asked'", phones)
    async with pool.acquire() as connection:
        await connection.execute(queries("plan")["create_staging"])
        rows = list(enumerate(map(person, phones)))
        await connection.copy_records_to_table("staging", records=[*rows, (-1, 4915112345678)])
        await connection.execute(queries("plan")["list_silent"])
        found = await connection.fetch("SELECT line FROM silent ORDER BY line")
    assert [row["line"] for row in found] == list(range(len(phones)))


async def test_the_encoding_is_told(ready: str, spec: CampaignSpec, write_audience: WriteAudience) -> None:
    path = write_audience(f"phone,name,order\n{PHONE},João,1\n", encoding="cp1252")
    guessed = replace(spec, audience=path)

    created = await create_campaign(ready, guessed)
    assert created.encoding is not None
    assert (created.encoding.label, created.encoding.is_guess) == ("Windows-1252", True)
    assert (await create_campaign(ready, guessed)).encoding is None, "it was not read again"


async def test_progress_goes_through_the_stages(ready: str, spec: CampaignSpec) -> None:
    seen: list[PlanProgress] = []
    await create_campaign(ready, spec, seen.append)

    assert list(dict.fromkeys(progress.stage for progress in seen)) == ["reading", "checking", "freezing"]
    assert all(progress.done <= progress.total for progress in seen)
    assert seen[-1] == PlanProgress("freezing", 10, 10, 10)
