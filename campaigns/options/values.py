"""The options of a campaign as values by key: laid over others, and checked."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from drumbeat.campaigns.options.table import OPTIONS
from drumbeat.engine.errors import ConfigurationError, UsageError

PROBLEMS_SHOWN_MAX = 5
FIELD = "option_"
STORED = "the campaign's stored options"

# The remedy for a problem that pydantic finds, by its type. Other problems name their remedy.
CURES = {
    "list_type": 'write a list, such as ["a", "b"]',
    "string_type": "write a text in quotes",
    "bool_parsing": "write true or false",
    "bool_type": "write true or false",
    "path_type": "write a path in quotes",
}
# A clone does not copy these: the key of one campaign, and the list of rejects of its file.
NOT_CLONED = ("external_id", "rejects")
# One key of a group replaces the others, and the keys that only describe the others.
AUDIENCE_SOURCES = frozenset({"audience", "audience_sql", "audience_campaign"})
AUDIENCE_KEYS = AUDIENCE_SOURCES | frozenset(
    {
        "audience_database",
        "state",
        "code",
        "format",
        "sheet",
        "hidden_rows",
        "header_row",
        "encoding",
    }
)
# Keys that say how a file is read: that of the audience, and those of `exclude`. The people of a campaign
# were read before.
READING_KEYS = frozenset(
    {
        *("phone_column", "map", "default", "region", "country_column", "repair_old", "first_number"),
        *("leave_out", "only_mobile", "format", "sheet", "hidden_rows", "header_row", "encoding"),
        *("keep_spaces", "repair", "empty_words"),
    }
)
GROUPS = (AUDIENCE_KEYS, frozenset({"header_media_id", "header_link", "header_filename"}))
# To change one of these, the audience must be read anew.
READ_ANEW = AUDIENCE_KEYS | {"exclude"}


def overlaid(
    values: Mapping[str, Any], changes: Mapping[str, Any], unset: Iterable[str] = ()
) -> dict[str, Any]:
    """Return `values` with the changes and without the keys of `unset`.

    A key replaces the others of its group. A campaign as the audience also removes the keys that say how a
    file is read. Raise UsageError as `require_a_file` does.
    """
    replaced = set(unset) | {key for group in GROUPS if not group.isdisjoint(changes) for key in group}
    laid = {key: value for key, value in values.items() if key not in replaced} | dict(changes)
    if _reads_a_file(laid):
        return laid
    require_a_file({**changes, "audience_campaign": laid["audience_campaign"]})
    new_people = "audience_campaign" in changes
    return {key: value for key, value in laid.items() if not (new_people and key in READING_KEYS)}


def require_a_file(values: Mapping[str, Any]) -> None:
    """Raise UsageError for a value about reading a file, if neither audience nor `exclude` is one."""
    named = sorted(key for key in READING_KEYS if OPTIONS[key].is_given(values.get(key)))
    if named and not _reads_a_file(values):
        option = f"{{{named[0]}}}"
        raise UsageError(
            f"{option} says how a file is read, and the people of a campaign are taken as they are stored",
            remedy=f"remove {option}",
            values={},
        )


def _reads_a_file(values: Mapping[str, Any]) -> bool:
    return values.get("audience_campaign") is None or bool(values.get("exclude"))


def of_clone(
    stored: Mapping[str, Any],
    name: str,
    changes: Mapping[str, Any],
    unset: Iterable[str],
) -> dict[str, Any]:
    """Return the arguments of a campaign `name`: the stored options of another one, and the changes."""
    left_out = {*NOT_CLONED, *_keys_of(unset)}
    return checked(overlaid(stored, {**changes, "name": name}, left_out), STORED)


def of_edit(
    stored: Mapping[str, Any],
    changes: Mapping[str, Any],
    unset: Iterable[str],
) -> dict[str, Any]:
    """Return the arguments of the same campaign with the changes."""
    return checked(overlaid(stored, changes, _keys_of(unset)), STORED)


def needs_audience(changes: Iterable[str], unset: Iterable[str]) -> bool:
    """Return whether the audience must be read anew for these changes."""
    return not READ_ANEW.isdisjoint({*changes, *map(_key, unset)})


def _keys_of(names: Iterable[str]) -> set[str]:
    """Return the keys of options, named with or without dashes. Raise UsageError for an unknown one."""
    keys = set(map(_key, names))
    if unknown := keys - OPTIONS.keys():
        raise UsageError(
            f"there is no option {min(unknown)}", remedy=f"options are {', '.join(sorted(OPTIONS))}"
        )
    return keys


def _key(name: str) -> str:
    return name.lstrip("-").replace("-", "_")


def checked(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return options by key, each of its type. A ConfigurationError names wrong keys."""
    try:
        found = _model().model_validate(values)
    except ValidationError as problem:
        texts = [_problem(error) for error in problem.errors()]
        more = f"; and {len(texts) - PROBLEMS_SHOWN_MAX} more" if len(texts) > PROBLEMS_SHOWN_MAX else ""
        raise ConfigurationError("; ".join(texts[:PROBLEMS_SHOWN_MAX]) + more, where=where) from None
    return {name.removeprefix(FIELD): getattr(found, name) for name in found.model_fields_set}


def of_file(error: UsageError, where: str) -> ConfigurationError:
    """Return an error about options as an error about the keys of a file."""
    return ConfigurationError(error.what, where=error.where or where, remedy=error.remedy, key=error.key)


@cache
def _model() -> type[BaseModel]:
    """Return a model with a field for each option. The name of a field is free, so that none hides one of
    pydantic's; its alias is the key.
    """
    fields: dict[str, Any] = {
        f"{FIELD}{key}": (option.type, Field(... if option.is_required else option.default, alias=key))
        for key, option in OPTIONS.items()
    }
    # A phone number ID may be written without quotes.
    config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)
    return create_model("Manifest", __config__=config, **fields)


def _problem(error: Any) -> str:
    key = str(error["loc"][0]) if error["loc"] else ""
    if error["type"] == "missing":
        return f"the key {key} is missing"
    if error["type"] == "extra_forbidden":
        near = get_close_matches(key.replace("-", "_"), OPTIONS, 1)
        hint = f"did you mean {near[0]}?" if near else f"keys are {', '.join(OPTIONS)}"
        return f"there is no key {key}: {hint}"
    said = error["msg"].removeprefix("Input should be ")
    return f"the key {key} is {error['input']!r}: {CURES.get(error['type']) or f'it must be {said}'}"
