"""The base of the three steps of a new campaign: the list, the message, and the sending.

Each step has an address. The file is uploaded once, and the choices are kept beside it, so back and forward
work, and a step can be left and continued.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from aiohttp import web

from drumbeat.campaigns.audience.check.glimpse import Glimpse, glimpse
from drumbeat.campaigns.audience.open.encoding_candidates import Candidate
from drumbeat.campaigns.console.new.choices import read_choices, reading_of
from drumbeat.campaigns.console.new.named import upload_of
from drumbeat.campaigns.console.web.rendering import path_of
from drumbeat.campaigns.console.web.uploads import Upload

GLIMPSE_FILE = "glimpse.json"


@dataclass(frozen=True, slots=True)
class Step:
    """The state that every step starts from: the file, its columns, and the choices so far."""

    upload: Upload
    seen: Glimpse
    choices: dict[str, Any]

    @property
    def phone_column(self) -> str:
        chosen = str(self.choices.get("phone_column", ""))
        return chosen if chosen in self.seen.columns else self.seen.phone_column or ""

    @property
    def phones_to_choose(self) -> Sequence[str]:
        """Return the columns that hold phones if there are several, and none is chosen."""
        return () if self.phone_column else self.seen.phones

    def samples(self, column: str) -> list[str]:
        """Return the first values of a column, or nothing for a name that is no column."""
        columns = list(self.seen.columns)
        return list(self.seen.samples[columns.index(column)]) if column in columns else []

    def path(self, *parts: str) -> str:
        """Return the address of a step, or of the list without parts."""
        return path_of("new", self.upload.reference, *parts)


async def step_of(request: web.Request) -> Step:
    """Return the state of a step. NotFound if there is no such upload, and UnreadableAudience if the file is
    no table.
    """
    upload = upload_of(request)
    choices = read_choices(upload)
    return Step(upload, await glimpse_of(upload, choices), choices)


async def glimpse_of(upload: Upload, choices: dict[str, Any]) -> Glimpse:
    """Return the columns and first rows. They are kept, because reading a large workbook takes seconds."""
    reading = reading_of(choices)
    kept = upload.read_json(GLIMPSE_FILE)
    if kept is None or kept["reading"] != repr(reading):
        async with upload.errors_named():
            seen = await asyncio.to_thread(glimpse, upload.path, reading)
        found = [list(candidate) for candidate in seen.candidates]
        kept = {"reading": repr(reading), **asdict(replace(seen, candidates=())), "candidates": found}
        upload.write_json(GLIMPSE_FILE, kept)
    candidates = [Candidate(*candidate) for candidate in kept["candidates"]]
    return Glimpse(tuple(kept["columns"]), kept["samples"], kept["form"], kept["phones"], candidates)
