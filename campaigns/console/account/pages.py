"""The pages of numbers, the suppression list and the audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from drumbeat.campaigns.account.number_state import number_state
from drumbeat.campaigns.account.numbers import (
    BusinessNumber,
    list_numbers,
    resume_number,
    set_limit,
    sync_numbers,
)
from drumbeat.campaigns.console.account.api import plus
from drumbeat.campaigns.console.campaigns.live import SharedReadings
from drumbeat.campaigns.console.campaigns.shapes import AuditQuery, SuppressionsQuery
from drumbeat.campaigns.console.web.context import Console, caller_of, console_of
from drumbeat.campaigns.console.web.forms import field_of, lines_of
from drumbeat.campaigns.console.web.problems import Problem, problem_of
from drumbeat.campaigns.console.web.rendering import page, redirect, render, texts_for
from drumbeat.campaigns.console.web.replying import query_of
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.streams import stream_events
from drumbeat.campaigns.phones.suppression import add_suppressions, remove_suppressions, suppression_page
from drumbeat.campaigns.results.audit_pages import audit_page
from drumbeat.engine.errors import UsageError

NUMBERS: web.AppKey[SharedReadings[list[BusinessNumber]]] = web.AppKey("numbers", SharedReadings)
NOTHING_TYPED = {"phones": "", "region": "", "reason": ""}


@dataclass(frozen=True, slots=True)
class WrongLimit:
    """A limit that was refused."""

    number: str
    text: str
    problem: Problem


async def show_numbers(request: web.Request) -> web.Response:
    return await _numbers(request)


async def _numbers(request: web.Request, wrong: WrongLimit | None = None) -> web.Response:
    status = 200 if wrong is None else wrong.problem.status
    values = await _standing(request)
    return page(request, "numbers.html.j2", status, **values, stream="/live/numbers", wrong=wrong)


async def stream_numbers(request: web.Request) -> web.StreamResponse:
    texts = texts_for(request)

    async def read() -> str:
        return render("numbers_live.html.j2", texts, **await _standing(request))

    return await stream_events(request, "view", read)


async def _standing(request: web.Request) -> dict[str, Any]:
    numbers = await request.app[NUMBERS].get("")
    shown = [(number, number_state(number)) for number in numbers]
    return {"numbers": shown, "may_resume": caller_of(request).may(Role.SEND)}


def shared_numbers(console: Console) -> SharedReadings[list[BusinessNumber]]:
    """Return the readings of the numbers: made once a second however many look."""

    async def read(_: str) -> list[BusinessNumber]:
        return await list_numbers(console.pool)

    return SharedReadings(read)


async def sync(request: web.Request) -> web.Response:
    """Read the numbers from the service."""
    console = console_of(request)
    async with console.account() as (service, waba_id):
        await sync_numbers(console.pool, service.numbers, waba_id, actor=caller_of(request).name)
    return redirect("/numbers")


async def resume(request: web.Request) -> web.Response:
    number, actor = request.match_info["number"], caller_of(request).name
    await resume_number(console_of(request).pool, number, actor=actor)
    return redirect("/numbers")


async def limit(request: web.Request) -> web.Response:
    """Set the limit of a number. If it is refused, the page shows the limit as it was typed."""
    text, number = await field_of(request, "limit_per_s"), request.match_info["number"]
    try:
        await set_limit(console_of(request).pool, number, read_limit(text), actor=caller_of(request).name)
    except UsageError as error:
        return await _numbers(request, WrongLimit(number, text, problem_of(error)))
    return redirect("/numbers")


def read_limit(text: str) -> float | None:
    """Return a rate, or None for an empty text, which means the service's own limit. UsageError for other
    texts.
    """
    try:
        return float(text.replace(",", ".")) if text else None
    except ValueError:
        raise UsageError(f"{text!r} is not a rate in messages a second") from None


async def show_suppression(request: web.Request) -> web.Response:
    return await _suppression(request, query_of(request, SuppressionsQuery))


async def _suppression(
    request: web.Request,
    asked: SuppressionsQuery,
    problem: Problem | None = None,
    typed: Mapping[str, str] = NOTHING_TYPED,
) -> web.Response:
    found = await suppression_page(console_of(request).pool, after=asked.after, limit=asked.limit)
    values = {"found": found, "asked": asked, "problem": problem, "typed": typed}
    return page(request, "suppression.html.j2", 200 if problem is None else problem.status, **values)


async def suppress(request: web.Request) -> web.Response:
    """Suppress phones. If that is refused, the page shows the form as it was typed."""
    typed = {name: await field_of(request, name) for name in NOTHING_TYPED}
    phones, region = lines_of(typed["phones"]) or [""], typed["region"] or None
    actor = caller_of(request).name
    try:
        async with console_of(request).pool.acquire() as connection:
            await add_suppressions(connection, phones, typed["reason"], region, actor=actor)
    except UsageError as error:
        return await _suppression(request, SuppressionsQuery(), problem_of(error), typed)
    return redirect(_back(request))


async def unsuppress(request: web.Request) -> web.Response:
    phone = plus(await field_of(request, "phone"))
    async with console_of(request).pool.acquire() as connection:
        await remove_suppressions(connection, [phone], actor=caller_of(request).name)
    return redirect(_back(request))


def _back(request: web.Request) -> str:
    """Return the address to go back to: the person whose page the form was on, else the list."""
    person = request.query.get("person", "")
    return f"/people/{person}" if person.isdecimal() else "/suppression"


async def show_audit(request: web.Request) -> web.Response:
    asked = query_of(request, AuditQuery)
    found = await audit_page(console_of(request).pool, before=asked.before, limit=asked.limit)
    return page(request, "audit.html.j2", found=found)
