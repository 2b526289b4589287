"""The check of a new campaign, still step 1: every row is checked, and the bad ones can be corrected."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from drumbeat.campaigns.audience.check.bad_rows import KEPT_MAX, BadRow
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.console.new.choices import (
    add_corrections,
    drop_corrections,
    read_corrections,
    reading_of,
    write_choices,
)
from drumbeat.campaigns.console.new.list_check import FoundList, forget_found, list_checks
from drumbeat.campaigns.console.new.list_rules import checked_columns, list_rules, shown_columns
from drumbeat.campaigns.console.new.named import upload_of
from drumbeat.campaigns.console.new.step import Step, step_of
from drumbeat.campaigns.console.web.context import console_of
from drumbeat.campaigns.console.web.forms import form_of
from drumbeat.campaigns.console.web.problems import Problem, Refused, problem_of
from drumbeat.campaigns.console.web.rendering import page, redirect, render, texts_for, with_query
from drumbeat.campaigns.console.web.streams import stream_events
from drumbeat.engine.errors import NotFound, UsageError

PAGE_ROWS = 25
# What a person may ask for beside the findings: the choice, and the findings that it changes.
REQUESTS = {
    "repair": frozenset({"mojibake", "html_entity", "url_beginning", "url_characters"}),
    "empty_words": frozenset({"empty_word", "unfilled_placeholder"}),
    "keep_spaces": frozenset({"spaces_removed"}),
}
WAIT_S = 1.5  # a list of some thousand rows is checked by then, and nobody sees that it takes time
_FIELD = re.compile(r"cell\.([0-9]{1,18})\.([0-9]{1,4})")

Typed = Mapping[int, Mapping[int, str]]  # by row and column


@dataclass(frozen=True, slots=True)
class RowsView:
    """The bad rows as a page shows them. `found` None: the check is under way. `typed`: the texts of a form
    that were not taken.
    """

    step: Step
    rules: RowRules
    found: FoundList | None
    after: int
    typed: Typed

    @property
    def checked(self) -> list[int]:
        return checked_columns(self.step.seen.columns, self.rules)

    @property
    def shown(self) -> list[int]:
        return shown_columns(self.step.seen.columns, self.checked)

    @property
    def rows(self) -> Sequence[BadRow]:
        """Return the bad rows of this page."""
        return self._from_here[:PAGE_ROWS]

    @property
    def following(self) -> int | None:
        """Return the index at which the next page begins."""
        return self.rows[-1].line if len(self._from_here) > PAGE_ROWS else None

    @property
    def is_cut(self) -> bool:
        """Return whether there are more bad rows than can be corrected at once."""
        return self.found is not None and self.found.bad > KEPT_MAX

    @property
    def requests(self) -> list[tuple[str, bool]]:
        """Return the choices that are to be offered, and whether each is chosen."""
        codes = {finding["code"] for finding in (() if self.found is None else self.found.findings)}
        chosen = {name: bool(self.step.choices.get(name)) for name in REQUESTS}
        return [(name, chosen[name]) for name in REQUESTS if chosen[name] or codes & REQUESTS[name]]

    @property
    def next_path(self) -> str:
        return self.step.path("sending" if "template" in self.step.choices else "message")

    def is_editable(self, row: BadRow, index: int) -> bool:
        return not row.column or index in self.checked

    def is_wrong(self, row: BadRow, index: int) -> bool:
        return not row.column or self.step.seen.columns[index] == row.column

    def text(self, row: BadRow, index: int) -> str:
        return self.typed.get(row.line, {}).get(index, row.cells[index])

    @property
    def _from_here(self) -> Sequence[BadRow]:
        found = () if self.found is None else self.found.bad_rows
        return [row for row in found if row.line > self.after]


async def show_rows(request: web.Request) -> web.Response:
    """Show the result of the check. Start the check if there is none."""
    step = await step_of(request)
    if "phone_column" not in step.choices:
        return redirect(step.path())
    return await _page(request, step, {})


async def correct(request: web.Request) -> web.Response:
    """Keep the corrections, and check again."""
    fields: Any = await form_of(request)
    step = await step_of(request)
    if "discard" in fields:
        drop_corrections(step.upload)
        return redirect(step.path("rows"))
    if asked := REQUESTS.keys() & fields.keys():
        write_choices(step.upload, **{name: fields[name] == "1" or None for name in asked})
        return redirect(step.path("rows"))
    if "again" in fields:
        forget_found(step.upload)
        return redirect(step.path("rows"))
    typed = _typed(fields)
    try:
        add_corrections(step.upload, corrections_of(typed, (await _view(request, step, typed)).found))
    except (UsageError, Refused) as error:
        return await _page(request, step, typed, problem_of(error))
    return redirect(with_query(step.path("rows"), after=_after(request)))


def corrections_of(typed: Typed, found: FoundList | None) -> dict[int, list[str]]:
    """Return each row in which a text differs from the list, whole. Refused if the list was checked again
    since the page was made.
    """
    bad = {row.line: row.cells for row in (() if found is None else found.bad_rows)}
    rows: dict[int, list[str]] = {}
    for line, cells in typed.items():
        before = bad.get(line, ())
        if any(index >= len(before) for index in cells):
            raise Refused(409, "stale_form")
        after = [cells.get(index, text) for index, text in enumerate(before)]
        if after != list(before):
            rows[line] = after
    return rows


async def download(request: web.Request) -> web.StreamResponse:
    """Send the list of bad rows, as the command line writes it."""
    upload = upload_of(request)
    if not upload.rejects.exists():
        raise NotFound("there is no list of bad rows", remedy="check the rows first")
    headers = {"Content-Type": "text/csv", "Content-Disposition": 'attachment; filename="bad-rows.csv"'}
    return web.FileResponse(upload.rejects, headers=headers)


async def stream_rows(request: web.Request) -> web.StreamResponse:
    """Send the progress of the check. When it has ended, the page loads again."""
    upload, texts = upload_of(request), texts_for(request)

    async def read() -> str:
        check = console_of(request).part(list_checks).under_way(upload)
        return render("new_rows_live.html.j2", texts, check=check)

    return await stream_events(request, "view", read)


def _typed(fields: Any) -> Typed:
    typed: dict[int, dict[int, str]] = {}
    for name, text in fields.items():
        if (cell := _FIELD.fullmatch(name)) is not None:
            typed.setdefault(int(cell[1]), {})[int(cell[2])] = str(text)
    return typed


def _after(request: web.Request) -> int:
    text = request.query.get("after", "")
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else 0


async def _view(request: web.Request, step: Step, typed: Typed) -> RowsView:
    console = console_of(request)
    rules = await list_rules(console, step.upload, step.seen.columns)
    reading = reading_of(step.choices)
    found = await console.part(list_checks).found(step.upload, rules, reading, wait_s=WAIT_S)
    return RowsView(step, rules, found, _after(request), typed)


async def _page(
    request: web.Request, step: Step, typed: Typed, problem: Problem | None = None
) -> web.Response:
    view = await _view(request, step, typed)
    status = 200 if problem is None else problem.status
    if view.found is None:
        check = console_of(request).part(list_checks).under_way(step.upload)
        part = render("new_rows_live.html.j2", texts_for(request), check=check)
        return page(request, "new_rows_wait.html.j2", status, step=step, part=part)
    corrected = len(read_corrections(step.upload))
    return page(
        request,
        "new_rows.html.j2",
        status,
        view=view,
        step=step,
        found=view.found,
        problem=problem,
        corrected=corrected,
        kept_max=KEPT_MAX,
    )
