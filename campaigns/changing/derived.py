"""Campaigns that are made from the stored options of others: clones and edits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from drumbeat.campaigns.changing.amend import amend_campaign
from drumbeat.campaigns.options.sources import STANDARD_INPUT, GivenRows
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.stored import StoredOptions, stored_options
from drumbeat.campaigns.options.values import AUDIENCE_KEYS, needs_audience, of_clone, of_edit
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.planning.created import CreatedCampaign
from drumbeat.campaigns.progress import ProgressCallback, no_progress
from drumbeat.engine.core.states import CampaignState
from drumbeat.engine.errors import UsageError
from drumbeat.engine.process.disk_space import Disk
from drumbeat.engine.sending.header_file_uploads import OpenUploads, no_uploads
from drumbeat.engine.store.database import Connection, Pool

# Keys that name files, databases and rows of this machine. Callers from elsewhere may not use them.
OF_THIS_MACHINE = frozenset(
    {
        "audience",
        "audience_sql",
        "audience_database",
        "exclude",
        "header_file",
        "header_column",
        "rejects",
    }
)
# Keys about rows that are left out. The stored recipients of a campaign do not contain such rows.
_LEAVES_OUT = ("exclude", "strict")


def require_remote(changes: Iterable[str]) -> None:
    """Raise UsageError if the changes name a file of this machine."""
    if named := OF_THIS_MACHINE.intersection(changes):
        raise UsageError(
            f"{min(named)} cannot be changed from elsewhere: it names what is on the server",
            remedy="use the command line, or an upload",
        )


async def cloned(
    database: Pool | Connection, name: str, new: str, changes: Mapping[str, Any], unset: Iterable[str] = ()
) -> CampaignSpec:
    """Return the options of a campaign for one named `new`. `changes` and `unset` are keys of a manifest.

    The audience is read anew from where it was read. If it was an uploaded list, the stored recipients are
    taken.
    """
    stored = await stored_options(database, name)
    unset = tuple(unset)
    if _was_uploaded(stored.values, changes):
        changes, unset = _of_stored_people(stored.name, changes, unset)
    return CampaignSpec(**of_clone(stored.values, new, changes, unset))


async def edit_campaign(
    url: str,
    stored: StoredOptions,
    changes: Mapping[str, Any],
    unset: Iterable[str] = (),
    progress: ProgressCallback = no_progress,
    *,
    change_by: str,
    disk: Disk | None = None,
    dry_run: bool = False,
    open_uploads: OpenUploads = no_uploads,
    unchanged_in: Collection[CampaignState] = (),
    now: bool = False,
    rows: GivenRows | None = None,
) -> CreatedCampaign:
    """Change options of a planned campaign, and plan a draft anew if that is needed. `changes` and `unset`
    are as in `cloned`, `unchanged_in` and `now` as in `create_campaign`. `rows` are those of a changed
    audience in memory.

    Raise ChangeRefused, which holds the differences, if an option may not change now.
    """
    if "name" in changes:
        raise UsageError("the name of a campaign cannot change", remedy="clone it, and delete this draft")
    unset = tuple(unset)
    spec = CampaignSpec(**of_edit(stored.values, changes, unset)).with_rows(rows)
    was_uploaded = _was_uploaded(stored.values, changes)
    if was_uploaded:
        spec = replace(spec, stored_as={"audience": stored.values["audience"]})
    if not needs_audience(changes, unset):
        amended = await amend_campaign(
            url, spec, change_by=change_by, dry_run=dry_run, unchanged_in=unchanged_in, now=now
        )
        if amended is not None:
            return amended
    if was_uploaded:
        changes, unset = _of_stored_people(stored.name, changes, unset)
        spec = CampaignSpec(**of_edit(stored.values, changes, unset))
    return await create_campaign(
        url,
        spec,
        progress,
        disk=disk,
        dry_run=dry_run,
        change_by=change_by,
        open_uploads=open_uploads,
        unchanged_in=unchanged_in,
        now=now,
    )


def _was_uploaded(values: Mapping[str, Any], changes: Mapping[str, Any]) -> bool:
    """Return whether the audience is an uploaded list. Only its name is stored; the file is not kept."""
    file = values.get("audience")
    is_name = file is not None and Path(file) != STANDARD_INPUT and not Path(file).is_absolute()
    return is_name and AUDIENCE_KEYS.isdisjoint(changes)


def _of_stored_people(
    name: str, changes: Mapping[str, Any], unset: tuple[str, ...]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the changes with the stored recipients of a campaign as the audience."""
    leaves_out = [key for key in _LEAVES_OUT if key not in changes]
    return {**changes, "audience_campaign": name}, (*unset, *leaves_out)
