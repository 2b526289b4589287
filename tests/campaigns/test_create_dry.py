"""A dry run of create: says what a create would do, refuses what it would refuse, and stores nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.engine.errors import ConfigurationError, UsageError
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import PHONE, WriteAudience
from tests.campaigns.creating import create_and_be_killed, everything
from tests.kit.rows import suppress

NOTHING = {"campaigns": 0, "ranges": 0, "recipients": 0, "range_counters": 0}


def files_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


async def test_it_says_what_a_create_then_does(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience, tmp_path: Path
) -> None:
    await suppress(pool, PHONE + 1)
    phones = [PHONE, PHONE + 1, PHONE + 1, PHONE + 2, 12]
    rows = "".join(f"{phone},Ana,A-1\n" for phone in phones)
    spec = replace(spec, audience=write_audience(f"phone,name,order\n{rows}", "some.csv"))

    files = files_in(tmp_path)
    dry = await create_campaign(ready, spec, dry_run=True)
    assert (dry.dry_run, dry.unchanged, dry.audience.rejects_path) == (True, False, None)
    assert await everything(pool) == NOTHING
    assert files_in(tmp_path) == files

    created = await create_campaign(ready, spec)
    assert (created.counts, created.audience.reject_codes) == (dry.counts, dry.audience.reject_codes)
    assert dry.counts.suppressed == 1
    assert dry.audience.reject_codes == {"phone_too_short": 1, "duplicate": 1}


async def test_an_existing_campaign_is_found(ready: str, pool: Pool, spec: CampaignSpec) -> None:
    await create_campaign(ready, spec)
    before = await everything(pool)
    assert (await create_campaign(ready, spec, dry_run=True)).unchanged
    with pytest.raises(ConfigurationError, match="other options"):
        await create_campaign(ready, replace(spec, on_unknown="resend"), dry_run=True)
    assert await everything(pool) == before


async def test_it_leaves_what_an_interrupted_create_left(ready: str, pool: Pool, spec: CampaignSpec) -> None:
    await create_and_be_killed(ready, spec)
    before = await everything(pool)
    assert before["campaigns"] == 1
    assert (await create_campaign(ready, spec, dry_run=True)).counts.recipients == 10
    assert await everything(pool) == before


async def test_what_a_create_refuses_is_refused(ready: str, pool: Pool, spec: CampaignSpec) -> None:
    with pytest.raises(UsageError, match="2 placeholders"):
        await create_campaign(ready, replace(spec, param=["name"]), dry_run=True)
    with pytest.raises(ConfigurationError, match="unknown phone number ID 9"):
        await create_campaign(ready, replace(spec, number=["9"]), dry_run=True)
    assert await everything(pool) == NOTHING
