"""The same create again changes nothing, and another one under its name is refused; two at once are one."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.change import NameTaken
from drumbeat.campaigns.planning.checked import step as check
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.sql import statements
from drumbeat.engine.errors import ConfigurationError, TryLater
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import PHONE, WriteAudience
from tests.campaigns.creating import everything


async def test_the_same_again_changes_nothing(ready: str, pool: Pool, spec: CampaignSpec) -> None:
    first = await create_campaign(ready, spec)
    moved = spec.audience.rename(spec.audience.with_name("moved.csv"))
    before = await everything(pool)

    again = await create_campaign(
        ready, replace(spec, audience=moved, number=["1002", "1001"], rejects=Path("elsewhere.csv"))
    )

    assert again.unchanged
    assert again.campaign_id == first.campaign_id
    assert again.counts == replace(first.counts, suppressed=None)
    assert await everything(pool) == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"language": "pt_BR"}, "language was en and is pt_BR"),
        ({"number": ["1001"]}, "number was 1001, 1002 and is 1001"),
        ({"param": ["name", "=x"]}, "param was name, order and is name, =x"),
        ({"start_at": "2030-01-01T00:00Z"}, "start_at was not given and is 2030-01-01T00:00:00"),
        ({"max_failed": "5%"}, "max_failed was not given and is 5%"),
        ({"external_id": "42"}, "external_id was not given and is 42"),
        ({"strict": True}, "strict was False and is True"),
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
    with pytest.raises(ConfigurationError, match="name was spring and is summer") as taken:
        await create_campaign(ready, replace(keyed, name="summer"))
    assert not isinstance(taken.value, NameTaken) and taken.value.key == "external_id"
    with pytest.raises(NameTaken, match="external_id was crm-7 and is crm-8"):
        await create_campaign(ready, replace(keyed, external_id="crm-8"))


async def test_the_same_moment_in_another_zone_is_the_same(ready: str, spec: CampaignSpec) -> None:
    await create_campaign(ready, replace(spec, start_at="2030-01-01T09:00-03:00"))

    assert (await create_campaign(ready, replace(spec, start_at="2030-01-01T12:00Z"))).unchanged


async def test_an_external_id_is_created_once_at_a_time_under_whatever_name(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    async with pool.acquire() as elsewhere:
        assert await elsewhere.fetchval(statements("plan")["try_lock"], "external:crm-7")
        with pytest.raises(TryLater, match="another process is creating"):
            await create_campaign(ready, replace(spec, external_id="crm-7"))
        await elsewhere.execute("SELECT pg_advisory_unlock_all()")


@pytest.fixture
async def creating(ready: str, spec: CampaignSpec) -> AsyncIterator[asyncio.Event]:
    """Another process creates the campaign until the event is set."""
    reached, go_on = asyncio.Event(), asyncio.Event()
    original = check.limits_per_s_of

    async def wait(*arguments: Any) -> list[float]:
        limits_per_s = await original(*arguments)
        reached.set()
        await go_on.wait()
        return limits_per_s

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "limits_per_s_of", wait)
        running = asyncio.create_task(create_campaign(ready, spec))
        await reached.wait()
    yield go_on
    go_on.set()
    await running


async def test_two_creates_of_one_name_at_once(
    ready: str, pool: Pool, spec: CampaignSpec, creating: asyncio.Event
) -> None:
    with pytest.raises(TryLater, match="another process is creating"):
        await create_campaign(ready, spec)
    assert not (await create_campaign(ready, replace(spec, name="other"))).unchanged
