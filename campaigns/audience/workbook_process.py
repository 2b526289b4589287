"""A process that reads one sheet of a workbook. `workbook_reader` starts it.

It gets the descriptors of the workbook and of the spool's file, and a pickled `SheetRequest` as its input. It
answers with a pickled `SheetFound`, or with the error.
"""

import os
import pickle
import resource
import sys

from campaigns.audience.encoding import UnreadableAudience
from campaigns.audience.spool import Spool
from campaigns.audience.workbook import SheetFound, SheetRequest, spool_sheet


def main(workbook: int, rows: int) -> None:
    request: SheetRequest = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the parent
    resource.setrlimit(resource.RLIMIT_AS, (request.memory_bytes, request.memory_bytes))
    answer: SheetFound | UnreadableAudience
    with os.fdopen(workbook, "rb") as file, os.fdopen(rows, "wb") as target:
        spool = Spool(request.name, target)
        try:
            spool_sheet(file, request.sheet, spool)
            answer = SheetFound(spool.name, spool.form, spool.header, spool.first)
        except UnreadableAudience as error:
            answer = error
    sys.stdout.buffer.write(pickle.dumps(answer))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
