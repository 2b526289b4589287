"""The uploaded file of a header for a new campaign. It lies beside the list until the campaign is created,
then where senders find it, because the service forgets its copy after 30 days. It stays as long as a campaign
with recipients shows it.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import time
from dataclasses import replace
from pathlib import Path

from aiohttp import BodyPartReader

from drumbeat.campaigns.console.new.choices import read_choices
from drumbeat.campaigns.console.web.problems import Refused
from drumbeat.campaigns.console.web.uploads import KEPT_S, Upload, write_part
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.media_limits import BYTES_MAX
from drumbeat.engine.sending.header_file_uploads import sha256_of
from drumbeat.engine.store.database import Pool

FILE = "file"  # the choice `header`: the uploaded file
KEPT = "header-files"  # in the data directory; each content has a directory
NAME_CHARACTERS_MAX = 60
_UNUSUAL = re.compile(r"[^\w.-]+")
_BESIDE = "header-file"


def stored_header_file(upload: Upload) -> Path | None:
    return next((upload.directory / _BESIDE).glob("*"), None)


def chosen_header_file(upload: Upload) -> Path | None:
    """Return the uploaded file, unless the header's media come from elsewhere."""
    return stored_header_file(upload) if read_choices(upload).get("header") == FILE else None


async def store_header_file(upload: Upload, part: BodyPartReader) -> None:
    """Store the file in place of the one that was uploaded before. Refused without a file, and if it is too
    large for every kind of header.
    """
    if not part.filename:
        raise Refused(422, "wrong_input", what="no file was chosen")
    drop_header_file(upload)
    directory = upload.directory / _BESIDE
    directory.mkdir(mode=0o700)
    try:
        await write_part(part, directory / _plain(part.filename), max(BYTES_MAX.values()))
    except BaseException:
        drop_header_file(upload)
        raise


def drop_header_file(upload: Upload) -> None:
    shutil.rmtree(upload.directory / _BESIDE, ignore_errors=True)


def with_kept_header_file(spec: CampaignSpec, home: Path) -> CampaignSpec:
    """Return the same campaign, with its uploaded file in a place that lasts."""
    if spec.header_file is None:
        return spec
    file = spec.media_directory / spec.header_file
    kept = home / KEPT / sha256_of(file) / file.name
    kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.utime(kept.parent)  # nothing removes it while the campaign is planned
    if not kept.exists():
        draft = kept.with_suffix(f"{kept.suffix}.{os.getpid()}.draft")
        shutil.copyfile(file, draft)
        draft.replace(kept)
    return replace(spec, header_file=kept)


async def remove_unneeded(pool: Pool, home: Path) -> None:
    """Remove the files that no campaign and no plan under way needs any more."""
    directory = home / KEPT
    old = {each.name: each for each in (directory.iterdir() if directory.exists() else ()) if _is_old(each)}
    needed = {row["sha256"] for row in await pool.fetch(statements("header_files")["needed"], list(old))}
    for name in old.keys() - needed:
        if _is_old(old[name]):  # no plan took it up meanwhile
            await asyncio.to_thread(shutil.rmtree, old[name], ignore_errors=True)


def _is_old(directory: Path) -> bool:
    return time.time() - directory.stat().st_mtime > KEPT_S


def _plain(name: str) -> str:
    """Return the end of a name that a browser gave, without characters that mean something in a path or a
    shell.
    """
    return (
        _UNUSUAL.sub("_", name.replace("\\", "/").rpartition("/")[2]).lstrip(".")[-NAME_CHARACTERS_MAX:]
        or "file"
    )
