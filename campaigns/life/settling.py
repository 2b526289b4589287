"""The wait for the statuses of a campaign, which come after everything is sent."""

import asyncio
from contextlib import suppress

from drumbeat.campaigns.life.doubt import apply_policy
from drumbeat.campaigns.results.status import FINAL_STATES, CampaignStatus, campaign_status
from drumbeat.engine.store.database import LOST_CONNECTION, Pool

PERIOD_S = 1.0


async def until_settled(
    pool: Pool,
    campaign_id: int,
    *,
    timeout_s: float | None,
    stop: asyncio.Event,
    whole_life: bool = False,
    silence_s: float | None = None,
) -> CampaignStatus:
    """Wait until every message has a final status, for `timeout_s` at most (None: for ever), or until `stop`.

    It ends as well if the campaign sends again, unless `whole_life`: then it also waits for the sending. With
    `silence_s`, it applies the campaign's policy for recipients in doubt meanwhile, which may make it send.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            while not stop.is_set():
                if await _is_over(pool, campaign_id, whole_life, silence_s):
                    break
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), PERIOD_S)
    return await campaign_status(pool, campaign_id)


async def _is_over(pool: Pool, campaign_id: int, whole_life: bool, silence_s: float | None) -> bool:
    try:
        status = await campaign_status(pool, campaign_id)
    except LOST_CONNECTION:
        return False
    if status.state in FINAL_STATES:
        if status.in_doubt and silence_s is not None:
            return await apply_policy(pool, campaign_id, silence_s)
        return not status.unsettled
    return not whole_life
