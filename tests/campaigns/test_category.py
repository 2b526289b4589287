"""A campaign is not started with another category than it was planned for, before a person agrees."""

from dataclasses import replace

import pytest

from drumbeat.campaigns.campaign import find_campaign
from drumbeat.campaigns.life.category import CategoryChanged, accept_categories
from drumbeat.campaigns.life.template_check import TemplateCheck
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.engine.store.database import Pool


async def planned(url: str, pool: Pool, spec: CampaignSpec, category: str | None) -> None:
    await pool.execute("UPDATE templates SET category = $1", category)
    await create_campaign(url, spec)


async def check(pool: Pool) -> None:
    """Look as a start does; the service cannot be asked, so what is stored counts."""
    await TemplateCheck(pool, None)(await find_campaign(pool, "spring"))


@pytest.mark.parametrize("new", ["MARKETING", "AUTHENTICATION"])
async def test_another_category_is_refused_until_somebody_agrees(
    ready: str, pool: Pool, spec: CampaignSpec, new: str
) -> None:
    await planned(ready, pool, spec, "UTILITY")
    await check(pool)
    await pool.execute("UPDATE templates SET category = $1 WHERE language = 'en'", new)
    with pytest.raises(
        CategoryChanged, match=rf"order \(en\) was UTILITY when it was planned and is {new} now"
    ):
        await check(pool)
    assert await accept_categories(pool, "spring", actor="ana") == {"order (en)": new}
    await check(pool)
    audit = await pool.fetchrow("SELECT actor, detail FROM audit WHERE action = 'accept-category'")
    assert tuple(audit or ()) == ("ana", {"order (en)": new})
    await pool.execute("UPDATE templates SET category = 'UTILITY'")
    with pytest.raises(CategoryChanged, match=f"was {new} when it was planned and is UTILITY"):
        await check(pool)


async def test_only_the_campaigns_own_templates_count(ready: str, pool: Pool, spec: CampaignSpec) -> None:
    await planned(ready, pool, spec, "UTILITY")
    await pool.execute("UPDATE templates SET category = 'MARKETING' WHERE language <> 'en' OR name = 'promo'")
    await check(pool)


@pytest.mark.parametrize(
    ("before", "after"), [(None, "MARKETING"), ("UTILITY", None), ("UTILITY", "utility")]
)
async def test_a_category_that_is_not_known_changes_nothing(
    ready: str, pool: Pool, spec: CampaignSpec, before: str | None, after: str | None
) -> None:
    await planned(ready, pool, spec, before)
    await pool.execute("UPDATE templates SET category = $1", after)
    await check(pool)


async def test_a_campaign_that_has_started_goes_on(ready: str, pool: Pool, spec: CampaignSpec) -> None:
    """People were told of the change; a job that repeats its run must not stop for it."""
    await planned(ready, pool, spec, "UTILITY")
    await pool.execute("UPDATE campaigns SET state = 'running', started_at = now()")
    await pool.execute("UPDATE templates SET category = 'MARKETING'")
    await check(pool)


async def test_the_agreement_changes_nothing_else(ready: str, pool: Pool, spec: CampaignSpec) -> None:
    await planned(ready, pool, spec, "UTILITY")
    await pool.execute("UPDATE templates SET category = 'MARKETING'")
    await accept_categories(pool, "spring", actor="ana")
    assert (await create_campaign(ready, spec)).unchanged
    again = await create_campaign(ready, replace(spec, name="summer"))
    assert not again.unchanged
