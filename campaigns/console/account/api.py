"""The numbers, templates, the suppression list and the audit in the interface."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from aiohttp import web

from drumbeat.campaigns.account.numbers import list_numbers, resume_number, set_limit, sync_numbers
from drumbeat.campaigns.account.templates import (
    create_template,
    delete_template,
    list_templates,
    sync_templates,
    templates_named,
)
from drumbeat.campaigns.actor import note_audit
from drumbeat.campaigns.console.account.shapes import SuppressionImport, TemplateRequest, TemplateToDelete
from drumbeat.campaigns.console.campaigns.shapes import (
    AuditQuery,
    LimitRequest,
    PhoneQuery,
    SuppressionsQuery,
    SuppressRequest,
)
from drumbeat.campaigns.console.new.actions import first_rejects
from drumbeat.campaigns.console.people.suppression_import import import_upload
from drumbeat.campaigns.console.web.attachments import attachment
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.csv_text import csv_bytes
from drumbeat.campaigns.console.web.forms import next_part, part_text
from drumbeat.campaigns.console.web.replying import body_of, once, query_of, reply, worked
from drumbeat.campaigns.console.web.uploads import discard, store_upload
from drumbeat.campaigns.life.forget import forget_person
from drumbeat.campaigns.phones.suppression import (
    EXPORT_HEADER,
    SuppressionCounts,
    add_suppressions,
    export_cells,
    list_suppressions,
    remove_suppressions,
    suppression_page,
)
from drumbeat.campaigns.progress import ProgressCallback
from drumbeat.campaigns.results.audit_pages import audit_page
from drumbeat.campaigns.results.person import read_spellings
from drumbeat.campaigns.results.phone_history import phone_history
from drumbeat.engine.api.endpoints.templates import NewTemplate

EXPORT_ROWS = 5_000  # written at once


async def numbers(request: web.Request) -> web.Response:
    return reply({"numbers": await list_numbers(console_of(request).pool)})


async def resume(request: web.Request) -> web.Response:
    pool, number = console_of(request).pool, request.match_info["number"]
    return reply(await resume_number(pool, number, actor=caller_of(request).name))


async def limit(request: web.Request) -> web.Response:
    asked, number = await body_of(request, LimitRequest), request.match_info["number"]
    await set_limit(console_of(request).pool, number, asked.limit_per_s, actor=caller_of(request).name)
    return reply({"phone_number_id": number, "limit_per_s": asked.limit_per_s})


async def templates(request: web.Request) -> web.Response:
    return reply({"templates": await list_templates(console_of(request).pool)})


async def template(request: web.Request) -> web.Response:
    """Show a template in each of its languages."""
    return reply({"templates": await templates_named(console_of(request).pool, request.match_info["name"])})


async def sync_all_numbers(request: web.Request) -> web.Response:
    """Read the numbers from the service."""
    console = console_of(request)
    async with console.account() as (service, waba_id):
        found = await sync_numbers(console.pool, service.numbers, waba_id, actor=caller_of(request).name)
    return reply({"numbers": found})


async def sync_all_templates(request: web.Request) -> web.Response:
    """Read the templates from the service."""
    console = console_of(request)
    async with console.account() as (service, waba_id):
        found = await sync_templates(console.pool, service.templates, waba_id, actor=caller_of(request).name)
    return reply({"templates": found})


async def submit_template(request: web.Request) -> web.Response:
    """Submit a template. Its review takes a while: ask for the template to see its status."""
    asked, console = await body_of(request, TemplateRequest), console_of(request)

    async def work() -> dict[str, Any]:
        new = NewTemplate(**asked.model_dump())
        async with console.account() as (service, waba_id):
            actor = caller_of(request).name
            created = await create_template(console.pool, service, waba_id, new, actor=actor)
        return {"name": new.name, "language": new.language, **asdict(created)}

    return reply(await once(request, await request.read(), work), 201)


async def remove_template(request: web.Request) -> web.Response:
    """Delete a template, in all its languages or in one."""
    name, language = request.match_info["name"], query_of(request, TemplateToDelete).language
    console, actor = console_of(request), caller_of(request).name
    async with console.account() as (service, waba_id):
        deleted = await delete_template(console.pool, service, waba_id, name, language, actor=actor)
    return reply({"name": name, "languages": [each.language for each in deleted]})


async def suppressions(request: web.Request) -> web.Response:
    asked = query_of(request, SuppressionsQuery)
    page = await suppression_page(console_of(request).pool, after=asked.after, limit=asked.limit)
    listed = [{**asdict(entry), "phone": str(entry.phone)} for entry in page.entries]
    return reply({"suppressions": listed, "next": page.next})


async def suppress(request: web.Request) -> web.Response:
    asked = await body_of(request, SuppressRequest)
    async with console_of(request).pool.acquire() as connection:
        counts = await add_suppressions(
            connection, asked.phones, asked.reason, asked.region, actor=caller_of(request).name
        )
    return reply(_change(counts))


async def unsuppress(request: web.Request) -> web.Response:
    phone = f"+{request.match_info['phone'].lstrip('+')}"
    async with console_of(request).pool.acquire() as connection:
        counts = await remove_suppressions(connection, [phone], actor=caller_of(request).name)
    return reply(_change(counts))


async def export_suppressions(request: web.Request) -> web.StreamResponse:
    """Send the whole suppression list as CSV, page by page."""
    await note_audit(console_of(request).pool, caller_of(request).name, "suppression-export")
    response = web.StreamResponse(
        headers={
            "Content-Type": "text/csv; charset=utf-8",
            "Content-Disposition": attachment("csv", "suppressions", zone=console_of(request).own.zone),
        }
    )
    await response.prepare(request)
    rows: list[tuple[object, ...]] = [EXPORT_HEADER]
    async for entry in list_suppressions(console_of(request).pool):
        rows.append(export_cells(entry))
        if len(rows) >= EXPORT_ROWS:
            await response.write(csv_bytes(rows))
            rows.clear()
    await response.write(csv_bytes(rows))
    return response


async def import_list(request: web.Request) -> web.Response:
    """Suppress the phones of a file in the form of an audience. A repeat changes nothing."""
    asked = SuppressionImport.model_validate_json(await part_text(await next_part(request, "spec")))
    console = console_of(request)
    upload = await store_upload(console.own, await next_part(request, "file"))
    actor = caller_of(request).name

    async def work(progress: ProgressCallback) -> dict[str, Any]:
        counts = await import_upload(
            console.pool, upload, **asked.model_dump(), actor=actor, progress=progress
        )
        listed = first_rejects(upload.rejects) if upload.rejects.exists() else []
        return {**_change(counts), "rejected": counts.rejected, "hidden": counts.hidden, "rejects": listed}

    return await worked(request, upload.reference.encode(), work, release=lambda: discard(upload))


def _change(counts: SuppressionCounts) -> dict[str, int]:
    return {"changed": counts.changed, "unchanged": counts.unchanged}


async def person(request: web.Request) -> web.Response:
    region = query_of(request, PhoneQuery).region
    phone = request.match_info["phone"]
    return reply(await phone_history(console_of(request).pool, phone if region else plus(phone), region))


async def erase(request: web.Request) -> web.Response:
    region = query_of(request, PhoneQuery).region
    phone = request.match_info["phone"]
    spellings = read_spellings(phone if region else plus(phone), region)
    async with console_of(request).pool.acquire() as connection:
        return reply(await forget_person(connection, spellings, actor=caller_of(request).name))


def plus(phone: str) -> str:
    """Return the phone with its plus. Digits in an address are those of E.164, which have one."""
    return f"+{phone}" if phone.isdecimal() else phone


async def audit(request: web.Request) -> web.Response:
    asked = query_of(request, AuditQuery)
    return reply(await audit_page(console_of(request).pool, before=asked.before, limit=asked.limit))
