"""The text of how a campaign differs from what is asked for, and of the consequence of each difference."""

from collections.abc import Sequence
from typing import Any

from drumbeat.campaigns.cli.printing import error_part, print_json, print_rows
from drumbeat.campaigns.command_text import flag
from drumbeat.campaigns.options.identity import HASHES, text_of, words_for
from drumbeat.campaigns.planning.change import ChangeRefused
from drumbeat.campaigns.planning.change_rules import Change


def print_changes(changes: Sequence[Change]) -> None:
    """Print a row for each difference: old → new. Print nothing if there is none."""
    if changes:
        print_rows(("OPTION", "OLD", "", "NEW", "EFFECT"), [_row(change) for change in changes])


def print_refusal(refusal: ChangeRefused, *, json: bool) -> None:
    """Print the differences of a change that is refused. The error itself goes to stderr."""
    if json:
        changes = [change.as_json() for change in refusal.changes]
        print_json({"schema": 1, "refused": True, "changes": changes, **error_part(refusal)})
    else:
        print_changes(refusal.changes)


def _row(change: Change) -> tuple[Any, ...]:
    found = change.difference
    effect = f"{change.effect}: {change.reason}" if change.reason else change.effect
    name = words_for(found.option, flag)
    if found.option in HASHES:  # two hashes say nothing to people
        return name, "", "\N{RIGHTWARDS ARROW}", "other content", effect
    return name, text_of(found.old), "\N{RIGHTWARDS ARROW}", text_of(found.new), effect
