"""The pages of numbers and of the audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aiohttp import web

from drumbeat.campaigns.account.number_state import number_state
from drumbeat.campaigns.account.numbers import list_numbers
from drumbeat.campaigns.console.account import actions, api
from drumbeat.campaigns.console.account.shapes import AuditQuery, LimitRequest
from drumbeat.campaigns.console.web.cache import Kind
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.forms import field_of
from drumbeat.campaigns.console.web.problems import Problem, problem_of
from drumbeat.campaigns.console.web.rendering import page, redirect, render, texts_for
from drumbeat.campaigns.console.web.replying import query_of
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.streams import stream_events
from drumbeat.campaigns.console.web.two_people import waiting
from drumbeat.campaigns.doctor.finding import Finding, Level
from drumbeat.campaigns.doctor.receiving import check_receiving
from drumbeat.campaigns.life.second_person import Wish
from drumbeat.engine.errors import UsageError

# What was refused and set aside: a count of all that is set aside, so not at each look.
RECEIVING: Kind[None, list[Finding]] = Kind("receiving", 30.0, rest=20)


@dataclass(frozen=True, slots=True)
class WrongLimit:
    """A limit that was refused."""

    number: str
    text: str
    problem: Problem


async def show_numbers(request: web.Request, wrong: WrongLimit | None = None) -> web.Response:
    status = 200 if wrong is None else wrong.problem.status
    values, console = await _standing(request), console_of(request)
    found = await console.cache.get(RECEIVING, None, lambda: check_receiving(console.pool))
    warnings = [finding for finding in found if finding.level is Level.WARN]
    return page(
        request, "numbers.html.j2", status, **values, stream="/live/numbers", wrong=wrong, warnings=warnings
    )


async def stream_numbers(request: web.Request) -> web.StreamResponse:
    texts = texts_for(request)

    async def read() -> str:
        return render("numbers_live.html.j2", texts, **await _standing(request))

    return await stream_events(request, "view", read)


async def _standing(request: web.Request) -> dict[str, Any]:
    console = console_of(request)
    numbers = await console.cache.get(actions.NUMBERS, None, lambda: list_numbers(console.pool))
    shown = [(number, number_state(number)) for number in numbers]
    asked = {
        number.phone_number_id: await waiting(console, Wish.LIMIT, number.phone_number_id)
        for number in numbers
    }
    return {"numbers": shown, "may_resume": caller_of(request).may(Role.SEND), "asked": asked}


async def sync(request: web.Request) -> web.Response:
    """Read the numbers from the service."""
    await actions.sync_numbers(console_of(request), caller_of(request))
    return redirect("/numbers")


async def resume(request: web.Request) -> web.Response:
    await actions.resume_number(console_of(request), caller_of(request), request.match_info["number"])
    return redirect("/numbers")


async def limit(request: web.Request) -> web.Response:
    """Set the limit of a number. If it is refused, the page shows the limit as it was typed."""
    text, number = await field_of(request, "limit_per_s"), request.match_info["number"]
    try:
        asked = LimitRequest.model_construct(limit_per_s=read_limit(text))
        await actions.set_limit(console_of(request), caller_of(request), number, asked)
    except UsageError as error:
        return await show_numbers(request, WrongLimit(number, text, problem_of(error)))
    return redirect("/numbers")


def read_limit(text: str) -> float | None:
    """Return a rate, or None for an empty text, which means the service's own limit. UsageError for other
    texts.
    """
    try:
        return float(text.replace(",", ".")) if text else None
    except ValueError:
        raise UsageError(f"{text!r} is not a rate in messages a second") from None


async def show_audit(request: web.Request) -> web.Response:
    found = await api.audit(console_of(request), query_of(request, AuditQuery))
    return page(request, "audit.html.j2", found=found)
