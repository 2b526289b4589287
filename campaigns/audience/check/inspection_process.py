"""A process that checks an audience, at a low priority. The console starts it, because a list may have
millions of rows and its own loop must go on.

It gets a pickled `InspectionRequest` as its input, and answers in lines of JSON: `progress` now and then, and
at the end `found` or `refused`.
"""

import os
import pickle
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from drumbeat.campaigns.audience.check.bad_rows import BadRows
from drumbeat.campaigns.audience.check.inspection import inspect_audience
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.options.sources import ReadOptions
from drumbeat.campaigns.progress import PlanProgress
from drumbeat.engine.errors import DrumbeatError

NICENESS = 10  # senders and pages come first
PROGRESS_PERIOD_S = 0.25


@dataclass(frozen=True, slots=True)
class InspectionRequest:
    """The arguments of `inspect_audience`."""

    path: Path
    rejects_path: Path
    rules: RowRules
    options: ReadOptions


def main() -> None:
    os.nice(NICENESS)
    request: InspectionRequest = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the parent
    bad_rows = BadRows()
    try:
        found = inspect_audience(
            request.path,
            rejects_path=request.rejects_path,
            rules=request.rules,
            options=request.options,
            progress=_Progress(),
            bad_rows=bad_rows,
        )
    except DrumbeatError as error:
        _say("refused", error.as_texts())
        return
    bad = [asdict(row) for row in bad_rows.rows]
    _say("found", {**found.as_json(), "rejects_path": None, "bad_rows": bad})


class _Progress:
    """A note of the progress, written a few times a second."""

    def __init__(self) -> None:
        self._said_s = 0.0

    def __call__(self, progress: PlanProgress) -> None:
        if time.monotonic() - self._said_s >= PROGRESS_PERIOD_S:
            self._said_s = time.monotonic()
            _say("progress", asdict(progress))


def _say(what: str, value: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps({what: value}) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
