"""The pages of a campaign's recipients, and of one person."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from drumbeat.campaigns.campaign import Campaign
from drumbeat.campaigns.console.account.api import plus
from drumbeat.campaigns.console.campaigns.api import named_campaign
from drumbeat.campaigns.console.campaigns.shapes import RecipientQuery, RecipientsQuery
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.forms import field_of, lines_of
from drumbeat.campaigns.console.web.problems import Problem, problem_of
from drumbeat.campaigns.console.web.rendering import campaign_url, page, path_of, redirect
from drumbeat.campaigns.console.web.replying import query_of
from drumbeat.campaigns.phones.normaliser import read_phone
from drumbeat.campaigns.planning.header_uploads import uploads_with
from drumbeat.campaigns.preview.recipient import Choice, choose_recipient
from drumbeat.campaigns.preview.test_send import ReleasedTests, release_tests
from drumbeat.campaigns.results.phone_history import PhoneHistory, phone_history
from drumbeat.campaigns.results.recipient_pages import recipient_page
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.errors import DrumbeatError, UsageError


@dataclass(frozen=True, slots=True)
class TypedTest:
    """The form of a test as it was typed, and the reason why it was refused."""

    phones: str = ""
    region: str = ""
    problem: Problem | None = None


async def show_recipients(request: web.Request) -> web.Response:
    campaign, asked = await named_campaign(request), query_of(request, RecipientsQuery)
    found = await recipient_page(console_of(request).pool, campaign.campaign_id, **asked.model_dump())
    return page(
        request,
        "recipients.html.j2",
        campaign=campaign,
        found=found,
        asked=asked,
        states=list(RecipientState),
    )


async def show_message(request: web.Request) -> web.Response:
    """Show the message as on a phone, with the values of a real row."""
    campaign, asked = await named_campaign(request), query_of(request, RecipientQuery)
    return await _message(request, campaign, Choice(asked.row, asked.phone), TypedTest())


async def _message(request: web.Request, campaign: Campaign, choice: Choice, test: TypedTest) -> web.Response:
    chosen = await choose_recipient(console_of(request).pool, campaign.name, choice)
    values = {"campaign": campaign, "chosen": chosen, "message": chosen.rendered(), "test": test}
    return page(request, "message.html.j2", 200 if test.problem is None else test.problem.status, **values)


async def send_test(request: web.Request) -> web.Response:
    """Send the message to one's own phones, as campaigns of their own, and go to the first of them. If it is
    refused, the page shows the form as it was typed.
    """
    campaign, row = await named_campaign(request), await field_of(request, "row")
    if row and not row.isdecimal():
        raise UsageError(f"row {row!r} is not a number")
    choice = Choice(int(row or 0) or None)
    phones, region = await field_of(request, "phones"), await field_of(request, "region")
    is_launch = await field_of(request, "then") == "launch"
    try:
        tests = await _release_tests(request, campaign, choice, phones, region)
    except DrumbeatError as error:
        typed = TypedTest(phones, region, problem_of(error))
        return await _message(request, campaign, choice, typed)
    return redirect(campaign_url(campaign.name, "launch") if is_launch else campaign_url(tests.campaigns[0]))


async def _release_tests(
    request: web.Request, campaign: Campaign, choice: Choice, phones: str, region: str
) -> ReleasedTests:
    console = console_of(request)
    return await release_tests(
        console.pool,
        console.database_url,
        await choose_recipient(console.pool, campaign.name, choice),
        lines_of(phones) or [""],
        region or None,
        disk=console.settings.disk(),
        open_uploads=uploads_with(console.settings),
        actor=caller_of(request).name,
    )


async def find_person(request: web.Request) -> web.Response:
    """Show the form. A phone in the address leads to its page."""
    phone, region = (request.query.get(name, "").strip() for name in ("phone", "region"))
    try:
        if phone:
            return redirect(path_of("people", read_phone(phone, region or None)))
    except UsageError:
        return _person(request, 422, typed=phone, region=region, unreadable=True)
    return _person(request)


async def show_person(request: web.Request) -> web.Response:
    phone = plus(request.match_info["phone"])
    history = await phone_history(console_of(request).pool, phone)
    return _person(request, typed=f"+{history.phone}", history=history)


def _person(
    request: web.Request,
    status: int = 200,
    *,
    typed: str = "",
    region: str = "",
    unreadable: bool = False,
    history: PhoneHistory | None = None,
) -> web.Response:
    return page(
        request, "person.html.j2", status, history=history, typed=typed, region=region, unreadable=unreadable
    )
