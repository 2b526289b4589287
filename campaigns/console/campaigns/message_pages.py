"""The page of a campaign's message as one recipient gets it, and tests of it to one's own phones."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from drumbeat.campaigns.campaign import Campaign
from drumbeat.campaigns.console.campaigns import actions
from drumbeat.campaigns.console.campaigns.named import campaign_url, named_campaign
from drumbeat.campaigns.console.campaigns.shapes import RecipientQuery
from drumbeat.campaigns.console.campaigns.steering_shapes import TestSendRequest
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.forms import field_of, lines_of
from drumbeat.campaigns.console.web.problems import Problem, problem_of
from drumbeat.campaigns.console.web.rendering import page, redirect
from drumbeat.campaigns.console.web.replying import query_of
from drumbeat.campaigns.preview.recipient import Choice, choose_recipient
from drumbeat.engine.errors import DrumbeatError, UsageError


@dataclass(frozen=True, slots=True)
class TypedTest:
    """The form of a test as it was typed, and the reason why it was refused."""

    phones: str = ""
    region: str = ""
    problem: Problem | None = None


async def show_message(request: web.Request) -> web.Response:
    """Show the message as on a phone, with the values of a real row."""
    campaign, asked = await named_campaign(request), query_of(request, RecipientQuery)
    return await _message(request, campaign, Choice(asked.row, asked.phone), TypedTest())


async def _message(request: web.Request, campaign: Campaign, choice: Choice, test: TypedTest) -> web.Response:
    chosen = await choose_recipient(console_of(request).pool, campaign.name, choice)
    return page(
        request,
        "message.html.j2",
        problem=test.problem,
        campaign=campaign,
        chosen=chosen,
        message=chosen.rendered(),
        test=test,
    )


async def send_test(request: web.Request) -> web.Response:
    """Send the message to one's own phones, as campaigns of their own, and go to the first of them. If it is
    refused, the page shows the form as it was typed.
    """
    campaign, text = await named_campaign(request), await field_of(request, "row")
    if text and not text.isdecimal():
        raise UsageError(f"row {text!r} is not a number")
    row = int(text or 0) or None
    phones, region = await field_of(request, "phones"), await field_of(request, "region")
    # A form may name more phones than a request of a program.
    asked = TestSendRequest.model_construct(phones=lines_of(phones) or [""], region=region or None, row=row)
    try:
        tests = await actions.test_send(console_of(request), caller_of(request), campaign.name, asked)
    except DrumbeatError as error:
        typed = TypedTest(phones, region, problem_of(error))
        return await _message(request, campaign, Choice(row), typed)
    if await field_of(request, "then") == "launch":
        return redirect(campaign_url(campaign.name, "launch"))
    return redirect(campaign_url(tests["campaigns"][0]))
