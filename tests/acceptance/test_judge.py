"""The check of the demo finds what it must find."""

import urllib.request

import orjson
import pytest

from drumbeat.campaigns.campaign import find_campaign
from drumbeat.campaigns.demo.check import Verdict, judge
from drumbeat.engine.store.database import Pool
from tests.acceptance.conftest import Scene
from tests.cli.processes import TOKEN


@pytest.fixture
def sent(scene: Scene) -> Scene:
    scene.create(30)
    scene.drumbeat.ok("campaign", "run", "spring", "--quiet")
    return scene


async def verdict(scene: Scene, pool: Pool) -> Verdict:
    async with pool.acquire() as connection:
        campaign = await find_campaign(connection, "spring")
    return await judge(pool, scene.service.url, campaign.campaign_id)


def send_by_hand(scene: Scene, to: str) -> None:
    """A message of no campaign."""
    template = {"name": "welcome", "language": {"code": "en"}}
    body = {"messaging_product": "chat", "to": to, "type": "template", "template": template}
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    url = f"{scene.service.url}/v22.0/1/messages"
    with urllib.request.urlopen(
        urllib.request.Request(url, orjson.dumps(body), headers), timeout=30
    ) as reply:
        assert reply.status == 200


async def test_a_campaign_that_kept_its_word_is_proved(sent: Scene, pool: Pool) -> None:
    found = await verdict(sent, pool)
    assert found == Verdict(messages=30, twice=0, forgotten=0, strangers=0, unknown=0, adds_up=True)
    assert found.proved


async def test_a_second_message_and_a_stranger_are_found(sent: Scene, pool: Pool) -> None:
    send_by_hand(sent, "5511980000000")
    send_by_hand(sent, "5511970000000")
    found = await verdict(sent, pool)
    assert (found.twice, found.strangers, found.proved) == (1, 1, False)


async def test_whoever_is_not_in_the_ledger_was_forgotten(sent: Scene, pool: Pool) -> None:
    sent.service.post("reset", {})
    found = await verdict(sent, pool)
    assert (found.messages, found.forgotten, found.proved) == (0, 30, False)


async def test_counts_that_do_not_add_up_are_found(sent: Scene, pool: Pool) -> None:
    await pool.execute("UPDATE campaigns SET audience_rows = audience_rows + 1")
    found = await verdict(sent, pool)
    assert (found.adds_up, found.proved) == (False, False)
