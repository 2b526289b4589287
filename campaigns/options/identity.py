"""The stored form of a campaign's options, and the identity by which a repeated create is recognised.

There is one stored copy: each option as it was given, by its key, from which clones and edits start, and
beside them the hashes of what files and queries held. `compared` makes of it what identifies the campaign:
there, times are moments, the order of numbers does not count, and a path says nothing.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

import orjson

from drumbeat.campaigns.options.audience_options import pairs
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.stored_variables import VARIABLES
from drumbeat.campaigns.options.table import CANARY_MAX_FAILED, CANARY_MINUTES, OPTIONS
from drumbeat.campaigns.options.values import AUDIENCE_KEYS
from drumbeat.campaigns.options.variants import read_variants

SECRET_KEYS = frozenset({"audience_database"})  # may hold a password, so they are never stored

# Keys beside the options.
AUDIENCE_CONTENT = "audience_content"  # the hash of the file or rows
EXCLUDED_CONTENT = "excluded_content"  # what identifies each file and campaign of `exclude`
HEADER_CONTENT = "header_content"  # the link or the hash of the file of `header_file`
CORRECTED_ROWS = "corrected_rows"  # the hash of rows that a person corrected
MESSAGE = "message"  # the free-form message
TEST_OF = "test_of"  # the campaign that is tested
RETRY_OF = "retry_of"  # the campaign whose failed recipients are sent to again
RETRY_CODES = "retry_codes"  # only recipients that failed with these codes
RETRY_ALL_CODES = "retry_all_codes"  # also those that failed with a code that a retry does not help
RETRY_KEYS = (RETRY_OF, RETRY_CODES, RETRY_ALL_CODES)
NOTED = "noted"  # notes for people, which do not identify the campaign
UNMATCHED = "languages not matched"  # a note: the number of rows for each unmatched language
CATEGORIES = "categories"  # a note: the category of each template at the plan, by `name (language)`
NAME = "name"

HASHES = frozenset({AUDIENCE_CONTENT, EXCLUDED_CONTENT, HEADER_CONTENT, CORRECTED_ROWS})
# The words for what is no option, as forms of errors.
WORDS = {
    NAME: "the name",
    AUDIENCE_CONTENT: "the audience's content",
    EXCLUDED_CONTENT: "the content of {exclude}",
    HEADER_CONTENT: "the content of {header_file}",
    CORRECTED_ROWS: "the content of corrected rows",
    MESSAGE: "the message",
    TEST_OF: "the campaign that is tested",
    RETRY_OF: "the campaign that is retried",
    RETRY_CODES: "the codes that are retried",
    RETRY_ALL_CODES: "{all_codes}",
}
# These say where something lies, and the hashes say what it holds; or what must hold before it is read. An
# encoding makes other texts of the same content.
_NOT_COMPARED = (AUDIENCE_KEYS - {"encoding"}) | {
    *("exclude", "header_file", "rejects", VARIABLES, NOTED),
    *("min_recipients", "unchanged_for", "allow_empty"),
}


def _moment(text: str) -> str:
    return datetime.fromisoformat(text).astimezone(UTC).isoformat()


# The forms in which options are compared; the others are compared as given.
_FORMS: Mapping[str, Callable[[Any], Any]] = {
    "number": lambda numbers: sorted(set(numbers)),
    "region": str.upper,
    "repair_old": lambda countries: sorted({country.upper() for country in countries}),
    "leave_out": lambda kinds: sorted(set(kinds)),
    "map": lambda texts: pairs("map", texts),
    "default": lambda texts: pairs("default", texts),
    "language_map": lambda texts: pairs("language_map", texts),
    "start_at": _moment,
    "expires_at": _moment,
    "variant": lambda texts: [str(variant) for variant in read_variants(texts)],
    "priority": str.lower,
    "canary_minutes": float,
}


def compared(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return what identifies a campaign, of its stored options. Options at their default are left out."""
    found = {
        key: _FORMS[key](value) if key in _FORMS else value
        for key, value in stored.items()
        if key not in _NOT_COMPARED
    }
    if "canary" in found:
        found = {"canary_max_failed": CANARY_MAX_FAILED, "canary_minutes": CANARY_MINUTES, **found}
    return {key: value for key, value in found.items() if key not in OPTIONS or OPTIONS[key].is_given(value)}


def shown(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return what people and programs see of stored options: no path of this machine, and each option, also
    one at its default.
    """
    listed = {key: _default(key) for key in OPTIONS if key not in _NOT_COMPARED}
    beside = {key: stored[key] for key in (VARIABLES, NOTED) if key in stored}
    return {**listed, **compared(stored), **beside}


def _default(key: str) -> Any:
    option = OPTIONS.get(key)
    return None if option is None or option.is_required else option.default


@dataclass(frozen=True, slots=True)
class Difference:
    """An option, by its key, whose stored value differs from the given one; None if it is not given."""

    option: str
    old: Any
    new: Any

    def form(self, place: str) -> tuple[str, dict[str, object]]:
        """Return the difference as a form of an error, and its values. `place` tells them from others."""
        name = WORDS.get(self.option) or f"{{{self.option}}}"
        if self.option in HASHES:
            return f"{name} has changed", {}
        old, new = f"old_{place}", f"new_{place}"
        values: dict[str, object] = {old: text_of(self.old), new: text_of(self.new)}
        return f"{name} was {{{old}}} and is {{{new}}}", values


@dataclass(frozen=True, slots=True)
class Identity:
    """The facts by which a repeated create is compared: what the files hold, and every option except paths.

    `options` is JSON, as it is stored.
    """

    options: dict[str, Any]
    content_hash: str = field(init=False)

    def __post_init__(self) -> None:
        content = orjson.dumps(compared(self.options), option=orjson.OPT_SORT_KEYS)
        object.__setattr__(self, "content_hash", hashlib.sha256(content).hexdigest())

    def differences(self, stored: Mapping[str, Any]) -> list[Difference]:
        """Return the options that differ from the stored ones."""
        was, now = compared(stored), compared(self.options)
        return [
            Difference(key, was.get(key, _default(key)), now.get(key, _default(key)))
            for key in sorted({**was, **now})
            if was.get(key) != now.get(key)
        ]


def identify(
    spec: CampaignSpec,
    audience_sha256: str,
    excluded: Sequence[str] = (),
    header_content: str | None = None,
    corrected_rows: str | None = None,
) -> Identity:
    """Return the identity of a campaign. `excluded`, `header_content` and `corrected_rows` identify what
    `exclude` and `header_file` name, and the corrected rows.
    """
    beside = {
        AUDIENCE_CONTENT: audience_sha256,
        EXCLUDED_CONTENT: sorted(set(excluded)),
        HEADER_CONTENT: header_content,
        CORRECTED_ROWS: corrected_rows,
        MESSAGE: spec.message,
        TEST_OF: spec.test_of,
    }
    given = {key: value for key, value in beside.items() if value}
    return Identity(
        {
            **as_given(spec),
            **given,
            **retry_options(spec.retry_of, spec.retry_codes, all_codes=spec.retry_all_codes),
        }
    )


def identify_again(spec: CampaignSpec, stored: Mapping[str, Any]) -> Identity:
    """Return the identity with these options and the stored audience, which is not read again."""
    return identify(
        spec,
        stored[AUDIENCE_CONTENT],
        stored.get(EXCLUDED_CONTENT, ()),
        stored.get(HEADER_CONTENT),
        stored.get(CORRECTED_ROWS),
    )


def retry_options(retry_of: str | None, codes: Sequence[int], *, all_codes: bool) -> dict[str, Any]:
    """Return what is stored of a retry beside its options; nothing for another campaign."""
    if retry_of is None:
        return {}
    return {
        RETRY_OF: retry_of,
        RETRY_CODES: sorted(set(codes)),
        **({RETRY_ALL_CODES: True} if all_codes else {}),
    }


def as_given(spec: CampaignSpec) -> dict[str, Any]:
    """Return the given options by their keys, as JSON can hold them and as they hold in any directory."""
    values = {key: option.located(getattr(spec, key), Path.cwd()) for key, option in OPTIONS.items()}
    stored = {**values, **spec.stored_as}
    return {
        key: _plain(value)
        for key, value in stored.items()
        if key not in SECRET_KEYS and OPTIONS[key].is_given(value)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return value.value if isinstance(value, Enum) else value


def told(differences: Iterable[tuple[Difference, str]]) -> tuple[str, dict[str, object]]:
    """Return differences, each with a reason or none, as a form of an error and its values."""
    texts: list[str] = []
    values: dict[str, object] = {}
    for place, (difference, reason) in enumerate(differences):
        form, more = difference.form(str(place))
        texts.append(f"{form} ({reason})" if reason else form)
        values |= more
    return "; ".join(texts), values


def words_for(key: str, name_of: Callable[[str], str]) -> str:
    """Return the words for what differs. `name_of` gives the name of an option by its key."""
    named = {each: name_of(each) for each in ("exclude", "header_file", "all_codes")}
    return WORDS[key].format_map(named) if key in WORDS else name_of(key)


def text_of(value: Any) -> str:
    """Return a stored option in words."""
    if isinstance(value, dict):
        return ", ".join(f"{name}={text}" for name, text in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "not given"
    return "not given" if value is None else str(value)
