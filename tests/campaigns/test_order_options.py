"""Options of the order and of the canary: what is stored, what identifies a campaign, what is refused."""

from dataclasses import replace
from typing import Any

import pytest

from drumbeat.campaigns.changing.send_message import plan_message
from drumbeat.campaigns.command_text import flag
from drumbeat.campaigns.life.order import CampaignOrder, set_order
from drumbeat.campaigns.options.identity import identify
from drumbeat.campaigns.options.order import Canary, canary_of, read_priority
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.results.status import campaign_status
from drumbeat.engine.core.order import Priority
from drumbeat.engine.errors import ConfigurationError, UsageError
from drumbeat.engine.process.identity import this_process
from drumbeat.engine.store.canaries import pass_canary
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.leases import take_lease
from drumbeat.engine.store.ranges import take_range
from tests.campaigns.conftest import PHONE, WriteAudience
from tests.campaigns.creating import assert_range_counters_equal_a_recount

EVERYTHING: dict[str, Any] = {
    "priority": "high",
    "share": 30,
    "pause_at_failed": "2%",
    "canary": 37,
    "canary_max_failed": "3",
    "canary_minutes": 20.0,
    "canary_approve": True,
}
NO_CANARY: dict[str, Any] = {
    "canary": None,
    "canary_max_failed": None,
    "canary_minutes": None,
    "canary_approve": False,
}


@pytest.mark.usefixtures("small_ranges")
async def test_the_first_ranges_hold_exactly_the_canary_and_only_they_are_given_out(
    pool: Pool, ready: str, spec: CampaignSpec, write_audience: WriteAudience
) -> None:
    rows = [f"{PHONE + row},Ana,A{row}" for row in range(120)]
    audience = write_audience("phone,name,order\n" + "\n".join([*rows, rows[3], rows[50]]) + "\n")
    created = await create_campaign(ready, replace(spec, audience=audience, **EVERYTHING))
    status = await campaign_status(pool, created.campaign_id)
    assert (status.priority, status.share_percent, status.pause_at_failed) == ("high", 30, "2%")
    assert status.canary is not None
    assert (status.canary.max_failed, status.canary.wait_s, status.canary.needs_approval) == (
        "3",
        1_200,
        True,
    )
    assert status.as_json()["canary"]["state"] == "sending"
    await pool.execute("UPDATE campaigns SET state = 'running'")
    assert await taken(pool, created.campaign_id) == set(range(PHONE, PHONE + 37))
    async with pool.acquire() as connection:
        await pass_canary(connection, created.campaign_id)
    assert await taken(pool, created.campaign_id) == set(range(PHONE, PHONE + 120))
    await assert_range_counters_equal_a_recount(pool)


@pytest.mark.usefixtures("small_ranges")
async def test_no_other_range_is_given_out_while_another_number_takes_the_last_one_of_the_canary(
    pool: Pool, ready: str, spec: CampaignSpec
) -> None:
    """Its row is locked, and so passed over."""
    created = await create_campaign(ready, replace(spec, number=["1001"], canary=2))
    await pool.execute("UPDATE campaigns SET state = 'running'")
    async with pool.acquire() as another, pool.acquire() as connection:
        lease = await take_lease(connection, "1001", this_process())
        async with another.transaction():
            await another.execute("SELECT FROM ranges WHERE ordinal = 0 FOR UPDATE")
            assert await take_range(connection, lease, created.campaign_id) is None
        assert await take_range(connection, lease, created.campaign_id) is not None


async def taken(pool: Pool, campaign_id: int) -> set[int]:
    """The recipients of all ranges that numbers hold, once they have taken what they can."""
    async with pool.acquire() as connection:
        lease = await take_lease(connection, "1001", this_process())
        while await take_range(connection, lease, campaign_id) is not None:
            pass
        rows = await connection.fetch(
            "SELECT phone FROM recipients JOIN ranges USING (range_id) WHERE phone_number_id IS NOT NULL"
        )
        await connection.execute("UPDATE numbers SET released = true")
    return {row["phone"] for row in rows}


async def test_options_belong_to_the_campaign_and_are_compared_when_it_is_created_again(
    ready: str, spec: CampaignSpec
) -> None:
    given = replace(spec, **EVERYTHING)
    await create_campaign(ready, given)
    assert (await create_campaign(ready, given)).unchanged
    for other in (spec, replace(given, share=31), replace(given, **NO_CANARY)):
        with pytest.raises(ConfigurationError, match="other options"):
            await create_campaign(ready, other)


def test_an_option_at_its_default_identifies_a_campaign_as_one_that_is_not_given(spec: CampaignSpec) -> None:
    canary = replace(spec, canary=5)
    given = replace(canary, priority="Normal", time_zone="UTC", canary_max_failed="5%", canary_minutes=15)
    assert identify(given, "").content_hash == identify(canary, "").content_hash
    assert identify(given, "").differences(identify(canary, "").options) == []
    assert identify(replace(given, canary_minutes=16), "").content_hash != identify(canary, "").content_hash


async def test_a_message_to_one_person_is_urgent(pool: Pool, ready: str, spec: CampaignSpec) -> None:
    message = replace(spec, name="reset", number=["1001"], param=["=Ana", "=A1"])
    await plan_message(ready, message, f"+{PHONE}")
    assert await pool.fetchval("SELECT priority FROM campaigns WHERE name = 'reset'") == "urgent"


async def test_the_order_changes_while_a_campaign_runs(pool: Pool, ready: str, spec: CampaignSpec) -> None:
    await create_campaign(ready, spec)
    await pool.execute("UPDATE campaigns SET state = 'running'")
    async with pool.acquire() as connection:
        assert await set_order(connection, "spring", Priority.LOW, 20) == CampaignOrder("spring", "low", 20)
        assert await set_order(
            connection, "spring", None, None, even_share=True, actor="ana"
        ) == CampaignOrder("spring", "low", None)
        assert (await create_campaign(ready, spec)).unchanged, "the options of its create stay"
        audited = await connection.fetch("SELECT actor, action, detail FROM audit ORDER BY audit_id")
        assert [tuple(row) for row in audited][1:] == [("ana", "order", {"priority": "low", "share": "even"})]
        await connection.execute("UPDATE campaigns SET state = 'finished'")
        with pytest.raises(UsageError, match="has ended"):
            await set_order(connection, "spring", Priority.LOW, None)


@pytest.mark.parametrize(
    ("order", "complaint"),
    [
        ({"share": 0}, "share 0"),
        ({"share": 101}, "share 101"),
        ({"pause_at_failed": "many"}, "pause_at_failed 'many'"),
        ({"canary": 0}, "canary 0"),
        ({"canary": 10, "canary_max_failed": "101%"}, "canary_max_failed '101%'"),
        ({"canary": 10, "canary_minutes": 0.0}, "canary_minutes 0"),
        ({"canary": 10, "canary_minutes": float("nan")}, "canary_minutes nan"),
    ],
)
def test_a_wrong_option_is_named(spec: CampaignSpec, order: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=f"^{complaint}") as raised:
        replace(spec, **order).checked_schedule()
    assert raised.value.key == complaint.split()[0]
    assert raised.value.line(flag).startswith(flag(raised.value.key))


def test_an_option_of_the_canary_needs_a_canary(spec: CampaignSpec) -> None:
    with pytest.raises(UsageError, match="need canary"):
        replace(spec, canary_max_failed="5%")
    assert canary_of(replace(spec, canary=10, canary_approve=True)) == Canary(10, "5%", 15.0, True)


def test_urgent_is_left_to_messages() -> None:
    assert [read_priority(word) for word in ("low", "Normal", "high")] == [
        Priority.LOW,
        Priority.NORMAL,
        Priority.HIGH,
    ]
    with pytest.raises(UsageError, match="choose low, normal, high"):
        read_priority("urgent")
