"""Messages and plans of a campaign before it is stored are those that it has afterwards."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from drumbeat.campaigns.options.sources import AS_IT_IS
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.phones.countries import PREFIX_DIGITS
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.preview.draft_messages import draft_messages, read_sample
from drumbeat.campaigns.preview.draft_plan import plan_of_draft
from drumbeat.campaigns.preview.plan import plan_of
from drumbeat.campaigns.preview.recipient import Choice, choose_recipient
from drumbeat.campaigns.prices import read_prices
from drumbeat.engine.core.limits.quota import QuotaScope
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import PHONE, WriteAudience
from tests.kit.rows import suppress

ROWS = (
    f"{PHONE},Ana,A0,pt-br",
    "12,bad,A1,en",
    f"{PHONE + 1},,A2,EN",
    f"{PHONE + 2},Eva,A3,fr",
    "4915112345678,Jo,A4,en",
    "4915112345678,Jo,A5,en",
)


@pytest.fixture
def bilingual(spec: CampaignSpec, write_audience: WriteAudience) -> CampaignSpec:
    path = write_audience("phone,name,order,tongue\n" + "\n".join(ROWS) + "\n")
    return replace(spec, audience=path, language_column="tongue", default=["name=friend"])


async def test_each_good_row_is_shown_as_its_reader_will_see_it(
    ready: str, pool: Pool, bilingual: CampaignSpec
) -> None:
    assert isinstance(bilingual.audience, Path)
    sample = read_sample(bilingual.audience, AS_IT_IS)
    shown = await draft_messages(pool, bilingual, sample)

    assert [(each.row, each.template.language) for each in shown] == [
        (2, "pt_BR"), (4, "en"), (5, "en"), (6, "en"), (7, "en"),
    ]  # fmt: skip
    assert "friend" in shown[1].message.body
    await create_campaign(ready, bilingual)
    for each in shown[:4]:
        stored = await choose_recipient(pool, "spring", Choice(each.row))
        assert (each.phone, each.message) == (stored.phone, stored.rendered())


async def test_what_a_create_would_refuse_shows_no_message(
    ready: str, pool: Pool, bilingual: CampaignSpec
) -> None:
    assert isinstance(bilingual.audience, Path)
    sample = read_sample(bilingual.audience, AS_IT_IS)
    with pytest.raises(UsageError, match="param leaves out"):
        await draft_messages(pool, replace(bilingual, param=["1:name"]), sample)


@pytest.mark.parametrize("hours", [None, "20:00-09:00"])
async def test_the_plan_of_a_dry_run_is_the_plan_of_the_campaign(
    hours: str | None, ready: str, pool: Pool, bilingual: CampaignSpec, tmp_path: Path
) -> None:
    await suppress(pool, PHONE + 2)
    (tmp_path / "prices.csv").write_text(
        "country,category,price,currency,date\nBR,UTILITY,0.5,XTS,2026-01-01\nDE,UTILITY,2,XTS,2026-01-01\n"
    )
    prices, now = read_prices(tmp_path / "prices.csv"), datetime.now(UTC)
    await pool.execute("UPDATE templates SET category = 'UTILITY'")
    spec = replace(bilingual, quiet_hours=hours)

    dry = await create_campaign(ready, spec, dry_run=True, head_digits=PREFIX_DIGITS)
    drafted = await plan_of_draft(pool, spec, dry, prices, now, QuotaScope.NUMBER)
    await create_campaign(ready, spec)
    stored = await plan_of(pool, "spring", prices, now)

    assert drafted.as_json() == stored.as_json()
    assert stored.cost is not None and str(stored.cost.totals["XTS"]) == "3.0"
    assert stored.countries == {"BR": 2, "DE": 1}


async def test_a_dry_run_counts_no_heads_unless_it_is_asked(ready: str, spec: CampaignSpec) -> None:
    assert not (await create_campaign(ready, spec, dry_run=True)).audience.heads
    two = replace(spec, template=None, variant=["a=order", "b=order:3"])
    dry = await create_campaign(ready, two, dry_run=True, head_digits=PREFIX_DIGITS)
    counts = {head["template_index"]: head["recipients"] for head in dry.audience.heads}
    assert [counts.get(index, 0) for index in (0, 1)] == [
        share.recipients for share in dry.campaign.templates
    ]
