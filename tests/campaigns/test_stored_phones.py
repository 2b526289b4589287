"""A stored phone is a phone: no country of a file is applied to it again, and what is written reads back."""

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import openpyxl
import phonenumbers
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drumbeat.campaigns.audience.check.row_check import row_check
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.audience.open.opening import open_table
from drumbeat.campaigns.audience.suppression_list import import_suppressions
from drumbeat.campaigns.changing.derived import cloned, edit_campaign
from drumbeat.campaigns.changing.retry import RetryOptions, plan_retry
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.stored import stored_options
from drumbeat.campaigns.phones.normaliser import Normaliser
from drumbeat.campaigns.phones.phone_text import phone_text
from drumbeat.campaigns.phones.suppression import EXPORT_HEADER, Suppression, export_cells
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.results.export import COLUMNS, export_columns, export_values
from drumbeat.campaigns.results.export_files import ExportForm, Separator, writer_of
from drumbeat.engine.errors import ConfigurationError, UsageError
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import WriteAudience
from tests.campaigns.creating import recount

# Valid as they stand; read as German numbers, all but the last are landlines of strangers.
ABROAD = [4312786135, 41216970483, 393190172710, 441290916757, 4915726936860, 5511987654321]
LIST = "Telefon,name\n" + "".join(f"+{phone},Ana {phone}\n" for phone in ABROAD)


@pytest.fixture
async def spring(ready: str, write_audience: WriteAudience) -> dict[str, Any]:
    """A planned campaign of a German list, by the arguments of its options."""
    options: dict[str, Any] = {
        "name": "spring", "template": "order", "language": "en", "number": ["1001"],
        "audience": write_audience(LIST), "phone_column": "Telefon", "region": "DE", "repair_old": ["BR"],
        "param": ["nome", "=x"], "map": ["nome=name"], "default": ["nome=friend"],
    }  # fmt: skip
    await create_campaign(ready, CampaignSpec(**options))
    return options


async def people_of(pool: Pool, name: str) -> list[tuple[int, list[str]]]:
    rows = await pool.fetch(
        "SELECT phone, variables FROM recipients JOIN ranges USING (range_id)"
        " JOIN campaigns USING (campaign_id) WHERE name = $1 ORDER BY line",
        name,
    )
    return [(row["phone"], row["variables"]) for row in rows]


EVERYBODY = [(phone, [f"Ana {phone}", "x"]) for phone in ABROAD]


async def test_a_clone_for_the_same_people_is_for_the_same_people(
    ready: str, pool: Pool, spring: dict[str, Any]
) -> None:
    made = await create_campaign(
        ready, await cloned(pool, "spring", "again", {"audience_campaign": "spring"})
    )
    assert (made.counts.recipients, made.counts.rejected) == (len(ABROAD), 0)
    assert await people_of(pool, "again") == EVERYBODY
    given = (await stored_options(pool, "again")).values
    assert not {"region", "repair_old", "map", "default", "phone_column"} & given.keys()
    await create_campaign(ready, await cloned(pool, "again", "third", {}))
    assert await people_of(pool, "third") == EVERYBODY


async def test_who_opted_out_is_skipped_in_a_clone(ready: str, pool: Pool, spring: dict[str, Any]) -> None:
    await pool.execute(
        "INSERT INTO suppressions (phone, reason, source) VALUES ($1, 'asked', 'hand')", ABROAD[0]
    )
    await create_campaign(ready, await cloned(pool, "spring", "again", {"audience_campaign": "spring"}))
    skipped = await pool.fetch("SELECT phone FROM recipients WHERE skip_reason IS NOT NULL")
    assert [row["phone"] for row in skipped] == [ABROAD[0]]


@pytest.mark.parametrize("region", ["DE", "BR", None])
async def test_a_campaign_that_was_made_with_a_country_applies_it_to_nobody(
    ready: str, pool: Pool, spring: dict[str, Any], region: str | None
) -> None:
    """Earlier versions stored the country with clones; a program may still name it."""
    again = replace(
        CampaignSpec(**{**spring, "name": "again", "param": ["nome", "variable_2"]}),
        audience=None,
        audience_campaign="spring",
        region=region,
    )
    await create_campaign(ready, again)
    assert await people_of(pool, "again") == EVERYBODY


async def test_a_clone_of_a_clone_that_stored_a_country_can_still_be_edited(
    ready: str, pool: Pool, spring: dict[str, Any]
) -> None:
    given = {
        **{key: spring[key] for key in ("name", "template", "language", "number", "region")},
        "param": ["=a", "=b"],
    }
    given |= {"name": "old", "audience_campaign": "spring"}
    await create_campaign(ready, CampaignSpec(**given))
    await pool.execute("UPDATE campaigns SET state = 'running' WHERE name = 'old'")
    stored = await stored_options(pool, "old")
    assert stored.values["region"] == "DE"
    changed = await edit_campaign(ready, stored, {"window": "09:00-20:00"}, change_by="ana")
    assert [change.effect.value for change in changed.changes] == ["applied"]


async def test_a_retry_is_for_the_same_people(ready: str, pool: Pool, spring: dict[str, Any]) -> None:
    await pool.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, phone_number_id, code, attempted_at)"
        " SELECT range_id, seq, 1, 1, 2, '1001', 131026, now() - interval '1 day' FROM recipients"
    )
    await recount(pool)
    await plan_retry(ready, "spring", RetryOptions())
    assert await people_of(pool, "spring/retry-1") == EVERYBODY


async def test_an_uploaded_list_that_is_edited_keeps_its_people(
    ready: str, pool: Pool, spring: dict[str, Any]
) -> None:
    """Of an upload only the name is stored, so the stored people are planned anew."""
    await pool.execute("UPDATE campaigns SET options = jsonb_set(options, '{audience}', '\"people.csv\"')")
    stored = await stored_options(pool, "spring")
    await edit_campaign(ready, stored, {"param": ["=Hi", "nome"]}, change_by="ana")
    assert await people_of(pool, "spring") == [(phone, ["Hi", f"Ana {phone}"]) for phone in ABROAD]
    with pytest.raises(UsageError, match="region says how a file is read"):
        await edit_campaign(ready, stored, {"region": "AT", "param": ["=a", "=b"]}, change_by="ana")


async def test_the_country_is_for_what_is_excluded(
    ready: str, pool: Pool, spring: dict[str, Any], write_audience: WriteAudience
) -> None:
    """The list of the excluded is a file, with national numbers."""
    stop = write_audience("phone\n01572 6936860\n", "stop.csv")
    changes = {"audience_campaign": "spring", "exclude": [str(stop)]}
    await create_campaign(ready, await cloned(pool, "spring", "again", changes))
    assert await people_of(pool, "again") == [each for each in EVERYBODY if each[0] != 4915726936860]


@pytest.mark.parametrize(
    "changes",
    [
        {"region": "DE"},
        {"repair_old": ["BR"]},
        {"map": ["a=b"]},
        {"default": ["name=x"]},
        {"phone_column": "Telefon"},
    ],
)
async def test_an_option_of_a_file_beside_a_campaign_is_refused(
    pool: Pool, spring: dict[str, Any], changes: dict[str, Any]
) -> None:
    key = next(iter(changes))
    with pytest.raises(UsageError, match=f"{key} says how a file is read"):
        await cloned(pool, "spring", "again", {"audience_campaign": "spring", **changes})


@pytest.mark.parametrize("column", ["phone", "Telefon"])
async def test_a_variable_that_shows_the_phone_stays_as_it_was_sent(
    ready: str, pool: Pool, write_audience: WriteAudience, column: str
) -> None:
    audience = write_audience(f"{column}\n0157 26936860\n0043 127 86135\n")
    spec = CampaignSpec(
        name="spring",
        template="order",
        language="en",
        audience=audience,
        number=["1001"],
        param=[column, "=x"],
        phone_column=column,
        region="DE",
    )
    await create_campaign(ready, spec)
    again = replace(spec, name="again", audience=None, audience_campaign="spring")
    await create_campaign(ready, again)
    expected = [(4915726936860, ["0157 26936860", "x"]), (4312786135, ["0043 127 86135", "x"])]
    assert await people_of(pool, "again") == await people_of(pool, "spring") == expected


@pytest.mark.parametrize("form", [ExportForm.CSV, ExportForm.XLSX, ExportForm.JSON_LINES, ExportForm.PARQUET])
async def test_every_form_of_an_export_is_read_back_with_any_country(
    ready: str, pool: Pool, spring: dict[str, Any], tmp_path: Path, form: ExportForm
) -> None:
    (campaign_id,) = await pool.fetchrow("SELECT campaign_id FROM campaigns")
    path = tmp_path / f"export.{form}"
    with path.open("wb") as file:
        writer = writer_of(form, file, "spring", await export_columns(pool, campaign_id))
        async for page in export_values(pool, campaign_id):
            assert [row[0] for row in page] == [f"+{phone}" for phone in ABROAD]
            writer.write(page)
        writer.close()
    again = CampaignSpec(
        name="again",
        template="order",
        language="en",
        audience=path,
        number=["1001"],
        param=["nome", "variable_2"],
        region="DE",
    )
    await create_campaign(ready, again)
    assert await people_of(pool, "again") == EVERYBODY
    excluded = CampaignSpec(
        name="none",
        template="order",
        language="en",
        audience=path,
        number=["1001"],
        param=["nome", "nome"],
        exclude=(str(path),),
    )
    with pytest.raises(ConfigurationError, match="exclude names all recipients"):
        await create_campaign(ready, replace(excluded, region="DE"))


async def test_the_suppression_list_is_read_back_with_any_country(
    pool: Pool, write_audience: WriteAudience
) -> None:
    now = datetime(2026, 7, 1, tzinfo=UTC)
    text = io.StringIO()
    entries = [Suppression(phone, "asked", now, "hand") for phone in ABROAD]
    csv.writer(text).writerows([EXPORT_HEADER, *map(export_cells, entries)])
    path = write_audience(text.getvalue(), "stop.csv")
    async with pool.acquire() as connection:
        await import_suppressions(connection, path, reason="moved", region="DE")
    found = await pool.fetch("SELECT phone FROM suppressions WHERE phone = ANY($1::bigint[])", ABROAD)
    assert len(found) == len(ABROAD)


async def test_a_list_of_rejects_has_the_plus_of_phones_that_were_read(
    ready: str, pool: Pool, write_audience: WriteAudience
) -> None:
    audience = write_audience("phone\n0157 26936860\n+4915726936860\n+4312786135\n")
    stop = write_audience("phone\n0043 1 2786135\n", "stop.csv")
    spec = CampaignSpec(
        name="spring",
        template="order",
        language="en",
        audience=audience,
        number=["1001"],
        param=["=a", "=b"],
        region="DE",
    )
    created = await create_campaign(ready, replace(spec, exclude=(str(stop),)))
    assert created.audience.rejects_path is not None
    listed = list(csv.DictReader(io.StringIO(created.audience.rejects_path.read_text("utf-8-sig"))))
    assert [(row["code"], row["value"]) for row in listed] == [
        ("duplicate", "+4915726936860"),
        ("excluded", "+4312786135"),
    ]


REGIONS = sorted(phonenumbers.SUPPORTED_REGIONS)
KINDS = (
    phonenumbers.PhoneNumberType.MOBILE,
    phonenumbers.PhoneNumberType.FIXED_LINE,
    phonenumbers.PhoneNumberType.TOLL_FREE,
)


@st.composite
def stored_phones(draw: st.DrawFn) -> int:
    """A phone that Drumbeat stores: read with the country of its list, or with a plus."""
    region = draw(st.sampled_from(REGIONS))
    example = phonenumbers.example_number_for_type(region, draw(st.sampled_from(KINDS)))
    digits = phonenumbers.national_significant_number(example or phonenumbers.example_number(region))
    kept = draw(st.integers(0, len(digits)))
    tail = draw(st.text("0123456789", min_size=len(digits) - kept, max_size=len(digits) - kept))
    found = Normaliser(region).normalise(digits[:kept] + tail)
    # Austria and Iran have services of six digits, which are no phones of people.
    return found if isinstance(found, int) and found >= 10**6 else int(stored_example(region))


def stored_example(region: str) -> str:
    example = phonenumbers.format_number(
        phonenumbers.example_number(region), phonenumbers.PhoneNumberFormat.E164
    )
    return example[1:]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(stored_phones(), min_size=1, max_size=8),
    st.sampled_from([None, *REGIONS]),
    st.sampled_from([ExportForm.CSV, ExportForm.JSON_LINES, ExportForm.XLSX]),
    st.sampled_from(Separator),
)
def test_what_is_exported_is_imported_as_the_same_people(
    tmp_path_factory: pytest.TempPathFactory,
    phones: list[int],
    region: str | None,
    form: ExportForm,
    separator: Separator,
) -> None:
    path = tmp_path_factory.mktemp("export") / f"export.{form}"
    with path.open("wb") as file:
        writer = writer_of(form, file, "spring", COLUMNS, separator=separator)
        writer.write([[phone_text(phone), *[None] * (len(COLUMNS) - 1)] for phone in phones])
        writer.close()
    if form is ExportForm.XLSX:  # as if somebody edited and saved it
        openpyxl.load_workbook(path).save(path)
    with open_table(path) as source:
        table = source.table()
        check = row_check(table.header, table.name, RowRules(region=region))
        batches = list(check.batches(table))
    assert [phone for batch in batches for phone in batch.phones] == phones
    assert [reject for batch in batches for reject in batch.rejects] == []


@pytest.mark.parametrize("region", [None, *REGIONS])
def test_a_plus_names_the_country_whatever_the_region_is(region: str | None) -> None:
    normalise = Normaliser(region).normalise
    phones = [int(stored_example(of)) for of in REGIONS] + ABROAD
    assert [normalise(f"+{phone}") for phone in phones] == phones
