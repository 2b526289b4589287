"""The last recipients of a campaign go to a faster idle number, of the same worker or of another one."""

from dataclasses import dataclass
from typing import cast

import pytest

from drumbeat.engine.clock import monotonic_ns
from drumbeat.engine.core.outcome import Unknown
from drumbeat.engine.core.tail import IdleNumber
from drumbeat.engine.sending.flow_context import FlowContext, PeerNumber
from drumbeat.engine.store.database import Connection, Pool
from tests.sending.planted import FAST, SLOW, Planted, context_of, plant_campaign, plant_numbers
from tests.sending.running import accepted_by_number, assert_counts, assert_each_once, serving, until
from tests.sending.workers import Workers

RATES_PER_S = {SLOW: 80.0, FAST: 1_000.0}


async def finished(connection: Connection, campaign: Planted) -> bool:
    query = "SELECT state = 'finished' FROM campaigns WHERE campaign_id = $1"
    return bool(await connection.fetchval(query, campaign.campaign_id))


async def test_the_tail_of_a_slow_number_goes_to_a_fast_one_of_another_process(
    pool: Pool, workers: Workers, elsewhere: Connection
) -> None:
    """The slow number would need 12 s for its range; the fast one has sent the other three after 3 s."""
    await plant_numbers(elsewhere, **RATES_PER_S)
    campaign = await plant_campaign(elsewhere, recipients=4_000, numbers=(SLOW, FAST))
    async with (
        serving(**RATES_PER_S) as emulator,
        workers.on("one", emulator, [SLOW]),
        workers.on("two", emulator, [FAST]),
    ):
        await until(lambda: finished(elsewhere, campaign))
        assert_each_once(emulator, campaign)
        sent = accepted_by_number(emulator)
    assert 0 < sent[SLOW] < 900, "less than its first range"
    assert await ranges_shared(elsewhere) > 0, "a range that the slow number began was ended by the fast one"
    await assert_counts(pool, campaign, accepted=4_000)


async def ranges_shared(connection: Connection) -> int:
    found: int = await connection.fetchval(
        "SELECT count(*) FROM (SELECT range_id FROM outcomes GROUP BY range_id"
        " HAVING count(DISTINCT phone_number_id) > 1) AS shared"
    )
    return found


CAMPAIGN, ANOTHER = 1, 2


@dataclass
class Number:
    """What numbers know of each other."""

    rate_per_s: float
    idle: bool = True
    suspended_reason: str | None = None


def peers(context: FlowContext, **numbers: Number) -> None:
    context.numbers = cast("dict[str, PeerNumber]", numbers)


@pytest.fixture
async def context(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> FlowContext:
    """CAMPAIGN may be sent by the numbers `slow`, `other` and `fast`; ANOTHER only by `slow`."""
    made = context_of(pool)
    senders = {"slow": [CAMPAIGN, ANOTHER], "other": [CAMPAIGN], "fast": [CAMPAIGN]}
    monkeypatch.setattr(made.campaign_cache, "sending_with", lambda number: senders.get(number, []))
    return made


def leaves(context: FlowContext, campaign_id: int = CAMPAIGN) -> bool:
    return context.leaves_to_faster(context.numbers["slow"], campaign_id)


async def test_an_idle_number_leaves_free_ranges_to_a_faster_idle_one(context: FlowContext) -> None:
    """Otherwise the slow numbers, which are many, would take a tail before the fast one looks for it."""
    peers(context, slow=Number(80), other=Number(80))
    assert not leaves(context), "nobody is faster"
    context.idle_elsewhere = [IdleNumber("fast", 1_000)]
    assert leaves(context)
    context.idle_elsewhere = []
    peers(context, slow=Number(80), fast=Number(1_000))
    assert leaves(context)
    assert not leaves(context, ANOTHER), "the fast one may not send it"


@pytest.mark.parametrize(
    "fast",
    [
        pytest.param(Number(1_000, idle=False), id="it is busy"),
        pytest.param(Number(1_000, suspended_reason="a quota"), id="it rests"),
        pytest.param(Number(100), id="it is hardly faster"),
    ],
)
async def test_it_leaves_nothing_to_a_number_that_would_not_take_it_or_gain_little(
    context: FlowContext, fast: Number
) -> None:
    peers(context, slow=Number(80), fast=fast)
    assert not leaves(context)


async def test_while_the_service_is_away_no_number_counts_as_idle(context: FlowContext) -> None:
    """Other workers may reach the service, and would leave their tails to nobody."""
    peers(context, slow=Number(80), fast=Number(1_000))
    assert [number.phone_number_id for number in context.idle_numbers()] == ["slow", "fast"]
    while not context.breaker.tripped:
        context.breaker.record(Unknown("the connection broke"), monotonic_ns())
    assert list(context.idle_numbers()) == []
