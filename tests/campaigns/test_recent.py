"""A second campaign for the same people within a week says how many they are, and since when."""

from dataclasses import replace
from datetime import datetime

import pytest

from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.planning.staged.recent import RecentCampaign
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import PHONE, WriteAudience
from tests.kit.rows import suppress

ARGENTINIAN, AS_MOBILE = 541123456789, 5491123456789  # one phone, in its two valid spellings


@pytest.fixture
def asked(write_audience: WriteAudience) -> CampaignSpec:
    path = write_audience("phone\n" + "\n".join(str(PHONE + row) for row in range(10)))
    return CampaignSpec(
        name="spring", template="order", language="en", number=["1001"], audience=path, param=["=a", "=b"]
    )


def other(spec: CampaignSpec, write_audience: WriteAudience, phones: list[int], name: str) -> CampaignSpec:
    path = write_audience("phone\n" + "\n".join(map(str, phones)), f"{name}.csv")
    return replace(spec, name=name, audience=path)


async def same_people(url: str, spec: CampaignSpec) -> dict[str, int]:
    created = await create_campaign(url, spec, dry_run=True)
    return {earlier.name: earlier.recipients for earlier in created.earlier.same_people}


async def test_the_same_people_are_counted_in_any_spelling(
    ready: str, pool: Pool, asked: CampaignSpec, write_audience: WriteAudience
) -> None:
    spring = [PHONE + 7, PHONE + 8, ARGENTINIAN]
    await create_campaign(ready, other(asked, write_audience, spring, "spring"))
    phones = [PHONE + 7, PHONE + 8, AS_MOBILE, PHONE + 100]
    created = await create_campaign(ready, other(asked, write_audience, phones, "summer"))
    since = await pool.fetchval("SELECT created_at FROM campaigns WHERE name = 'spring'")
    assert created.earlier.same_people == (RecentCampaign("spring", False, since, 3),)

    started = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    await pool.execute("UPDATE campaigns SET state = 'running', started_at = $1", started)
    again = await create_campaign(ready, other(asked, write_audience, phones[:1], "autumn"), dry_run=True)
    assert again.earlier.same_people == (
        RecentCampaign("summer", True, started, 1),
        RecentCampaign("spring", True, started, 1),
    )


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ("state = 'finished', started_at = now(), finished_at = now() - interval '6 days'", {"spring": 10}),
        ("state = 'finished', started_at = now(), finished_at = now() - interval '8 days'", {}),
        ("state = 'running', started_at = now() - interval '30 days'", {"spring": 10}),
        ("state = 'cancelled', finished_at = now()", {}),
        ("state = 'cancelled', started_at = now(), finished_at = now()", {"spring": 10}),
        ("""options = options || '{"test_of": "winter"}'""", {}),
        ("planned_at = NULL", {}),
    ],
)
async def test_only_campaigns_of_these_days_count(
    ready: str, pool: Pool, asked: CampaignSpec, changed: str, found: dict[str, int]
) -> None:
    await create_campaign(ready, asked)
    await pool.execute(f"UPDATE campaigns SET {changed}")
    assert await same_people(ready, replace(asked, name="summer")) == found


async def test_who_was_left_out_or_suppressed_does_not_count(
    ready: str, pool: Pool, asked: CampaignSpec, write_audience: WriteAudience
) -> None:
    await suppress(pool, PHONE)
    await create_campaign(ready, asked)
    left_out = write_audience(f"phone\n{PHONE + 1}\n{PHONE + 2}\n", "left_out.csv")
    again = replace(asked, name="summer", exclude=(str(left_out),))
    assert await same_people(ready, again) == {"spring": 7}


async def test_a_retry_of_a_campaign_means_the_same_people(ready: str, asked: CampaignSpec) -> None:
    await create_campaign(ready, asked)
    retry = replace(asked, name="summer", audience=None, audience_campaign="spring")
    assert await same_people(ready, retry) == {}


async def test_a_message_to_one_person_does_not_wait_for_the_count(ready: str, asked: CampaignSpec) -> None:
    await create_campaign(ready, asked)
    assert await same_people(ready, replace(asked, name="message", read_from=asked.source)) == {}
