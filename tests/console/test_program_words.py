"""Errors of the interface speak to programs: they name operations and members, no command and no option."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from drumbeat.campaigns.console.routes import ROWS
from drumbeat.campaigns.console.web.problems import problem_of
from drumbeat.campaigns.console.web.program_words import OPERATIONS, program_place, program_words
from drumbeat.engine.errors import ConfigurationError

ROOT = Path(__file__).parents[2]
# What only an operator meets: commands, and the start of processes.
NOT_REACHED = re.compile(
    r"campaigns/(cli|output)/|campaigns/console/(server|web/settings)|engine/(process|webhooks|app|notifications)|engine/prepare"
)
# An operator does these; the interface has no operation for them.
OPERATORS = ("`db prune`", "`drumbeat suppress words remove`")


def remedies() -> Iterator[tuple[str, str]]:
    """The remedies in the code that a request may reach, with NAME for each value."""
    for top in ("campaigns", "engine"):
        for path in sorted((ROOT / top).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            if not NOT_REACHED.search(place):
                for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                    if isinstance(node, ast.keyword) and node.arg == "remedy":
                        for no, text in enumerate(texts(node.value)):
                            yield f"{place}:{node.value.lineno}:{no}", text


def texts(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=str() as value):
            yield value
        case ast.JoinedStr(values=parts):
            yield "".join(next(texts(part), "NAME") for part in parts)
        case ast.FormattedValue(value=ast.Call(func=ast.Name(id="command_text"), args=words)):
            yield " ".join(["drumbeat", *(next(texts(word), "NAME") for word in words)])
        case ast.IfExp(body=body, orelse=other):
            yield from texts(body)
            yield from texts(other)


REMEDIES = dict(remedies())


def test_remedies_are_found() -> None:
    assert len(REMEDIES) > 150


@pytest.mark.parametrize("place", REMEDIES)
def test_a_remedy_names_no_command_and_no_option(place: str) -> None:
    words = program_words(REMEDIES[place])
    for known in OPERATORS:
        words = words.replace(known, "")
    assert not re.search(
        r"drumbeat [a-z]|(?<!\w)--[a-z]|`(campaign|numbers|templates|message|audience) ", words
    ), words


def test_the_operations_exist() -> None:
    known = {
        f"{row.operation.method} {re.sub('{[a-z]+}', 'NAME', row.operation.path)}"
        for row in ROWS
        if row.operation
    }
    assert {each.replace("REFERENCE", "NAME") for each in OPERATIONS.values()} <= known


@pytest.mark.parametrize(
    ("told", "for_programs"),
    [
        ("run `drumbeat numbers sync`", "run `POST /api/v1/numbers/sync`"),
        ("see `drumbeat campaign report 'spring sale'`", "see `GET /api/v1/campaigns/spring%20sale/report`"),
        ("`campaign cancel` ends it", "`POST /api/v1/campaigns/NAME/cancel` ends it"),
        ("give a later --start-at", "give a later `start_at`"),
        ("`db prune` drops them", "`db prune` drops them"),
        ("wait", "wait"),
    ],
)
def test_commands_become_operations(told: str, for_programs: str) -> None:
    assert program_words(told) == for_programs


def test_a_problem_has_these_words_and_no_path_of_the_server() -> None:
    error = ConfigurationError(
        "no", where="/var/lib/drumbeat/lists/people.csv", remedy="see `drumbeat numbers list`"
    )
    found = problem_of(error).as_json()
    assert (found["where"], found["remedy"]) == ("people.csv", "see `GET /api/v1/numbers`")
    assert program_place("the campaign spring") == "the campaign spring"
