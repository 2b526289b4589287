"""The recipient that a preview shows: found by the row of the audience, or by the phone, without a look at all of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.planning.cut import range_size
from drumbeat.campaigns.planning.staged import staging
from drumbeat.campaigns.preview.recipient import Choice, choose_recipient
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.store.database import Pool

ZONES = ("+55119876500", "+49309018", "+813123456")
ROWS = 40
REPEATED = 7  # each such row repeats the phone above it, and becomes no recipient


@pytest.fixture(params=[None, "20:00-09:00"], ids=["plain", "ranges of time zones"])
async def planned(
    request: pytest.FixtureRequest,
    ready: str,
    spec: CampaignSpec,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A campaign of many small ranges in several chunks; of zones, several ranges are filled in turn."""
    monkeypatch.setattr(range_size, "RANGE_SIZE", 3)
    monkeypatch.setattr(staging, "CHUNK_ROWS", 10)
    phones = [f"{ZONES[row % len(ZONES)]}{row:02}" for row in range(ROWS)]
    phones = [phones[row - 1] if row % REPEATED == 1 else phone for row, phone in enumerate(phones)]
    people = tmp_path / "people.csv"
    people.write_text("phone,name,order\n" + "".join(f"{phone},Ana,A1\n" for phone in phones))
    await create_campaign(ready, replace(spec, audience=people, quiet_hours=request.param, number=["1001"]))


async def test_each_row_leads_to_its_recipient(pool: Pool, planned: None) -> None:
    stored = {row["line"]: row["phone"] for row in await pool.fetch("SELECT line, phone FROM recipients")}
    assert len(stored) == ROWS - len(range(1, ROWS, REPEATED))
    assert await pool.fetchval("SELECT count(*) FROM ranges") > 10
    found = {}
    for line in range(ROWS + 5):
        try:
            found[line] = (await choose_recipient(pool, "spring", Choice(row=line))).phone
        except ConfigurationError as error:
            assert "is not a recipient" in str(error)
    assert found == stored


async def test_each_phone_leads_to_its_recipient(pool: Pool, planned: None) -> None:
    for row in await pool.fetch("SELECT line, phone FROM recipients"):
        chosen = await choose_recipient(pool, "spring", Choice(phone=f"+{row['phone']}"))
        assert (chosen.row, chosen.phone) == (row["line"], row["phone"])


async def test_digits_are_a_stored_phone_before_they_are_a_national_one(
    ready: str, pool: Pool, spec: CampaignSpec, tmp_path: Path
) -> None:
    """Without its plus, the second phone reads as one of Emden: +49 4921 51596227."""
    people = tmp_path / "people.csv"
    people.write_text("phone,name,order\n+493023125001,Ana,A1\n+492151596227,Bo,A2\n")
    await create_campaign(ready, replace(spec, audience=people, region="DE"))
    for typed, phone in (
        ("492151596227", 492151596227),
        ("02151596227", 492151596227),
        ("3023125001", 493023125001),
    ):
        assert (await choose_recipient(pool, "spring", Choice(phone=typed))).phone == phone
    with pytest.raises(ConfigurationError, match="is not a recipient"):
        await choose_recipient(pool, "spring", Choice(phone="492151596228"))
