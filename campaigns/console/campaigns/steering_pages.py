"""The pages to retry, settle, approve and delete. Each action is confirmed first on a page of its own."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from drumbeat.campaigns.account.numbers import read_number_names
from drumbeat.campaigns.changing.retry import retry_name
from drumbeat.campaigns.console.campaigns import actions
from drumbeat.campaigns.console.campaigns.named import campaign_url, named_campaign, named_status
from drumbeat.campaigns.console.campaigns.steering_shapes import Matching, RetryRequest, SettleRequest
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.forms import field_of
from drumbeat.campaigns.console.web.local_times import clock_of, moment_of
from drumbeat.campaigns.console.web.rendering import page
from drumbeat.campaigns.console.web.replying import query_of
from drumbeat.campaigns.console.web.two_people import waiting
from drumbeat.campaigns.console.web.work import attempt, attempt_long
from drumbeat.campaigns.life.second_person import Wish
from drumbeat.campaigns.options.stored import stored_values
from drumbeat.campaigns.progress import ProgressCallback
from drumbeat.engine.core.error_codes import FINAL_CODES
from drumbeat.engine.core.states import RecipientState

RETRY_FIELDS = ("code", "new_name", "start_at", "expires_at", "clock")


async def ask_retry(request: web.Request) -> web.Response:
    asked = query_of(request, Matching)
    given = {**dict.fromkeys(RETRY_FIELDS, ""), "code": " ".join(map(str, asked.code))}
    return page(request, "retry.html.j2", **await _retry_values(request, given))


async def plan_retry(request: web.Request) -> web.Response:
    """Plan a retry. People look at its draft and start it like any other."""
    name = (await named_campaign(request)).name
    given = {field: await field_of(request, field) for field in RETRY_FIELDS}

    async def work(progress: ProgressCallback) -> str:
        asked = RetryRequest.model_validate(
            {
                "name": given["new_name"] or None,
                "code": given["code"].replace(",", " ").split(),
                "start_at": moment_of(given["start_at"], given["clock"]) or None,
                "expires_at": moment_of(given["expires_at"], given["clock"]) or None,
            }
        )
        planned = await actions.retry(console_of(request), caller_of(request), name, asked, progress)
        return campaign_url(planned["name"])

    return await attempt_long(request, "retry.html.j2", work, **await _retry_values(request, given))


async def _retry_values(request: web.Request, given: dict[str, str]) -> dict[str, Any]:
    campaign, status = await named_status(request)
    failed = status.counts[RecipientState.FAILED]
    stored = await stored_values(console_of(request).pool, campaign.campaign_id)
    given = {**given, "clock": given["clock"] or clock_of(stored.get("time_zone"))}
    return {
        "campaign": campaign,
        "failed": failed,
        "given": given,
        "next_name": retry_name(campaign.name),
        "final_codes": sorted(FINAL_CODES),
    }


async def ask_settle(request: web.Request) -> web.Response:
    return page(request, "settle.html.j2", **await _settle_values(request))


async def settle(request: web.Request) -> web.Response:
    values, action = await _settle_values(request), await field_of(request, "action")
    name = values["campaign"].name

    async def work() -> str:
        asked = SettleRequest.model_validate({"action": action})
        done = await actions.settle(console_of(request), caller_of(request), name, asked)
        return campaign_url(name, *(["settle"] if done["note"] else []))

    return await attempt(request, "settle.html.j2", work, **values)


async def _settle_values(request: web.Request) -> dict[str, Any]:
    campaign = await named_campaign(request)
    doubts = await actions.doubts(console_of(request), caller_of(request), campaign.name)
    asked = await waiting(console_of(request), Wish.RESEND, campaign.campaign_id)
    return {
        "campaign": campaign,
        "doubts": doubts,
        "asked": asked,
        "names": await read_number_names(console_of(request).pool),
    }


async def ask_approve(request: web.Request) -> web.Response:
    campaign, status = await named_status(request)
    return page(request, "approve.html.j2", campaign=campaign, progress=status)


async def approve(request: web.Request) -> web.Response:
    campaign, status = await named_status(request)

    async def work() -> str:
        await actions.approve(console_of(request), caller_of(request), campaign.name)
        return campaign_url(campaign.name)

    return await attempt(request, "approve.html.j2", work, campaign=campaign, progress=status)


async def ask_delete(request: web.Request) -> web.Response:
    return page(request, "delete.html.j2", campaign=await named_campaign(request))


async def delete(request: web.Request) -> web.Response:
    campaign = await named_campaign(request)

    async def work() -> str:
        await actions.delete(console_of(request), caller_of(request), campaign.name)
        return "/campaigns"

    return await attempt(request, "delete.html.j2", work, campaign=campaign)
