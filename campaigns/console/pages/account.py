"""Numbers, templates, the suppression list and the audit."""

from __future__ import annotations

from aiohttp import web

from campaigns.account.numbers import list_numbers, resume_number, set_limit
from campaigns.account.templates import list_templates, templates_named
from campaigns.console.api.account import plus
from campaigns.console.api.replying import query_of
from campaigns.console.api.shapes import AuditQuery, SuppressionsQuery
from campaigns.console.context import caller_of, console_of
from campaigns.console.forms import field_of
from campaigns.console.pages.rendering import page, redirect
from campaigns.results.audit_pages import audit_page
from campaigns.suppression import add_suppressions, remove_suppressions, suppression_page
from engine.core.rendering import render_message
from engine.errors import UsageError


async def show_numbers(request: web.Request) -> web.Response:
    return page(request, "numbers.html.j2", numbers=await list_numbers(console_of(request).pool))


async def resume(request: web.Request) -> web.Response:
    number, actor = request.match_info["number"], caller_of(request).name
    await resume_number(console_of(request).pool, number, actor=actor)
    return redirect("/numbers")


async def limit(request: web.Request) -> web.Response:
    text, number = await field_of(request, "limit_per_s"), request.match_info["number"]
    await set_limit(console_of(request).pool, number, read_limit(text), actor=caller_of(request).name)
    return redirect("/numbers")


def read_limit(text: str) -> float | None:
    """A rate; None for an empty text, which means the service's own limit. UsageError for other texts."""
    try:
        return float(text.replace(",", ".")) if text else None
    except ValueError:
        raise UsageError(f"{text!r} is not a rate in messages a second") from None


async def show_templates(request: web.Request) -> web.Response:
    return page(request, "templates.html.j2", templates=await list_templates(console_of(request).pool))


async def show_template(request: web.Request) -> web.Response:
    """Each language as it is read, with its placeholders in place of values."""
    name = request.match_info["name"]
    found = await templates_named(console_of(request).pool, name)
    shown = [(each, render_message(each.definition.get("components") or (), (), ())) for each in found]
    return page(request, "template.html.j2", name=name, shown=shown)


async def show_suppression(request: web.Request) -> web.Response:
    asked = query_of(request, SuppressionsQuery)
    found = await suppression_page(console_of(request).pool, after=asked.after, limit=asked.limit)
    return page(request, "suppression.html.j2", found=found, asked=asked)


async def suppress(request: web.Request) -> web.Response:
    phones = [line.strip() for line in (await field_of(request, "phones")).splitlines() if line.strip()]
    if not phones:
        raise UsageError("no phone was given")
    async with console_of(request).pool.acquire() as connection:
        await add_suppressions(
            connection, phones, await field_of(request, "reason"), actor=caller_of(request).name
        )
    return redirect(_back(request))


async def unsuppress(request: web.Request) -> web.Response:
    phone = plus(await field_of(request, "phone"))
    async with console_of(request).pool.acquire() as connection:
        await remove_suppressions(connection, [phone], actor=caller_of(request).name)
    return redirect(_back(request))


def _back(request: web.Request) -> str:
    """To the person whose page the form was on, else to the list."""
    person = request.query.get("person", "")
    return f"/people/{person}" if person.isdecimal() else "/suppression"


async def show_audit(request: web.Request) -> web.Response:
    asked = query_of(request, AuditQuery)
    found = await audit_page(console_of(request).pool, before=asked.before, limit=asked.limit)
    return page(request, "audit.html.j2", found=found)
