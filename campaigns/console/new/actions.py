"""The creation of a campaign from an uploaded audience, as `campaign create` does it."""

from __future__ import annotations

import asyncio
import csv
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from drumbeat.campaigns.actor import note_audit
from drumbeat.campaigns.audience.check.glimpse import glimpse
from drumbeat.campaigns.audience.check.inspection import inspect_audience
from drumbeat.campaigns.console.account.pricing import draft_plan
from drumbeat.campaigns.console.new.choices import read_corrections
from drumbeat.campaigns.console.new.create_request import CampaignOptions, spec_of_values
from drumbeat.campaigns.console.new.header_uploads import chosen_header_file, with_kept_header_file
from drumbeat.campaigns.console.web.context import Console
from drumbeat.campaigns.console.web.uploads import Upload
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.phones.countries import PREFIX_DIGITS
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.planning.created import CreatedCampaign
from drumbeat.campaigns.planning.header_uploads import uploads_with
from drumbeat.campaigns.planning.staged.filling import row_rules
from drumbeat.campaigns.progress import ProgressCallback, no_progress
from drumbeat.engine.errors import UsageError

REJECTS_SHOWN_MAX = 200
NO_FILES = "no-files"  # a directory that never exists


async def create_from_upload(
    console: Console,
    upload: Upload,
    asked: CampaignOptions,
    progress: ProgressCallback = no_progress,
    *,
    actor: str,
    lists_rejects: bool = True,
) -> dict[str, Any]:
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
        await note_audit(console.pool, actor, "create", created.campaign_id, **noted)
    plan = await draft_plan(console, spec, created) if created.dry_run else None
    return created_json(created, upload.rejects, plan)


async def _list_rejects(console: Console, upload: Upload, spec: CampaignSpec) -> None:
    """Write a list of rejects after a dry run, which keeps none. The person who corrects the file needs it.
    The list has no duplicates.
    """
    seen = await asyncio.to_thread(glimpse, upload.path, spec.reading)
    async with console.pool.acquire() as connection:
        rules = await row_rules(connection, spec, seen.columns)
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


def created_json(
    created: CreatedCampaign, rejects: Path, plan: dict[str, Any] | None = None
) -> dict[str, Any]:
    listed = first_rejects(rejects) if rejects.exists() else []
    return {**created.as_json(), "rejects": listed, "plan": plan}


def first_rejects(path: Path) -> list[dict[str, Any]]:
    """Return the first rows of a list of rejects."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [{**row, "line": int(row["line"])} for row in islice(csv.DictReader(file), REJECTS_SHOWN_MAX)]
