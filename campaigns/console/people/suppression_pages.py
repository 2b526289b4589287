"""The pages of the suppression list, and the one that suppresses recipients of a campaign by a filter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from drumbeat.campaigns.console.campaigns.named import campaign_url, named_status
from drumbeat.campaigns.console.campaigns.steering_shapes import Matching
from drumbeat.campaigns.console.people import actions
from drumbeat.campaigns.console.people.shapes import SuppressionsQuery, SuppressMatching, SuppressRequest
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.forms import field_of, lines_of
from drumbeat.campaigns.console.web.problems import Problem, problem_of
from drumbeat.campaigns.console.web.rendering import page, redirect
from drumbeat.campaigns.console.web.replying import query_of
from drumbeat.campaigns.console.web.work import attempt_long
from drumbeat.campaigns.phones.suppression import suppression_page
from drumbeat.campaigns.progress import ProgressCallback
from drumbeat.engine.errors import UsageError

NOTHING_TYPED = {"phones": "", "region": "", "reason": ""}


async def show_suppression(request: web.Request) -> web.Response:
    return await _suppression(request, query_of(request, SuppressionsQuery))


async def _suppression(
    request: web.Request,
    asked: SuppressionsQuery,
    problem: Problem | None = None,
    typed: Mapping[str, str] = NOTHING_TYPED,
) -> web.Response:
    found = await suppression_page(console_of(request).pool, after=asked.after, limit=asked.limit)
    return page(request, "suppression.html.j2", problem=problem, found=found, asked=asked, typed=typed)


async def suppress(request: web.Request) -> web.Response:
    """Suppress phones. If that is refused, the page shows the form as it was typed."""
    typed = {name: await field_of(request, name) for name in NOTHING_TYPED}
    phones, region = lines_of(typed["phones"]) or [""], typed["region"] or None
    # A form may hold more phones than a request of a program.
    asked = SuppressRequest.model_construct(phones=phones, reason=typed["reason"], region=region)
    try:
        await actions.suppress(console_of(request), caller_of(request), asked)
    except UsageError as error:
        return await _suppression(request, SuppressionsQuery(), problem_of(error), typed)
    return redirect(_back(request))


async def unsuppress(request: web.Request) -> web.Response:
    await actions.unsuppress(console_of(request), caller_of(request), await field_of(request, "phone"))
    return redirect(_back(request))


def _back(request: web.Request) -> str:
    """Return the address to go back to: the person whose page the form was on, else the list."""
    person = request.query.get("person", "")
    return f"/people/{person}" if person.isdecimal() else "/suppression"


async def ask_matching(request: web.Request) -> web.Response:
    values = await _matching_values(request)
    return page(request, "suppress_matching.html.j2", reason="", **values)


async def suppress_matching(request: web.Request) -> web.Response:
    """Suppress the recipients who match. The filter is in the address, as it was on the page that asked."""
    values, reason = await _matching_values(request), await field_of(request, "reason")
    name, matching = values["campaign"].name, values["asked"]

    async def work(progress: ProgressCallback) -> str:
        asked = SuppressMatching.model_validate({**matching.model_dump(), "reason": reason})
        await actions.suppress_matching(console_of(request), caller_of(request), name, asked, progress)
        return campaign_url(name, "recipients")

    return await attempt_long(request, "suppress_matching.html.j2", work, reason=reason, **values)


async def _matching_values(request: web.Request) -> dict[str, Any]:
    """Return the values of the page. `count` is how many match, or None if only reading all of them would
    tell.
    """
    (campaign, status), asked = await named_status(request), query_of(request, Matching)
    only_states = asked.wanted.states and not (asked.code or asked.number or asked.country)
    is_counted = bool(only_states) and not (asked.language or asked.variant)
    count = sum(status.counts[state] for state in asked.wanted.states) if is_counted else None
    return {"campaign": campaign, "asked": asked, "count": count, "here_again": request.path_qs}
