"""Creates a campaign from an uploaded audience, as `campaign create` does."""

from __future__ import annotations

import asyncio
import csv
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from campaigns.audience.glimpse import glimpse
from campaigns.audience.inspection import inspect_audience
from campaigns.audience.opening import ReadOptions
from campaigns.console.api.shapes import CreateRequest
from campaigns.console.choices import read_corrections
from campaigns.console.context import Console
from campaigns.console.uploads import Upload
from campaigns.planning.create import create_campaign
from campaigns.planning.created import CreatedCampaign
from campaigns.planning.header_media import header_media
from campaigns.planning.row_rules import row_rules
from campaigns.planning.spec import CampaignSpec
from campaigns.results.audit_pages import note_audit

REJECTS_SHOWN_MAX = 200


async def create_from_upload(
    console: Console, upload: Upload, asked: CreateRequest, *, actor: str
) -> dict[str, Any]:
    """Plan the campaign, or with `dry_run` only check everything. Errors as `create_campaign`."""
    spec = spec_of(asked, upload)
    async with upload.errors_named():
        created = await create_campaign(
            console.database_url, spec, disk=console.settings.disk(), dry_run=asked.dry_run
        )
        if created.dry_run and created.counts.rejected:
            await _list_rejects(console, upload, spec)
    if not (created.unchanged or created.dry_run):
        noted = {"audience": upload.name, "rows": created.counts.audience_rows}
        if spec.corrections:
            noted["corrected"] = len(spec.corrections)
        await note_audit(console.pool, actor, "create", created.campaign_id, **noted)
    return created_json(created, upload.rejects)


async def _list_rejects(console: Console, upload: Upload, spec: CampaignSpec) -> None:
    """A dry run keeps no list, and who corrects the file needs one. It has no duplicates."""
    seen = await asyncio.to_thread(glimpse, upload.path, spec.reading)
    async with console.pool.acquire() as connection:
        rules = await row_rules(connection, spec, seen.columns)
    await asyncio.to_thread(
        inspect_audience, upload.path, rejects_path=upload.rejects, rules=rules, options=spec.reading
    )


def spec_of(asked: CreateRequest, upload: Upload) -> CampaignSpec:
    given = asked.model_dump(
        exclude={"sheet", "map", "default", "dry_run", "header_media_id", "header_link", "header_filename"}
    )
    listed = {name: tuple(given[name]) for name in ("numbers", "params", "as_mobile", "exclude_campaigns")}
    spec = CampaignSpec(**{**given, **listed}, audience=upload.path, rejects=upload.rejects)
    media = header_media(asked.header_media_id, asked.header_link, asked.header_filename)
    reading = ReadOptions(None, asked.sheet)
    return replace(
        spec,
        header_media=media,
        reading=reading,
        mapped=asked.map,
        defaults=asked.default,
        corrections=read_corrections(upload),
    )


def created_json(created: CreatedCampaign, rejects: Path) -> dict[str, Any]:
    return {**created.as_json(), "rejects": first_rejects(rejects) if rejects.exists() else []}


def first_rejects(path: Path) -> list[dict[str, Any]]:
    """The first rows of a list of rejects."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [{**row, "line": int(row["line"])} for row in islice(csv.DictReader(file), REJECTS_SHOWN_MAX)]
