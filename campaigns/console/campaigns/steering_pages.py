"""The pages to retry, settle, approve and delete. Each action is confirmed first on a page of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from pydantic import BaseModel

from drumbeat.campaigns.changing.retry import retry_name
from drumbeat.campaigns.console.campaigns.actions import (
    delete_named,
    retry_named,
    settle_named,
    suppress_named,
)
from drumbeat.campaigns.console.campaigns.api import approve_named, named_campaign
from drumbeat.campaigns.console.campaigns.steering_shapes import (
    Matching,
    RetryRequest,
    SettleRequest,
    SuppressMatching,
)
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.forms import field_of
from drumbeat.campaigns.console.web.local_times import clock_of, moment_of
from drumbeat.campaigns.console.web.problems import problem_of
from drumbeat.campaigns.console.web.rendering import campaign_url, page, redirect
from drumbeat.campaigns.console.web.replying import query_of
from drumbeat.campaigns.console.web.work import attempt_long
from drumbeat.campaigns.options.stored import stored_values
from drumbeat.campaigns.progress import ProgressCallback
from drumbeat.campaigns.results.status import CampaignStatus
from drumbeat.engine.core.states import RecipientState

RETRY_FIELDS = ("code", "new_name", "start_at", "expires_at", "clock")


async def attempt(
    request: web.Request, template: str, work: Callable[[], Awaitable[str]], **values: Any
) -> web.Response:
    """Do the work and go to the address that it returns. If it is refused, show the form again with the
    reason.
    """
    try:
        return redirect(await work())
    except Exception as error:
        problem = problem_of(error)
        if problem.code == "unexpected":
            raise
        return page(request, template, problem.status, problem=problem, **values)


async def status_of(request: web.Request) -> CampaignStatus:
    campaign = await named_campaign(request)
    return await console_of(request).watch.status(campaign.campaign_id)


async def ask_retry(request: web.Request) -> web.Response:
    asked = query_of(request, Matching)
    given = {**dict.fromkeys(RETRY_FIELDS, ""), "code": " ".join(map(str, asked.code))}
    return page(request, "retry.html.j2", problem=None, **await _retry_values(request, given))


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
        created = await retry_named(console_of(request), name, asked, caller_of(request).name, progress)
        return campaign_url(created.name)

    return await attempt_long(request, "retry.html.j2", work, **await _retry_values(request, given))


async def _retry_values(request: web.Request, given: dict[str, str]) -> dict[str, Any]:
    campaign, status = await named_campaign(request), await status_of(request)
    failed = status.counts[RecipientState.FAILED]
    stored = await stored_values(console_of(request).pool, campaign.campaign_id)
    given = {**given, "clock": given["clock"] or clock_of(stored.get("time_zone"))}
    return {"campaign": campaign, "failed": failed, "given": given, "next_name": retry_name(campaign.name)}


async def ask_settle(request: web.Request) -> web.Response:
    campaign, settled = await named_campaign(request), await settle_named(request, None)
    return page(request, "settle.html.j2", campaign=campaign, settled=settled, problem=None)


async def settle(request: web.Request) -> web.Response:
    campaign, settled = await named_campaign(request), await settle_named(request, None)
    action = await field_of(request, "action")

    async def work() -> str:
        await settle_named(request, SettleRequest.model_validate({"action": action}).action)
        return campaign_url(campaign.name)

    return await attempt(request, "settle.html.j2", work, campaign=campaign, settled=settled)


async def ask_approve(request: web.Request) -> web.Response:
    campaign, status = await named_campaign(request), await status_of(request)
    return page(request, "approve.html.j2", campaign=campaign, progress=status, problem=None)


async def approve(request: web.Request) -> web.Response:
    campaign, status = await named_campaign(request), await status_of(request)

    async def work() -> str:
        await approve_named(request)
        return campaign_url(campaign.name)

    return await attempt(request, "approve.html.j2", work, campaign=campaign, progress=status)


async def ask_delete(request: web.Request) -> web.Response:
    return page(request, "delete.html.j2", campaign=await named_campaign(request), problem=None)


async def delete(request: web.Request) -> web.Response:
    campaign = await named_campaign(request)

    async def work() -> str:
        await delete_named(request)
        return "/campaigns"

    return await attempt(request, "delete.html.j2", work, campaign=campaign)


async def ask_suppress(request: web.Request) -> web.Response:
    values = await _suppress_values(request)
    return page(request, "suppress_matching.html.j2", problem=None, reason="", **values)


async def suppress(request: web.Request) -> web.Response:
    """Suppress the recipients who match. The filter is in the address, as it was on the page that asked."""
    values, reason = await _suppress_values(request), await field_of(request, "reason")
    campaign, asked = values["campaign"], values["asked"]

    async def work(progress: ProgressCallback) -> str:
        wanted = _with(SuppressMatching, asked, reason=reason)
        await suppress_named(console_of(request), campaign, wanted, caller_of(request).name, progress)
        return campaign_url(campaign.name, "recipients")

    return await attempt_long(request, "suppress_matching.html.j2", work, reason=reason, **values)


def _with(model: type[SuppressMatching], asked: BaseModel, **more: Any) -> SuppressMatching:
    return model.model_validate({**asked.model_dump(), **more})


async def _suppress_values(request: web.Request) -> dict[str, Any]:
    """Return the values of the page. `count` is how many match, or None if only reading all of them would
    tell.
    """
    campaign, status, asked = (
        await named_campaign(request),
        await status_of(request),
        query_of(request, Matching),
    )
    only_states = asked.wanted.states and not (asked.code or asked.number or asked.country)
    is_counted = bool(only_states) and not (asked.language or asked.variant)
    count = sum(status.counts[state] for state in asked.wanted.states) if is_counted else None
    return {"campaign": campaign, "asked": asked, "count": count, "here_again": request.path_qs}
