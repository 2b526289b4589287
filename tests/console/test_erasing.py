"""One person is erased on the page: what goes and stays is said first, and a receipt stays."""

import pytest

from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.users import store_user
from drumbeat.engine.store.database import Pool
from tests.console.conftest import PHONE
from tests.console.plain_browser import PASSWORD, Browser, browser_of


@pytest.fixture
async def boss(pool: Pool, url: str) -> Browser:
    await store_user(pool, "boss", Role.MANAGE, PASSWORD, actor="test")
    return await browser_of(url, "boss")


async def test_a_person_is_erased_and_the_receipt_stays(pool: Pool, boss: Browser) -> None:
    asked = (await boss.get(f"/people/{PHONE}/erase")).text
    assert "in one campaign" in asked and "what the person wrote: one message" in asked
    assert "the number is not on the suppression list" in asked
    reply = await boss.send(f"/people/{PHONE}/erase")
    assert reply.status == 303 and str(PHONE) not in reply.headers["Location"]
    receipt = (await boss.get(reply.headers["Location"])).text
    assert "spring" in receipt and str(PHONE) not in receipt
    assert await pool.fetchval("SELECT count(*) FROM recipients WHERE phone = $1", PHONE) == 0
    (noted,) = await pool.fetch("SELECT actor FROM audit WHERE action = 'person-forget'")
    assert noted["actor"] == "boss"
    assert "No campaign has this number" in (await boss.get(f"/people/{PHONE}")).text


async def test_who_is_in_doubt_is_not_erased_and_the_page_says_why(pool: Pool, boss: Browser) -> None:
    reply = await boss.send(f"/people/{PHONE + 2}/erase")
    assert reply.status == 409 and "in doubt in the campaign" in reply.text
    assert await pool.fetchval("SELECT count(*) FROM recipients WHERE phone = $1", PHONE + 2) == 1


async def test_only_who_manages_sees_how_to_erase(pool: Pool, boss: Browser, url: str) -> None:
    await store_user(pool, "ana", Role.SEND, PASSWORD, actor="test")
    ana = await browser_of(url, "ana")
    assert "Erase this person" in (await boss.get(f"/people/{PHONE}")).text
    assert "Erase this person" not in (await ana.get(f"/people/{PHONE}")).text
    assert (await ana.send(f"/people/{PHONE}/erase")).status == 403
