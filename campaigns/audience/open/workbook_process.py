"""A process that reads one sheet of a workbook. `workbook_reader` starts it.

It gets the descriptors of the workbook and of the spool's file, and a pickled `SheetRequest` as its input. It
answers with a pickled `SheetFound` or the names of the sheets, or with the error.
"""

import os
import pickle
import resource
import sys
from typing import BinaryIO

from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.spool import Spool
from drumbeat.campaigns.audience.open.workbook import SheetFound, SheetRequest, filled_sheets, spool_sheet


def main(workbook: int, rows: int) -> None:
    request: SheetRequest = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the parent
    # What it writes to, not its address space: a mapped file and libraries cost nothing of their own.
    resource.setrlimit(resource.RLIMIT_DATA, (request.memory_bytes, request.memory_bytes))
    answer: SheetFound | dict[str, int] | UnreadableAudience
    with os.fdopen(workbook, "rb") as file, os.fdopen(rows, "wb") as target:
        try:
            answer = _names(file, request) if request.names_only else _rows(file, request, target)
        except UnreadableAudience as error:
            answer = error
    sys.stdout.buffer.write(pickle.dumps(answer))


def _names(file: BinaryIO, request: SheetRequest) -> dict[str, int]:
    return filled_sheets(file, request.name)


def _rows(file: BinaryIO, request: SheetRequest, target: BinaryIO) -> SheetFound:
    spool = Spool(request.name, target)
    spool_sheet(file, request.sheet, spool, request.hidden_rows, request.header_row)
    return SheetFound(spool.name, spool.form, spool.header, spool.first, spool.findings)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
