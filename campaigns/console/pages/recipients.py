"""Recipients of a campaign, and one person."""

from __future__ import annotations

from aiohttp import web

from campaigns.console.api.account import plus
from campaigns.console.api.campaigns import named_campaign
from campaigns.console.api.replying import query_of
from campaigns.console.api.shapes import RecipientQuery, RecipientsQuery
from campaigns.console.context import caller_of, console_of
from campaigns.console.countries import countries
from campaigns.console.forms import field_of
from campaigns.console.pages.rendering import campaign_url, page, path_of, redirect, texts_for
from campaigns.planning.header_uploads import uploads_with
from campaigns.preview.recipient import Choice, choose_recipient, read_phone
from campaigns.preview.test_send import release_tests
from campaigns.results.phone_history import PhoneHistory, phone_history
from campaigns.results.recipient_pages import recipient_page
from engine.core.states import RecipientState
from engine.errors import UsageError


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
    """The message as on a phone, with the values of a real row."""
    campaign, asked = await named_campaign(request), query_of(request, RecipientQuery)
    chosen = await choose_recipient(console_of(request).pool, campaign.name, Choice(asked.row, asked.phone))
    return page(request, "message.html.j2", campaign=campaign, chosen=chosen, message=chosen.rendered())


async def send_test(request: web.Request) -> web.Response:
    """The message to one's own phones, as campaigns of their own, and then to the first of them."""
    campaign, console = await named_campaign(request), console_of(request)
    row = await field_of(request, "row")
    if row and not row.isdecimal():
        raise UsageError(f"row {row!r} is not a number")
    chosen = await choose_recipient(console.pool, campaign.name, Choice(int(row or 0) or None))
    phones = [line.strip() for line in (await field_of(request, "phones")).splitlines() if line.strip()]
    tests = await release_tests(
        console.pool,
        console.database_url,
        chosen,
        phones or [""],
        disk=console.settings.disk(),
        open_uploads=uploads_with(console.settings),
        actor=caller_of(request).name,
    )
    if await field_of(request, "then") == "launch":
        return redirect(campaign_url(campaign.name, "launch"))
    return redirect(campaign_url(tests.campaigns[0]))


async def find_person(request: web.Request) -> web.Response:
    """The form; a phone in the address leads to its page."""
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
        request, "person.html.j2", status, history=history, typed=typed, region=region, unreadable=unreadable,
        countries=countries(texts_for(request).code),
    )  # fmt: skip
