"""The first step of a new campaign: the list of recipients. It is uploaded, and its columns are
recognised.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from aiohttp import web

from drumbeat.campaigns.audience.check.row_check import row_check
from drumbeat.campaigns.audience.open.header_row import HeaderRowUndecided
from drumbeat.campaigns.audience.open.hidden_rows import HiddenRowsUndecided
from drumbeat.campaigns.audience.open.opening import sheets_of
from drumbeat.campaigns.console.new.choices import drop_corrections, read_choices, write_choices
from drumbeat.campaigns.console.new.like import choose_like
from drumbeat.campaigns.console.new.list_rules import phone_rules
from drumbeat.campaigns.console.new.named import upload_of
from drumbeat.campaigns.console.new.step import Step, step_of
from drumbeat.campaigns.console.web.context import console_of
from drumbeat.campaigns.console.web.forms import form_of, next_part
from drumbeat.campaigns.console.web.problems import Problem, Refused, problem_of
from drumbeat.campaigns.console.web.rendering import page, path_of, redirect, with_query
from drumbeat.campaigns.console.web.uploads import Upload, store_upload
from drumbeat.campaigns.options.sources import HiddenRowsChoice
from drumbeat.campaigns.phones.phone_reader import LEFT_OUT
from drumbeat.campaigns.phones.plain_digits import NO_COLUMN
from drumbeat.campaigns.results.campaign_pages import campaign_page
from drumbeat.engine.core.phone_aliases import COUNTRIES
from drumbeat.engine.errors import DrumbeatError

SHEETS_FILE = "sheets.json"
COLUMNS_MAX = 100  # with a text for empty cells; no message takes more
CAMPAIGNS_OFFERED = 20  # to leave their recipients out; the newest
OF_ONE_HEADER = ("phone_column", "country_column", "default", "param", "language_column", "language_map")
OF_ONE_SHEET = (*OF_ONE_HEADER, "hidden_rows", "header_row")
HEADER_ROW_MAX = 1_000  # further down, no title stands above it


async def upload(request: web.Request) -> web.Response:
    """Store the file, and go on to its address."""
    part = await next_part(request, "audience")
    if not part.filename:
        raise Refused(422, "wrong_input", what="no file was chosen")
    try:
        stored = await store_upload(console_of(request).own, part)
    except (DrumbeatError, Refused) as error:
        return await show_upload(request, problem_of(error))
    if name := request.query.get("like", ""):
        await choose_like(request, stored, name)
    return redirect(with_query(path_of("new", stored.reference), like=name))


async def show_list(request: web.Request) -> web.Response:
    """Show the first rows, and the kind of each column. If the file is no table, show the form for another
    one.
    """
    stored = upload_of(request)
    try:
        sheets = await _sheets(stored)
    except DrumbeatError as error:
        return await show_upload(request, problem_of(error))
    if len(sheets) > 1 and "sheet" not in read_choices(stored):
        return page(request, "new_sheet.html.j2", upload=stored, sheets=sheets)
    return await _list(request, stored, sheets)


async def save_list(request: web.Request) -> web.Response:
    """Keep the choices, and go on to the check. Another worksheet or encoding makes another list."""
    fields: Any = await form_of(request)
    stored = upload_of(request)
    sheet = str(fields.get("sheet", "")) or None
    if sheet is not None and sheet != read_choices(stored).get("sheet"):
        drop_corrections(stored)
        write_choices(stored, sheet=sheet, **dict.fromkeys(OF_ONE_SHEET))
        return redirect(path_of("new", stored.reference))
    if (hidden := str(fields.get("hidden_rows", ""))) and hidden != read_choices(stored).get("hidden_rows"):
        drop_corrections(stored)
        write_choices(stored, hidden_rows=hidden)
    if (header_row := str(fields.get("header_row", ""))) and header_row != _header_row(stored):
        return _choose_header_row(stored, header_row)
    if "encoding" in fields:
        drop_corrections(stored)
        encoding = str(fields["encoding"]) or None
        write_choices(stored, encoding=encoding, **dict.fromkeys(OF_ONE_SHEET))
        return redirect(path_of("new", stored.reference))
    step = await step_of(request)
    if country := str(fields.get("use_region", "")):
        row_check(step.seen.columns, stored.name, phone_rules(stored, {**step.choices, "region": country}))
        write_choices(stored, region=country)
        return redirect(step.path("rows"))
    chosen = chosen_of(fields, step)
    typed = replace(step, choices={**step.choices, **chosen})
    try:
        row_check(step.seen.columns, stored.name, phone_rules(stored, typed.choices))
    except DrumbeatError as error:
        return _list_page(request, typed, await _sheets(stored), await _offered(request), problem_of(error))
    write_choices(stored, **{name: value or None for name, value in chosen.items()})
    return redirect(step.path("rows"))


def _header_row(stored: Upload) -> str:
    return str(read_choices(stored).get("header_row", ""))


def _choose_header_row(stored: Upload, written: str) -> web.Response:
    """Keep the row with the names of the columns. Other names make another list."""
    number = int(written) if written.isdecimal() and len(written) < 5 else 0
    if not 1 <= number <= HEADER_ROW_MAX:
        raise Refused(422, "wrong_input", what=f"the names of the columns are in row 1 to {HEADER_ROW_MAX:,}")
    drop_corrections(stored)
    write_choices(stored, **dict.fromkeys(OF_ONE_HEADER), header_row=number)
    return redirect(path_of("new", stored.reference))


def chosen_of(fields: Any, step: Step) -> dict[str, Any]:
    """Return the choices of the form. An empty value means that nothing is chosen."""
    columns = step.seen.columns[:COLUMNS_MAX]
    phone_column = str(fields.get("phone_column", ""))
    texts = [str(fields.get(f"empty.{index}", "")).strip() for index in range(len(columns))]
    return {
        "phone_column": phone_column,
        "region": str(fields.get("region", "")).strip(),
        "country_column": str(fields.get("country_column", "")),
        "repair_old": [country for country in COUNTRIES if f"repair_old.{country}" in fields],
        "first_number": "first_number" in fields,
        "leave_out": [kind.value for kind in LEFT_OUT if f"leave_out.{kind.value}" in fields],
        "only_mobile": "only_mobile" in fields,
        "default": {
            column: text
            for column, text in zip(columns, texts, strict=True)
            if text and column != phone_column
        },
        "exclude": [*step.upload.beside, *map(str, fields.getall("exclude", []))],
    }


async def _list(request: web.Request, stored: Upload, sheets: dict[str, int]) -> web.Response:
    try:
        step = await step_of(request)
    except HiddenRowsUndecided as error:
        return page(
            request, "new_hidden_rows.html.j2", upload=stored, choices=HiddenRowsChoice, count=error.count
        )
    except HeaderRowUndecided as error:
        rows, proposed = error.rows, error.proposed
        return page(request, "new_header_row.html.j2", upload=stored, rows=rows, proposed=proposed)
    except DrumbeatError as error:
        problem = problem_of(error)
        if _header_row(stored):
            write_choices(stored, header_row=None)  # else there would be no way back
        if len(sheets) < 2:
            return await show_upload(request, problem)
        return page(request, "new_sheet.html.j2", problem=problem, upload=stored, sheets=sheets)
    if step.seen.candidates:
        return page(request, "new_encoding.html.j2", step=step)
    return _list_page(request, step, sheets, await _offered(request), None)


def _list_page(
    request: web.Request, step: Step, sheets: dict[str, int], offered: list[str], problem: Problem | None
) -> web.Response:
    chosen = [name for name in step.choices.get("exclude", []) if name not in step.upload.beside]
    return page(
        request,
        "new_list.html.j2",
        step=step,
        sheets=sheets,
        campaigns=list(dict.fromkeys([*chosen, *offered])),
        changes=COUNTRIES,
        kinds=list(LEFT_OUT),
        no_column=NO_COLUMN,
        hidden_rows=HiddenRowsChoice if "hidden_rows" in step.choices else (),
        columns_max=COLUMNS_MAX,
        problem=problem,
    )


async def show_upload(request: web.Request, problem: Problem | None = None) -> web.Response:
    most, like = console_of(request).own.upload_bytes_max, request.query.get("like", "")
    return page(request, "new_upload.html.j2", problem=problem, bytes_max=most, like=like)


async def _offered(request: web.Request) -> list[str]:
    async with console_of(request).pool.acquire() as connection:
        found = await campaign_page(connection, limit=CAMPAIGNS_OFFERED)
    return [each.name for each in found.campaigns if each.planned_at is not None]


async def _sheets(stored: Upload) -> dict[str, int]:
    """Return the sheets of a workbook with their numbers of rows.

    They are kept, because opening a large workbook takes seconds.
    """
    kept: dict[str, int] | None = stored.read_json(SHEETS_FILE)
    if kept is not None:
        return kept
    async with stored.errors_named():
        found = await asyncio.to_thread(sheets_of, stored.path)
    stored.write_json(SHEETS_FILE, found)
    return found
