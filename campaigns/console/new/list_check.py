"""The checks of uploaded lists, each in a process of its own. The result of a check lies beside the upload.

Law: a result counts only for the rules and corrections that the check had.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import pickle
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from drumbeat import campaigns
from drumbeat.campaigns.audience.check.bad_rows import BadRow
from drumbeat.campaigns.audience.check.inspection_process import InspectionRequest
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.console.web.context import Console
from drumbeat.campaigns.console.web.uploads import Upload
from drumbeat.campaigns.finding import ListFinding
from drumbeat.campaigns.options.sources import ReadOptions
from drumbeat.engine.errors import ConfigurationError

FOUND_FILE = "rows.json"

PROCESS = "drumbeat.campaigns.audience.check.inspection_process"
AT_A_TIME = 2  # each takes a core; the others wait
ANSWER_BYTES_MAX = 64 << 20  # a thousand bad rows, in one line
ENDED = {
    "what": "the check of the list ended early",
    "where": "",
    "remedy": "try again; if it ends again, an operator must look at the memory of the console's machine",
}
_ROOT = Path(campaigns.__file__).parents[2]


@dataclass(frozen=True, slots=True)
class FoundList:
    """The result of a check. `refused`: the reason why the list cannot be read at all; then the rest is
    empty.
    """

    columns: Sequence[str] = ()
    form: str = ""
    encoding: str | None = None
    encoding_guessed: bool = False
    rows: int = 0
    good: int = 0
    duplicates: int = 0
    reject_codes: Mapping[str, int] = field(default_factory=dict)
    bad_rows: Sequence[BadRow] = ()
    findings: Sequence[ListFinding] = ()
    countries: Mapping[str, int] = field(default_factory=dict)
    kinds: Mapping[str, int] = field(default_factory=dict)
    refused: Mapping[str, Any] | None = None

    @property
    def problem(self) -> ConfigurationError | None:
        """Return `refused` as an error."""
        return None if self.refused is None else ConfigurationError(**self.refused)

    @property
    def proposed_countries(self) -> list[tuple[str, int]]:
        """Return the countries that a list of national numbers fits, the likeliest first, each with how many
        of the numbers looked at are its own; empty if the list needs no country.
        """
        values = (self.refused or {}).get("values") or {}
        pairs = (pair.partition("=") for pair in values.get("candidates", "").split())
        return [(country, int(fits)) for country, _, fits in pairs]

    @property
    def bad(self) -> int:
        return self.rows - self.good


@dataclass(slots=True)
class ListCheck:
    """A check under way. `rows`: the rows read so far. `percent`: the share of the file that is read."""

    key: str
    rows: int = 0
    percent: int = 0
    task: asyncio.Task[None] | None = None


class ListChecks:
    """The checks of one console, at most one for an upload."""

    def __init__(self) -> None:
        self._running: dict[str, ListCheck] = {}
        self._places = asyncio.Semaphore(AT_A_TIME)

    def under_way(self, upload: Upload) -> ListCheck | None:
        return self._running.get(upload.reference)

    async def found(
        self, upload: Upload, rules: RowRules, options: ReadOptions, *, wait_s: float
    ) -> FoundList | None:
        """Return the result of the check with these rules, or None if the check still runs. If no such check
        runs, start it and end a check with other rules. Wait for the result up to `wait_s`.
        """
        key = hashlib.sha256(repr((rules, options)).encode()).hexdigest()
        if (found := await asyncio.to_thread(_read, upload, key)) is not None:
            return found
        check = self._running.get(upload.reference)
        if check is None or check.key != key:
            await self.stop(upload)
            check = ListCheck(key)
            check.task = asyncio.create_task(self._run(upload, rules, options, check))
            self._running[upload.reference] = check
        assert check.task is not None
        await asyncio.wait({check.task}, timeout=wait_s)
        return await asyncio.to_thread(_read, upload, key)

    async def stop(self, upload: Upload) -> None:
        """End the check of an upload, if there is one."""
        check = self._running.pop(upload.reference, None)
        if check is not None and check.task is not None:
            check.task.cancel()
            await asyncio.wait({check.task})

    async def close(self) -> None:
        tasks = {check.task for check in self._running.values() if check.task is not None}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _run(self, upload: Upload, rules: RowRules, options: ReadOptions, check: ListCheck) -> None:
        try:
            async with self._places:
                answer = await _ask(InspectionRequest(upload.path, upload.rejects, rules, options), check)
            await asyncio.to_thread(_write, upload, check.key, answer)
        finally:
            if self._running.get(upload.reference) is check:
                del self._running[upload.reference]


def list_checks(_: Console) -> ListChecks:
    return ListChecks()


def forget_found(upload: Upload) -> None:
    """Remove the result of the last check, so that the next request starts a check."""
    (upload.directory / FOUND_FILE).unlink(missing_ok=True)


async def _ask(request: InspectionRequest, check: ListCheck) -> dict[str, Any]:
    """Return the last answer of a process that checks, `found` or `refused`."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", PROCESS),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        limit=ANSWER_BYTES_MAX,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answer: dict[str, Any] = {}
    try:
        with suppress(ConnectionError):  # it ended already, and then it says nothing
            process.stdin.write(pickle.dumps(request))
            await process.stdin.drain()
        process.stdin.close()
        async for line in process.stdout:
            answer = orjson.loads(line)
            if (progress := answer.get("progress")) is not None:
                check.rows = progress["rows"]
                check.percent = 100 * progress["done"] // max(1, progress["total"])
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    return answer if "progress" not in answer and answer else {"refused": ENDED}


def _write(upload: Upload, key: str, answer: Mapping[str, Any]) -> None:
    with suppress(FileNotFoundError):  # the upload was given up meanwhile
        upload.write_json(FOUND_FILE, {"key": key, **answer})


def _in_own_words(upload: Upload, texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was refused, with the file's own name in all texts."""
    return {
        name: upload.in_own_words(text)
        if isinstance(text, str)
        else None
        if text is None
        else _in_own_words(upload, text)
        for name, text in texts.items()
    }


def _read(upload: Upload, key: str) -> FoundList | None:
    stored = upload.read_json(FOUND_FILE)
    if stored is None or stored["key"] != key:
        return None
    if "refused" in stored:
        return FoundList(refused=_in_own_words(upload, stored["refused"]))
    found = stored["found"]
    known = {name: found[name] for name in FoundList.__slots__ if name in found}
    return FoundList(**{**known, "bad_rows": [BadRow(**row) for row in found["bad_rows"]]})
