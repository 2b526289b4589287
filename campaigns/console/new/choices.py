"""The choices of a person for an upload, kept beside the file: members of a `CreateRequest`, and corrected
rows.

Nothing is checked here: a create checks everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drumbeat.campaigns.console.web.uploads import Upload
from drumbeat.campaigns.options.sources import Corrections, HiddenRowsChoice, ReadOptions
from drumbeat.engine.errors import UsageError

CHOICES_FILE = "choices.json"
CORRECTIONS_FILE = "corrections.json"
CORRECTED_MAX = 5_000  # each check and each plan looks them up


def read_choices(upload: Upload) -> dict[str, Any]:
    """Return the members of a `CreateRequest` that are chosen. Members that nobody chose are missing."""
    chosen: dict[str, Any] = upload.read_json(CHOICES_FILE) or {}
    return chosen


def reading_of(choices: Mapping[str, Any]) -> ReadOptions:
    """Return how the file of an upload is read. What is no choice about hidden rows counts as none."""
    hidden = choices.get("hidden_rows")
    known = HiddenRowsChoice(hidden) if hidden in set(HiddenRowsChoice) else None
    encoding, keep_spaces = choices.get("encoding"), bool(choices.get("keep_spaces"))
    return ReadOptions(None, choices.get("sheet"), known, encoding, keep_spaces, choices.get("header_row"))


def write_choices(upload: Upload, **part: Any) -> None:
    """Add or replace choices; None removes one. The others stay."""
    chosen = {name: value for name, value in (read_choices(upload) | part).items() if value is not None}
    upload.write_json(CHOICES_FILE, chosen)


def read_corrections(upload: Upload) -> Corrections:
    stored: dict[str, list[str]] = upload.read_json(CORRECTIONS_FILE) or {}
    return {int(line): cells for line, cells in stored.items()}


def add_corrections(upload: Upload, rows: Corrections) -> None:
    """Add corrected rows. They replace earlier corrections of the same lines. UsageError for too many."""
    corrections = {**read_corrections(upload), **rows}
    if len(corrections) > CORRECTED_MAX:
        raise UsageError(
            f"more than {CORRECTED_MAX:,} rows are corrected", remedy="correct the file, and upload it again"
        )
    upload.write_json(CORRECTIONS_FILE, corrections)


def drop_corrections(upload: Upload) -> None:
    upload.write_json(CORRECTIONS_FILE, {})
