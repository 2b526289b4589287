"""What a person has chosen so far for an upload: members of a `CreateRequest`, as JSON beside the file.

Nothing is checked here: a create checks everything.
"""

from __future__ import annotations

from typing import Any

import orjson

from campaigns.console.uploads import Upload

CHOICES_FILE = "choices.json"


def read_choices(upload: Upload) -> dict[str, Any]:
    """The members of a `CreateRequest` that are chosen; those that nobody chose are missing."""
    try:
        chosen: dict[str, Any] = orjson.loads((upload.directory / CHOICES_FILE).read_bytes())
    except FileNotFoundError:
        return {}
    return chosen


def write_choices(upload: Upload, **part: Any) -> None:
    """Add or replace choices; None removes one. The others stay. A reader sees all of it or nothing."""
    chosen = {name: value for name, value in (read_choices(upload) | part).items() if value is not None}
    draft = upload.directory / f"{CHOICES_FILE}.draft"
    draft.write_bytes(orjson.dumps(chosen))
    draft.replace(upload.directory / CHOICES_FILE)
