"""The pages of recipients, of replies, and of one person, who can be erased there."""

from __future__ import annotations

from aiohttp import web

from drumbeat.campaigns.account.numbers import read_number_names
from drumbeat.campaigns.console.campaigns.named import named_campaign
from drumbeat.campaigns.console.people import actions, api
from drumbeat.campaigns.console.people.shapes import (
    AllRepliesQuery,
    PhoneQuery,
    RecipientsQuery,
    RepliesQuery,
)
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.problems import Problem, problem_of
from drumbeat.campaigns.console.web.rendering import page, path_of, redirect
from drumbeat.campaigns.console.web.replying import query_of
from drumbeat.campaigns.life.forget import read_receipt
from drumbeat.campaigns.phones.normaliser import read_phone
from drumbeat.campaigns.results.phone_history import PhoneHistory
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.errors import TryLater, UsageError


async def show_recipients(request: web.Request) -> web.Response:
    campaign, asked = await named_campaign(request), query_of(request, RecipientsQuery)
    return page(
        request,
        "recipients.html.j2",
        campaign=campaign,
        found=await api.recipients(console_of(request), campaign.name, asked),
        asked=asked,
        states=list(RecipientState),
        names=await read_number_names(console_of(request).pool),
    )


async def show_campaign_replies(request: web.Request) -> web.Response:
    campaign, asked = await named_campaign(request), query_of(request, RepliesQuery)
    found = await api.campaign_replies(console_of(request), campaign.name, asked)
    return page(
        request,
        "replies.html.j2",
        campaign=campaign,
        found=found,
        asked=asked,
        names=await read_number_names(console_of(request).pool),
    )


async def show_replies(request: web.Request) -> web.Response:
    asked = query_of(request, AllRepliesQuery)
    found = await api.replies(console_of(request), asked)
    return page(
        request,
        "replies.html.j2",
        campaign=None,
        found=found,
        asked=asked,
        names=await read_number_names(console_of(request).pool),
    )


async def find_person(request: web.Request) -> web.Response:
    """Show the form. A phone in the address leads to its page."""
    phone, region = (request.query.get(name, "").strip() for name in ("phone", "region"))
    try:
        if phone:
            return redirect(path_of("people", read_phone(phone, region or None)))
    except UsageError:
        return await _person(request, 422, typed=phone, region=region, unreadable=True)
    return await _person(request)


async def show_person(request: web.Request) -> web.Response:
    history = await _history(request)
    return await _person(request, typed=f"+{history.phone}", history=history)


async def _history(request: web.Request) -> PhoneHistory:
    return await api.person(console_of(request), request.match_info["phone"], PhoneQuery())


async def _person(
    request: web.Request,
    status: int = 200,
    *,
    typed: str = "",
    region: str = "",
    unreadable: bool = False,
    history: PhoneHistory | None = None,
) -> web.Response:
    return page(
        request,
        "person.html.j2",
        status,
        history=history,
        typed=typed,
        region=region,
        unreadable=unreadable,
        names=await read_number_names(console_of(request).pool),
    )


async def ask_erase(request: web.Request, problem: Problem | None = None) -> web.Response:
    """Show the data that goes and stays."""
    return page(request, "erase.html.j2", problem=problem, history=await _history(request))


async def erase(request: web.Request) -> web.Response:
    """Erase the person, and go on to the receipt. Its address holds the pseudonym, never the phone."""
    phone = request.match_info["phone"]
    try:
        receipt = await actions.erase(console_of(request), caller_of(request), phone, PhoneQuery())
    except TryLater as error:
        return await ask_erase(request, problem_of(error))
    return redirect(path_of("erased", receipt.pseudonym))


async def show_receipt(request: web.Request) -> web.Response:
    receipt = await read_receipt(console_of(request).pool, request.match_info["pseudonym"])
    return page(request, "erased.html.j2", receipt=receipt)
