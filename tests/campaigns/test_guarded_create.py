"""Creating campaigns with guards: options, ranges by time zones, who is left out, and who is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from drumbeat.campaigns.options.guards import read_days
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.engine.errors import ConfigurationError, UsageError
from drumbeat.engine.store.database import Pool
from tests.campaigns.creating import assert_range_counters_equal_a_recount

PHONES = {
    "America/Sao_Paulo": ["+5511987650001", "+5511987650002", "+5511987650003"],
    "Europe/Berlin": ["+4930901820", "+4930901821"],
    "Asia/Tokyo": ["+81312345678"],
}
SATELLITE = "+870773111632"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """The zones in turn, then a phone of no country."""
    path = tmp_path / "people.csv"
    phones = [PHONES["America/Sao_Paulo"][0], PHONES["Europe/Berlin"][0], PHONES["Asia/Tokyo"][0],
              PHONES["America/Sao_Paulo"][1], SATELLITE, PHONES["Europe/Berlin"][1], PHONES["America/Sao_Paulo"][2]]  # fmt: skip
    path.write_text("phone,name,order\n" + "".join(f"{phone},Ana,A1\n" for phone in phones))
    return path


def spec_of(spec: CampaignSpec, people: Path, **guards: object) -> CampaignSpec:
    return replace(spec, audience=people, **guards)


async def ranges(pool: Pool) -> dict[str | None, list[str]]:
    rows = await pool.fetch(
        "SELECT time_zones, array_agg('+' || phone ORDER BY seq) AS phones, array_agg(seq ORDER BY seq) AS seqs"
        " FROM ranges JOIN recipients USING (range_id) GROUP BY range_id, time_zones ORDER BY min(ordinal)"
    )
    assert all(row["seqs"] == list(range(1, len(row["seqs"]) + 1)) for row in rows)
    return {row["time_zones"]: row["phones"] for row in rows}


@pytest.mark.parametrize("wanted", [3, 100])
async def test_a_canary_is_the_first_recipients_whatever_their_zones(
    ready: str, pool: Pool, spec: CampaignSpec, people: Path, wanted: int
) -> None:
    asked = spec_of(spec, people, quiet_hours="20:00-09:00")
    await create_campaign(ready, replace(asked, canary=wanted))
    canary = await pool.fetch(
        "SELECT line FROM recipients JOIN ranges USING (range_id) JOIN canaries USING (campaign_id)"
        " WHERE ordinal < canaries.ranges ORDER BY line"
    )
    first = min(wanted, 7)
    assert [row["line"] for row in canary] == list(range(2, 2 + first))
    assert await pool.fetchval("SELECT recipients FROM canaries") == first
    kinds = "SELECT count(DISTINCT time_zones) FROM recipients JOIN ranges USING (range_id) GROUP BY range_id"
    assert {row["count"] for row in await pool.fetch(kinds)} <= {0, 1}
    await assert_range_counters_equal_a_recount(pool)


async def test_a_range_has_one_set_of_time_zones(
    ready: str, pool: Pool, spec: CampaignSpec, people: Path
) -> None:
    created = await create_campaign(ready, spec_of(spec, people, quiet_hours="20:00-09:00"))
    assert await ranges(pool) == {**PHONES, None: [SATELLITE]}
    assert created.counts.without_hours == 1 and created.counts.suppressed == 0
    row = await pool.fetchrow("SELECT recipient_zones, quiet_from::text, quiet_until::text FROM campaigns")
    assert row is not None and tuple(row) == (sorted(PHONES), "20:00:00", "09:00:00")
    assert (
        await pool.fetchval("SELECT skip_reason FROM recipients WHERE skip_reason IS NOT NULL")
        == "no sending hours"
    )
    await assert_range_counters_equal_a_recount(pool)


async def test_without_a_rule_in_the_recipients_zone_ranges_have_none(
    ready: str, pool: Pool, spec: CampaignSpec, people: Path
) -> None:
    await create_campaign(ready, spec_of(spec, people, days="mon-fri", cap="2/7d"))
    assert list(await ranges(pool)) == [None]
    row = await pool.fetchrow("SELECT recipient_zones, days, cap_messages, cap_period_s FROM campaigns")
    assert row is not None and tuple(row) == (None, [0, 1, 2, 3, 4], 2, 7 * 86_400)
    assert await pool.fetchval("SELECT to_regclass('recipients_phone_exact') IS NOT NULL")


async def test_the_window_may_be_in_the_recipients_zone(
    ready: str, pool: Pool, spec: CampaignSpec, people: Path
) -> None:
    by_recipient = replace(spec_of(spec, people), window="09:00-20:00", time_zone="recipient")
    await create_campaign(ready, by_recipient)
    assert await ranges(pool) == {**PHONES, None: [SATELLITE]}
    assert await pool.fetchval("SELECT to_regclass('recipients_phone_exact') IS NULL"), (
        "only a cap needs the index"
    )


async def test_an_audience_that_is_too_large_is_refused(
    ready: str, pool: Pool, spec: CampaignSpec, people: Path
) -> None:
    with pytest.raises(ConfigurationError, match="has 7 recipients, and max_recipients allows 6"):
        await create_campaign(ready, spec_of(spec, people, max_recipients=6))
    assert await pool.fetchval("SELECT count(*) FROM campaigns") == 0
    await create_campaign(ready, spec_of(spec, people, max_recipients=7))


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("mon-fri", {0, 1, 2, 3, 4}),
        ("sat,sun", {5, 6}),
        ("fri-mon", {4, 5, 6, 0}),
        ("Wed", {2}),
        ("mon-wed, sat", {0, 1, 2, 5}),
    ],
)
def test_days(text: str, days: set[int]) -> None:
    assert read_days(text) == days


@pytest.mark.parametrize(
    "wrong",
    [{"days": "monday"}, {"days": ""}, {"cap": "0/7d"}, {"cap": "2"}, {"cap": "2/91d"}, {"cap": "2/7w"},
     {"quiet_hours": "20-9"}, {"quiet_hours": "09:00-09:00"}, {"max_recipients": 0}],
)  # fmt: skip
def test_a_wrong_option_is_named(spec: CampaignSpec, wrong: dict[str, object]) -> None:
    [name] = wrong
    with pytest.raises(UsageError) as refused:
        replace(spec, **wrong).checked_guards()
    assert refused.value.key == name
