"""The rules by which the rows of an uploaded list are checked, made from the choices so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from drumbeat.campaigns.audience.check.columns import MissingColumn, column_index
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.console.new.actions import spec_of
from drumbeat.campaigns.console.new.choices import read_choices, read_corrections
from drumbeat.campaigns.console.new.create_request import request_of
from drumbeat.campaigns.console.web.context import Console
from drumbeat.campaigns.console.web.uploads import Upload
from drumbeat.campaigns.options.param_texts import is_literal
from drumbeat.campaigns.phones.kinds import Kind
from drumbeat.campaigns.phones.plain_digits import NO_COLUMN
from drumbeat.campaigns.planning.staged.filling import filling_of
from drumbeat.engine.errors import DrumbeatError

COLUMNS_SHOWN_MAX = 6  # of a row that is corrected; a phone shows them as a card
_NOT_CHOSEN = {"name": "not named yet", "number": ["0"]}  # rows do not depend on them


async def list_rules(console: Console, upload: Upload, columns: Sequence[str]) -> RowRules:
    """Return the rules of a list. They include the columns of the message once it is chosen. Until that step
    is complete, only phones are checked: the step itself says what it lacks.
    """
    choices = read_choices(upload)
    if "template" in choices:
        try:
            spec = spec_of(request_of(choices, **_NOT_CHOSEN), upload)
            async with console.pool.acquire() as connection:
                return (await filling_of(connection, spec, columns)).rules
        except (DrumbeatError, ValidationError):
            pass
    return phone_rules(upload, choices)


def phone_rules(upload: Upload, choices: dict[str, Any]) -> RowRules:
    """Return the rules for a row before there is a message."""
    return RowRules(
        choices["phone_column"],
        (),
        choices.get("region") or None,
        choices.get("map", {}),
        choices.get("default", {}),
        tuple(choices.get("repair_old", ())),
        corrections=read_corrections(upload),
        country_column=choices.get("country_column") or None,
        first_number=choices.get("first_number", False),
        leave_out=frozenset(map(Kind, choices.get("leave_out", ()))),
        only_mobile=choices.get("only_mobile", False),
        keep_spaces=bool(choices.get("keep_spaces")),
        repairs=bool(choices.get("repair")),
        empties_words=bool(choices.get("empty_words")),
    )


def checked_columns(columns: Sequence[str], rules: RowRules) -> list[int]:
    """Return the indexes of the columns that a row can be bad in: the phone, and the columns that the message
    takes.
    """
    country = () if rules.country_column in (None, NO_COLUMN) else (rules.country_column,)
    wanted = [rules.phone_column, *country, *(param for param in rules.params if not is_literal(param))]
    found: list[int] = []
    for name in wanted:
        try:
            found.append(column_index(columns, rules.mapped.get(name, name), where=""))
        except MissingColumn:
            continue
    return list(dict.fromkeys(found))


def shown_columns(columns: Sequence[str], checked: Sequence[int]) -> list[int]:
    """Return the columns to show of a bad row: the checked ones, and some by which a person knows the row."""
    others = [index for index in range(len(columns)) if index not in checked]
    return [*checked, *others[: max(0, COLUMNS_SHOWN_MAX - len(checked))]]
