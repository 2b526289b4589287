"""A reader of workbooks in a process of its own, with a limit of its memory.

A workbook is read as a whole, and a small one can hold a table of many gigabytes: repeated cells, or one long
text in a million cells. The limit is the only one that holds for all of them. It follows the memory that this
process may use (`engine.core.memory_limit`), and one workbook is read at a time. When the process ends, its
memory is free again.
"""

import os
import pickle
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO, cast

from drumbeat import campaigns
from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.one_at_a_time import one_at_a_time
from drumbeat.campaigns.audience.open.spool import Spool
from drumbeat.campaigns.audience.open.workbook import SheetFound, SheetRequest
from drumbeat.campaigns.options.sources import Format, ReadOptions
from drumbeat.engine.core.memory_limit import reader_bytes
from drumbeat.engine.process.memory_limit import memory_limit_bytes

READ_S_MAX = 300.0  # a million rows take ten seconds
WAIT_S_MAX = 120.0  # for other workbooks
# A sheet takes up to twice its unpacked size. A million rows of four columns are 0.2 GiB.
UNPACKED_BYTES_MAX = 1 << 30
# Of a process that ended with an error of its own, not by a signal.
_MEMORY_SIGNS = (b"MemoryError", b"memory allocation", b"capacity overflow", b"Cannot allocate memory")
PROCESS = "drumbeat.campaigns.audience.open.workbook_process"
_ROOT = Path(campaigns.__file__).parents[2]


def read_workbook(file: BinaryIO, form: Format, options: ReadOptions, spool: Spool) -> None:
    """Write a sheet's rows to the spool. Raise UnreadableAudience if it is no table, damaged or too large,
    and HiddenRowsUndecided or HeaderRowUndecided if the options leave a choice to a person.
    """
    request = SheetRequest(
        spool.name,
        options.sheet,
        _memory_bytes(),
        options.hidden_rows,
        header_row=options.header_row,
    )
    found = cast("SheetFound", _ask(file, form, spool, request))
    spool.name, spool.form, spool.header, spool.first, spool.findings = found


def read_sheet_names(file: BinaryIO, form: Format, name: str) -> dict[str, int]:
    """Return the visible sheets with how many rows they have. Raise as `read_workbook` does."""
    with Spool(name) as spool:
        request = SheetRequest(name, None, _memory_bytes(), names_only=True)
        return cast("dict[str, int]", _ask(file, form, spool, request))


def _memory_bytes() -> int:
    return reader_bytes(memory_limit_bytes())


def _ask(file: BinaryIO, form: Format, spool: Spool, request: SheetRequest) -> SheetFound | dict[str, int]:
    if form is Format.XLS:
        _require_size(os.fstat(file.fileno()).st_size, spool.name)
    else:
        _check_archive(file, spool.name)
    try:
        with one_at_a_time(WAIT_S_MAX) as lock:
            if lock is None:
                raise UnreadableAudience(
                    "other workbooks are being read", where=spool.name, remedy="try again in some minutes"
                )
            process = _run(file, spool, request, lock)
    except subprocess.TimeoutExpired as error:
        raise UnreadableAudience(
            f"the workbook takes longer than {READ_S_MAX:.0f} s to read",
            where=spool.name,
            remedy="export the sheet as CSV",
        ) from error
    if process.returncode:
        raise _ended(process, request)
    found: SheetFound | dict[str, int] | UnreadableAudience = pickle.loads(process.stdout)  # noqa: S301 - our own
    if isinstance(found, UnreadableAudience):
        raise found
    return found


def _ended(process: subprocess.CompletedProcess[bytes], request: SheetRequest) -> UnreadableAudience:
    if process.returncode > 0 and not any(sign in process.stderr for sign in _MEMORY_SIGNS):
        return UnreadableAudience(
            "the workbook is damaged, or written in a way that is not understood",
            where=request.name,
            remedy="save it again as XLSX, or export the sheet as CSV",
        )
    limit_mib = memory_limit_bytes() >> 20
    return UnreadableAudience(
        f"the workbook takes more than {request.memory_bytes >> 20:,} MiB of memory, the share of a workbook "
        f"in the {limit_mib:,} MiB of this process",
        where=request.name,
        remedy="export the sheet as CSV, or give the process more memory",
    )


def _run(
    file: BinaryIO, spool: Spool, request: SheetRequest, lock: int
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-P", "-m", PROCESS, str(file.fileno()), str(spool.file.fileno())],
        input=pickle.dumps(request),
        capture_output=True,
        pass_fds=(file.fileno(), spool.file.fileno(), lock),
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        start_new_session=True,
        timeout=READ_S_MAX,
        check=False,
    )


def _check_archive(file: BinaryIO, name: str) -> None:
    """Compare the sizes in the directory with the limit, then read all: a member that is longer than it says,
    or cut off, fails its checksum.
    """
    file.seek(0)
    try:
        with zipfile.ZipFile(file) as archive:
            _require_size(sum(info.file_size for info in archive.infolist()), name)
            damaged = archive.testzip()
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, zlib.error) as error:
        damaged = str(error)
    if damaged:
        raise UnreadableAudience(
            f"the workbook is cut off or damaged: {damaged}", where=name, remedy="copy or save it again"
        )


def _require_size(size: int, name: str) -> None:
    if size > UNPACKED_BYTES_MAX:
        raise UnreadableAudience(
            f"the workbook unpacks to {size:,} bytes; at most {UNPACKED_BYTES_MAX:,} are read",
            where=name,
            remedy="export the sheet as CSV",
        )
