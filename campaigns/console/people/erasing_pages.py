"""The pages that erase one person: before, the data that goes and stays; afterwards, the receipt."""

from __future__ import annotations

from aiohttp import web

from drumbeat.campaigns.console.account.api import plus
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.problems import Problem, problem_of
from drumbeat.campaigns.console.web.rendering import page, path_of, redirect
from drumbeat.campaigns.life.forget import forget_person, read_receipt
from drumbeat.campaigns.results.person import read_spellings
from drumbeat.campaigns.results.phone_history import phone_history
from drumbeat.engine.errors import TryLater


async def ask(request: web.Request) -> web.Response:
    return await _ask(request)


async def _ask(request: web.Request, problem: Problem | None = None) -> web.Response:
    history = await phone_history(console_of(request).pool, plus(request.match_info["phone"]))
    status = 200 if problem is None else problem.status
    return page(request, "erase.html.j2", status, history=history, problem=problem)


async def erase(request: web.Request) -> web.Response:
    """Erase the person, and go on to the receipt. Its address holds the pseudonym, never the phone."""
    spellings = read_spellings(plus(request.match_info["phone"]), None)
    try:
        async with console_of(request).pool.acquire() as connection:
            receipt = await forget_person(connection, spellings, actor=caller_of(request).name)
    except TryLater as error:
        return await _ask(request, problem_of(error))
    return redirect(path_of("erased", receipt.pseudonym))


async def show_receipt(request: web.Request) -> web.Response:
    receipt = await read_receipt(console_of(request).pool, request.match_info["pseudonym"])
    return page(request, "erased.html.j2", receipt=receipt)
