"""The uploaded tables: limited, recognised by their first bytes, in a directory that no address leads to.

The name that a browser gives is only shown. A file is stored under a random name. Its suffix is one of a few
known ones, which help to tell kinds of text apart.
"""

from __future__ import annotations

import asyncio
import csv
import re
import secrets
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import file_digest
from itertools import islice
from pathlib import Path, PurePath
from typing import Any, cast

import orjson
from aiohttp import BodyPartReader

from drumbeat.campaigns.audience.check.glimpse import glimpse
from drumbeat.campaigns.audience.open.formats import recognise
from drumbeat.campaigns.console.web.forms import chunks_of
from drumbeat.campaigns.console.web.problems import Refused
from drumbeat.campaigns.console.web.settings import ConsoleSettings
from drumbeat.campaigns.console.web.shapes import RejectedRow
from drumbeat.engine.errors import DrumbeatError

SUFFIX = re.compile(
    r"(\.(csv|tsv|txt|json|jsonl|ndjson|xlsx|xls|ods|parquet))?(\.(gz|zip|zst))?", re.IGNORECASE
)
CHUNK_BYTES = 1 << 20
KEPT_S = 24 * 3600.0  # what nobody went on with in a day is given up
SHOWN_NAME_CHARACTERS_MAX = 100
REFERENCE = re.compile(r"[0-9a-f]{32}")
NAME_FILE = "name.txt"
BESIDE_FILE = "beside.json"
BESIDE_MAX = 10
REJECTS_SHOWN_MAX = 200


@dataclass(frozen=True, slots=True)
class Upload:
    """A stored file. `reference` names it in addresses; `name` is its owner's name for it."""

    directory: Path
    path: Path
    name: str

    @property
    def reference(self) -> str:
        return self.directory.name

    @property
    def rejects(self) -> Path:
        return self.directory / "rejects.csv"

    @property
    def beside(self) -> dict[str, str]:
        """Return the files that were uploaded to go with it, by path, each with its owner's name for it."""
        found: dict[str, str] = self.read_json(BESIDE_FILE) or {}
        return found

    def read_json(self, name: str) -> Any:
        """Return the value that was written beside the file, or None if there is none."""
        try:
            return orjson.loads((self.directory / name).read_bytes())
        except FileNotFoundError:
            return None

    def write_json(self, name: str, value: object) -> None:
        """Write a value beside the file. A reader sees all of it or the value before."""
        draft = self.directory / f"{name}.draft"
        draft.write_bytes(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS))
        draft.replace(self.directory / name)

    def in_own_words(self, text: str) -> str:
        """Return the text, with the file's own name in place of its path."""
        for path, name in {**self.beside, str(self.path): self.name}.items():
            text = text.replace(path, name)
        text = text.replace(str(self.rejects), "the list of rejected rows")
        return text.replace(f"{self.directory}/", "")

    def in_words_of_owner(self, error: DrumbeatError) -> DrumbeatError:
        """Return the same error, with the file's own name."""
        error.rewrite(self.in_own_words)
        return error

    @asynccontextmanager
    async def errors_named(self) -> AsyncIterator[None]:
        """Name the file in errors of the block as its owner does."""
        try:
            yield
        except DrumbeatError as error:
            raise self.in_words_of_owner(error) from error


async def store_upload(settings: ConsoleSettings, part: BodyPartReader) -> Upload:
    """Store the file of a form. Refused if it is too large; UnreadableAudience if it is no table."""
    await asyncio.to_thread(remove_old, settings.uploads)
    upload = await asyncio.to_thread(_new, settings.uploads, _name_of(part))
    try:
        await write_part(part, upload.path, settings.upload_bytes_max)
        async with upload.errors_named():
            await asyncio.to_thread(_recognise, upload)
    except BaseException:
        discard(upload)
        raise
    return upload


async def store_beside(settings: ConsoleSettings, upload: Upload, part: BodyPartReader) -> Path:
    """Store a file that goes with an upload. Raises the errors of `store_upload`."""
    files, name = upload.beside, _name_of(part)
    if len(files) >= BESIDE_MAX:
        raise Refused(422, "wrong_input", what=f"there are {BESIDE_MAX} files already")
    path = upload.directory / f"{secrets.token_hex(8)}{_suffix(name)}"
    try:
        await write_part(part, path, settings.upload_bytes_max)
        await asyncio.to_thread(glimpse, path)
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, DrumbeatError):
            error.where = error.where.replace(str(path), name)
        raise
    upload.write_json(BESIDE_FILE, {**files, str(path): name})
    return path


def remove_beside(upload: Upload, path: str) -> None:
    files = upload.beside
    if files.pop(path, None) is not None:
        upload.write_json(BESIDE_FILE, files)
        Path(path).unlink(missing_ok=True)


def find_upload(settings: ConsoleSettings, reference: str) -> Upload | None:
    """Return the upload with this reference, or None if it was given up."""
    directory = settings.uploads / reference
    if not REFERENCE.fullmatch(reference) or not (directory / NAME_FILE).exists():
        return None
    name = (directory / NAME_FILE).read_text("utf-8")
    return Upload(directory, directory / f"audience{_suffix(name)}", name)


def digest_of(upload: Upload) -> bytes:
    with upload.path.open("rb") as file:
        return file_digest(file, "sha256").digest()


def discard(upload: Upload) -> None:
    shutil.rmtree(upload.directory, ignore_errors=True)


def remove_old(uploads: Path) -> None:
    """Remove the uploads that are more than a day old."""
    for directory in uploads.iterdir() if uploads.exists() else ():
        if REFERENCE.fullmatch(directory.name) and time.time() - directory.stat().st_mtime > KEPT_S:
            shutil.rmtree(directory, ignore_errors=True)


def _new(uploads: Path, name: str) -> Upload:
    uploads.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory = uploads / secrets.token_hex(16)
    directory.mkdir(mode=0o700)
    (directory / NAME_FILE).write_text(name, "utf-8")
    return Upload(directory, directory / f"audience{_suffix(name)}", name)


def _name_of(part: BodyPartReader) -> str:
    """Return the name of a file, without the directories that some browsers give."""
    name = (part.filename or "audience").rpartition("/")[2].rpartition("\\")[2]
    return name[:SHOWN_NAME_CHARACTERS_MAX]


def _suffix(name: str) -> str:
    suffixes = "".join(PurePath(name).suffixes[-2:]).lower()
    last = PurePath(name).suffix.lower()
    return next((each for each in (suffixes, last) if SUFFIX.fullmatch(each)), "")


async def write_part(part: BodyPartReader, path: Path, bytes_max: int) -> None:
    """Write a file of a form; Refused if it is larger."""
    written = 0
    with path.open("xb") as file:
        async for chunk in chunks_of(part, CHUNK_BYTES):
            written += len(chunk)
            if written > bytes_max:
                raise Refused(413, "too_large", what=f"the file is larger than {bytes_max >> 20} MiB")
            await asyncio.to_thread(file.write, chunk)


def _recognise(upload: Upload) -> None:
    with upload.path.open("rb") as file:
        recognise(file, upload.path.name)


def first_rejects(path: Path) -> list[RejectedRow]:
    """Return the first rows of a list of rejects, if there is one."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = islice(csv.DictReader(file), REJECTS_SHOWN_MAX)
        return [cast(RejectedRow, {**row, "line": int(row["line"])}) for row in rows]
