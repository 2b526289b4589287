"""The check of cells that name the media of a header: an HTTPS link, or a file beside the audience."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from drumbeat.campaigns.options.param_texts import is_link
from drumbeat.engine.core.template.header_file import HEAD_BYTES, is_sendable_size, mime_type

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
FILES_REMEMBERED = 65_536  # the same picture stands in many rows; its file is looked at once


@dataclass(frozen=True, slots=True)
class HeaderMedia:
    """The media that cells may name. `kind` is image, video or document. `directory` is where the paths
    begin.

    No path leads out of the directory: the writer of an audience must not be able to send any file of this
    machine.
    """

    kind: str
    directory: Path


class HeaderMediaCheck:
    """A check that finds what the service would refuse. It remembers the files that it looked at."""

    def __init__(self, rule: HeaderMedia) -> None:
        self._rule = rule
        self._root = rule.directory.resolve()
        self._problem_of_file = lru_cache(FILES_REMEMBERED)(self._look)

    def problem(self, cell: str) -> str | None:
        """Return the code of the problem, or None."""
        if is_link(cell):
            return None
        if not cell:
            return "media_empty"
        return "media_link" if _SCHEME.match(cell) else self._problem_of_file(cell)

    def files(self, cells: Sequence[str]) -> frozenset[str]:
        """Return the names of the files in good cells, as they are written there."""
        return frozenset(cell for cell in set(cells) if not is_link(cell))

    def _look(self, cell: str) -> str | None:
        try:
            path = (self._root / cell).resolve()
            if not path.is_relative_to(self._root):
                return "media_outside"
            return file_problem(self._rule.kind, path)
        except FileNotFoundError:
            return "media_missing"
        except (OSError, ValueError, RuntimeError):  # no permission, a NUL, or a circle of links
            return "media_unreadable"


def file_problem(kind: str, path: Path) -> str | None:
    """Return why a header cannot show a file, as the code of a rejected row; None if it can.

    Raise OSError if the file cannot be read.
    """
    if not path.is_file():
        return "media_unreadable" if path.exists() else "media_missing"
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if mime_type(kind, path.name, head) is None:
        return "media_type"
    return None if is_sendable_size(kind, path.stat().st_size) else "media_size"
