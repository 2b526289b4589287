"""The actions on an uploaded list: to check and correct it, and to make a campaign of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from drumbeat.campaigns.actor import note_audit
from drumbeat.campaigns.audience.check.glimpse import glimpse
from drumbeat.campaigns.audience.check.inspection import inspect_audience
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.console.account.pricing import draft_plan
from drumbeat.campaigns.console.campaigns.watch import CHANGED
from drumbeat.campaigns.console.new.choices import add_corrections, read_corrections
from drumbeat.campaigns.console.new.create_request import CampaignOptions, spec_of_values
from drumbeat.campaigns.console.new.header_uploads import chosen_header_file, with_kept_header_file
from drumbeat.campaigns.console.new.list_check import forget_found, list_checks
from drumbeat.campaigns.console.new.named import upload_named
from drumbeat.campaigns.console.new.shapes import (
    CheckedList,
    CorrectedCount,
    CorrectionsRequest,
    Created,
    ListCheckRequest,
    RemovedList,
)
from drumbeat.campaigns.console.web.access import Caller
from drumbeat.campaigns.console.web.cache import changes
from drumbeat.campaigns.console.web.context import Console
from drumbeat.campaigns.console.web.uploads import Upload, discard, first_rejects
from drumbeat.campaigns.options.sources import ReadOptions
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.phones.countries import PREFIX_DIGITS
from drumbeat.campaigns.phones.kinds import Kind
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.planning.header_uploads import uploads_with
from drumbeat.campaigns.planning.staged.filling import filling_of
from drumbeat.campaigns.progress import ProgressCallback, no_progress
from drumbeat.engine.errors import UsageError

CHECK_WAIT_S = 10.0  # then the reply says how far the check is; the same request waits on
NO_FILES = "no-files"  # a directory that never exists


async def check(console: Console, name: str, asked: ListCheckRequest) -> CheckedList:
    """Return the result of a check. Start the check if none with the same options and corrections exists."""
    upload = upload_named(console, name)
    rules = RowRules(
        asked.phone_column,
        tuple(asked.param),
        asked.region,
        asked.map,
        asked.default,
        tuple(asked.repair_old),
        corrections=read_corrections(upload),
        country_column=asked.country_column,
        first_number=asked.first_number,
        leave_out=frozenset(map(Kind, asked.leave_out)),
        only_mobile=asked.only_mobile,
        keep_spaces=asked.keep_spaces,
        repairs=asked.repair,
        empties_words=asked.empty_words,
    )
    checks = console.part(list_checks)
    reading = ReadOptions(
        None, asked.sheet, asked.hidden_rows, asked.encoding, asked.keep_spaces, asked.header_row
    )
    found = await checks.found(upload, rules, reading, wait_s=CHECK_WAIT_S)
    if found is None:
        under_way = checks.under_way(upload)
        return {"ended": False, "checked": 0 if under_way is None else under_way.rows, "found": None}
    if (problem := found.problem) is not None:
        forget_found(upload)
        raise problem
    return {"ended": True, "checked": found.rows, "found": found}


async def correct(console: Console, name: str, asked: CorrectionsRequest) -> CorrectedCount:
    """Store corrected rows: each row whole, in the order of the header. The next check and the campaign use
    them.
    """
    upload = upload_named(console, name)
    add_corrections(upload, {row.line: row.cells for row in asked.rows})
    return {"corrected": len(read_corrections(upload))}


async def remove(console: Console, name: str) -> RemovedList:
    upload = upload_named(console, name)
    await give_up(console, upload)
    return {"reference": upload.reference}


async def give_up(console: Console, upload: Upload) -> None:
    """End the check of the list, and remove it."""
    await console.part(list_checks).stop(upload)
    discard(upload)


@changes(*CHANGED)
async def create_from_upload(
    console: Console,
    caller: Caller,
    upload: Upload,
    asked: CampaignOptions,
    progress: ProgressCallback = no_progress,
    *,
    lists_rejects: bool = True,
) -> Created:
    """Plan the campaign, or with `dry_run` only check everything. Raises the errors of `create_campaign`.

    `lists_rejects`: a dry run reads the file once more to list its rejected rows.
    """
    spec = spec_of(asked, upload)
    if not asked.dry_run:
        spec = await asyncio.to_thread(with_kept_header_file, spec, console.settings.home)
    async with upload.errors_named():
        created = await create_campaign(
            console.database_url,
            spec,
            progress,
            disk=console.settings.disk(),
            dry_run=asked.dry_run,
            open_uploads=uploads_with(console.settings),
            head_digits=PREFIX_DIGITS,
        )
        if lists_rejects and created.dry_run and created.counts.rejected:
            await _list_rejects(console, upload, spec)
    if not (created.unchanged or created.dry_run):
        noted = {"audience": upload.name, "rows": created.counts.audience_rows}
        if spec.corrections:
            noted["corrected"] = len(spec.corrections)
        await note_audit(console.pool, caller.name, "create", created.campaign_id, **noted)
    plan = await draft_plan(console, spec, created) if created.dry_run else None
    return cast(Created, {**created.as_json(), "rejects": first_rejects(upload.rejects), "plan": plan})


async def _list_rejects(console: Console, upload: Upload, spec: CampaignSpec) -> None:
    """Write a list of rejects after a dry run, which keeps none. The person who corrects the file needs it.
    The list has no duplicates.
    """
    seen = await asyncio.to_thread(glimpse, upload.path, spec.reading)
    async with console.pool.acquire() as connection:
        rules = (await filling_of(connection, spec, seen.columns)).rules
    await asyncio.to_thread(
        inspect_audience, upload.path, rejects_path=upload.rejects, rules=rules, options=spec.reading
    )


def spec_of(asked: CampaignOptions, upload: Upload) -> CampaignSpec:
    """Return the campaign of an upload. In its stored options, files have the names that their owner gave
    them.
    """
    values = asked.values()
    require_no_files(values.get("exclude", ()), upload)
    located = {"audience": str(upload.path), "rejects": str(upload.rejects)}
    if (file := chosen_header_file(upload)) is not None:
        located["header_file"] = str(file)
    spec = spec_of_values(values | located)
    stored_as: dict[str, Any] = {"audience": upload.name, "rejects": None}
    if "exclude" in values:
        stored_as["exclude"] = [upload.beside.get(name, name) for name in values["exclude"]]
    if spec.header_column is not None:
        # Cells are written by others. A path in one must not send what lies here, such as the list itself.
        spec = replace(spec, header_directory=upload.directory / NO_FILES)
    return replace(spec, stored_as=stored_as, corrections=read_corrections(upload))


def require_no_files(excluded: Sequence[str], upload: Upload) -> None:
    """UsageError if a text names a file of this machine. Those that were uploaded with the list may be."""
    for text in excluded:
        path = Path(text)
        if path.exists() and not path.resolve().is_relative_to(upload.directory.resolve()):
            raise UsageError(
                '{exclude} "{text}" is no campaign', remedy="name a campaign", values={"text": text}
            )
