"""The options of campaigns, as programs give them: a typo is an error to a type checker and at run time.

The keys are those of the one table (`campaigns/options/table.py`); a test compares both. Times may be
`datetime`, pairs a mapping, lists any sequence. None is the same as leaving a key out.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Protocol, Required, TypeAlias, TypedDict

from drumbeat.campaigns.options.option import Option
from drumbeat.campaigns.options.sources import PhoneKind
from drumbeat.campaigns.options.table import OPTIONS
from drumbeat.campaigns.options.values import checked
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.errors import ConfigurationError, UsageError


class RecordFrame(Protocol):
    """A data frame whose method `to_dict("records")` gives its rows, as pandas has it."""

    def to_dict(self, orient: Literal["records"]) -> list[dict[Any, Any]]: ...


class NamedRowFrame(Protocol):
    """A data frame whose method `iter_rows(named=True)` gives its rows, as polars has it."""

    def iter_rows(self, *, named: Literal[True]) -> Iterable[dict[str, Any]]: ...


Row: TypeAlias = Mapping[str, Any] | Sequence[Any]
Rows: TypeAlias = Iterable[Row] | RecordFrame | NamedRowFrame
AudienceOption: TypeAlias = str | Path | Rows


class _Options(TypedDict, total=False):
    audience_sql: str | None
    audience_database: str | None
    audience_campaign: str | None
    state: RecipientState | str | None
    code: int | None
    format: Literal["csv", "jsonl", "xlsx", "xls", "ods", "parquet"] | None
    sheet: str | None
    hidden_rows: Literal["read", "skip"] | None
    header_row: int | None
    encoding: str | None
    keep_spaces: bool
    repair: bool
    empty_words: bool
    phone_column: str
    region: str | None
    country_column: str | None
    repair_old: str | Sequence[str] | None
    first_number: bool
    only_mobile: bool
    leave_out: Sequence[PhoneKind | str] | None
    map: Mapping[str, str] | Sequence[str] | None
    default: Mapping[str, str] | Sequence[str] | None
    exclude: str | Sequence[str] | None
    max_recipients: int | None
    min_recipients: str | int | None
    unchanged_for: str | None
    allow_empty: bool
    strict: bool
    rejects: str | Path | None
    template: str | None
    language_column: str | None
    language_map: Mapping[str, str] | Sequence[str] | None
    strict_language: bool
    param: str | Sequence[str] | None
    header_column: str | None
    header_file: str | Path | None
    header_link: str | None
    header_media_id: str | None
    header_filename: str | None
    variant: str | Sequence[str] | None
    experiment: str | None
    start_at: str | datetime | None
    expires_at: str | datetime | None
    window: str | None
    days: str | None
    time_zone: str
    quiet_hours: str | None
    cap: str | None
    on_unknown: Literal["hold", "resend-silent", "resend"]
    max_failed: str | int | None
    pause_at_failed: str | int | None
    canary: int | None
    canary_max_failed: str | int | None
    canary_minutes: float | None
    canary_approve: bool
    priority: Literal["low", "normal", "high"]
    share: int | None
    external_id: str | None


class NewCampaign(_Options, total=False):
    """The options of a campaign to create."""

    audience: AudienceOption
    name: Required[str]
    language: Required[str]
    number: Required[str | Sequence[str]]


class CampaignChanges(_Options, total=False):
    """Options that replace those of a stored campaign. Its name never changes."""

    audience: AudienceOption
    language: str
    number: str | Sequence[str]


class ManifestChanges(_Options, total=False):
    """Options that replace the keys of a manifest."""

    audience: AudienceOption
    name: str
    language: str
    number: str | Sequence[str]


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options in the forms of a manifest. Raise UsageError for a key that is none.

    The rows of an audience in memory are no form of a manifest: take them out before.
    """
    for key in options:
        if key not in OPTIONS:
            raise unknown_option(key, OPTIONS)
    return {key: _plain(OPTIONS[key], value) for key, value in options.items() if value is not None}


def campaign_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options of a new campaign, each of its type. Raise UsageError for a missing or wrong one."""
    plain = given(options)
    for key, option in OPTIONS.items():
        if option.is_required and key not in plain:
            raise UsageError(f"the option {key} is missing", remedy=f"give {key}=…", key=key)
    try:
        return checked(plain, "")
    except ConfigurationError as error:
        raise UsageError(error.what, remedy=error.remedy, key=error.key) from None


def unknown_option(key: str, known: Iterable[str]) -> UsageError:
    """Return the error for an option that does not exist. It proposes the nearest one."""
    names = list(known)
    near = get_close_matches(key, names, 1)
    remedy = f"did you mean {near[0]}?" if near else f"options are {', '.join(names)}"
    return UsageError(f"there is no option {key}", remedy=remedy)


def _plain(option: Option, value: Any) -> Any:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise UsageError(
                f"{option.key} has no time zone",
                remedy="give a datetime with tzinfo, such as UTC",
                key=option.key,
            )
        return value.isoformat()
    if option.is_pairs and isinstance(value, Mapping):
        return [f"{name}={text}" for name, text in value.items()]
    if option.is_list:
        return [value] if isinstance(value, str) else list(value)
    if option.type in (str, str | None) and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value
