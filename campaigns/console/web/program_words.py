"""The words of an error as a program reads them: operations in place of commands, and members in place of
options of the command line. A path of the server is cut to its last part.

Most errors are written where the command line shows them too. The operations stand here once.
"""

from __future__ import annotations

import re
import shlex
from pathlib import PurePath
from urllib.parse import quote

PREFIX = "/api/v1"
# By the words of a command. NAME stands for its argument.
OPERATIONS = {
    "audience check": "POST /lists",
    "audience rejected": "POST /lists/REFERENCE/corrections",
    "campaign apply": "PATCH /campaigns/NAME",
    "campaign approve": "POST /campaigns/NAME/approve",
    "campaign accept-category": "POST /campaigns/NAME/accept-category",
    "campaign cancel": "POST /campaigns/NAME/cancel",
    "campaign create": "POST /campaigns",
    "campaign list": "GET /campaigns",
    "campaign pause": "POST /campaigns/NAME/pause",
    "campaign plan": "GET /campaigns/NAME/plan",
    "campaign report": "GET /campaigns/NAME/report",
    "campaign resume": "POST /campaigns/NAME/resume",
    "campaign retry": "POST /campaigns/NAME/retries",
    "campaign settle": "POST /campaigns/NAME/doubts",
    "campaign start": "POST /campaigns/NAME/start",
    "campaign status": "GET /campaigns/NAME",
    "console token list": "GET /tokens",
    "console user list": "GET /users",
    "console user add": "PUT /users/NAME",
    "message send": "POST /messages",
    "numbers list": "GET /numbers",
    "numbers resume": "POST /numbers/NAME/resume",
    "numbers sync": "POST /numbers/sync",
    "templates show": "GET /templates/NAME",
    "templates sync": "POST /templates/sync",
}
_COMMAND = re.compile(r"`((?:drumbeat )?[a-z]+(?: [^`]*)?)`")
_OPTION = re.compile(r"(?<![\w`-])--([a-z][a-z-]*)")


def program_words(text: str) -> str:
    """Return a text with operations and members in place of commands and options. A command that no operation
    replaces stays: an operator has to run it.
    """
    return _OPTION.sub(lambda found: f"`{found[1].replace('-', '_')}`", _COMMAND.sub(_operation, text))


def program_place(where: str) -> str:
    """Return the place of an error. Of a path of the server, only the last part is told."""
    return PurePath(where).name if where.startswith("/") else where


def _operation(found: re.Match[str]) -> str:
    try:
        words = shlex.split(found[1].removeprefix("drumbeat "))
    except ValueError:
        return found[0]
    for length in (3, 2):
        operation = OPERATIONS.get(" ".join(words[:length]))
        if operation is not None:
            method, _, path = operation.partition(" ")
            named = next((word for word in words[length:] if not word.startswith("-")), "NAME")
            return f"`{method} {PREFIX}{path.replace('NAME', quote(named, safe=''))}`"
    return found[0]
