"""The table of log events names every event that the code logs, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from drumbeat.engine.process.log_events import LOG_EVENTS
from tests.docs.test_links import ROOT

PACKAGES = ("engine", "campaigns")
LEVELS = {"info", "warning", "error", "exception", "critical"}
EVENT = re.compile(r"[a-z]+(?:_[a-z]+)+")


def logged(source: str) -> Iterator[str]:
    """The events that a module logs by name, and the texts of the tables named `…EVENTS`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LEVELS:
            owner = node.func.value
            if isinstance(owner, ast.Name) and owner.id == "log" and node.args:
                yield from _texts(node.args[0])
        elif isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id.endswith("EVENTS") for target in node.targets
        ):
            yield from _texts(node.value)


def _texts(node: ast.AST) -> list[str]:
    return [
        each.value
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and EVENT.fullmatch(each.value)
    ]


EVENTS = sorted(
    {
        event
        for package in PACKAGES
        for module in (ROOT / package).rglob("*.py")
        for event in logged(Path(module).read_text("utf-8"))
    }
)


LISTED = {
    name for events in LOG_EVENTS.values() for event in events for name in (*event.names, event.over) if name
}


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_is_in_the_table(event: str) -> None:
    assert event in LISTED


def test_the_table_names_no_other_event() -> None:
    code = "".join(
        path.read_text("utf-8")
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if path.name != "log_events.py"
    )
    assert {event for event in LISTED if f'"{event}"' not in code} == set()


def test_an_event_is_found_in_a_choice() -> None:
    assert list(logged('log.info("number_taken" if a else "number_lost", number=1)')) == [
        "number_taken",
        "number_lost",
    ]
